// libFuzzer target: arbitrary bytes for the gguf reader. A file that it accepts must satisfy the reader's guarantees.
#include <kinetograph/compute/formats/tensor_source.hpp>

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
        const auto count = kinetograph::tensor::element_count(view.shape);
        expect(count.has_value() &&
               view.bytes == static_cast<std::uint64_t>(*count) * kinetograph::tensor::bytes_per_element(view.dtype));
        expect(source->find(name) != nullptr && !source->unreadable().contains(name));
    }
    return 0;
}
