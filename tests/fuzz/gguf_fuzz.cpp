// libFuzzer target: arbitrary bytes for the gguf reader. A file that it accepts must satisfy the reader's guarantees.
#include <kinetograph/compute/formats/tensor_source.hpp>

#include <cmath>

namespace {

void expect(bool promise) {
    if (!promise) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto source = kinetograph::formats::parse({std::as_bytes(std::span(data, size))}, "fuzz");
    if (!source) {
        expect(source.error().message.starts_with("fuzz: ") && source.error().message.size() < 4096);
        return 0;
    }
    for (const auto& [name, view] : source->tensors()) {
        unsigned sum = 0;  // reads every byte, so that the address sanitizer checks it
        for (std::uint64_t i = 0; i < view.bytes; ++i) sum += std::to_integer<unsigned>(view.data[i]);
        volatile unsigned keep = sum;
        (void)keep;
        expect(kinetograph::tensor::is_whole(view));
        const auto values = kinetograph::tensor::to_f32(view, name);
        const auto bad = kinetograph::tensor::first_not_finite(view);
        expect(!bad || !values || !std::isfinite(values->at(static_cast<std::size_t>(*bad))));
        expect(source->find(name) != nullptr && !source->unreadable().contains(name));
    }
    return 0;
}
