// libFuzzer target: arbitrary bytes for the reader of PyTorch's files, as a pickle or as a whole archive. What it
// accepts must satisfy its guarantees.
#include <kinetograph/compute/formats/pytorch/archive.hpp>
#include <kinetograph/compute/formats/pytorch/unpickler.hpp>

#include <set>

namespace {

using namespace kinetograph::formats::torch_file;

void expect(bool promise) {
    if (!promise) __builtin_trap();
}

void expect_sentence(const kinetograph::Error& error) {
    expect(error.message.starts_with("fuzz: ") && error.message.size() < 4096);
}

void unpickle_all(std::span<const std::byte> bytes) {
    const auto unpickled = unpickle(bytes, "fuzz");
    if (!unpickled) return expect_sentence(unpickled.error());
    expect(unpickled->bytes <= bytes.size());
    std::set<std::string> names;
    for (const auto& [name, needs] : unpickled->unreadable) expect(names.insert(name).second);
    for (const PickledTensor& tensor : unpickled->tensors) {
        expect(names.insert(tensor.name).second);
        expect(tensor.shape.size() == tensor.strides.size() && tensor.offset >= 0 && tensor.storage_elements >= 0);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    unpickle_all(bytes);
    const auto entries = read_archive(bytes, "fuzz");
    if (!entries) {
        expect_sentence(entries.error());
        return 0;
    }
    for (const ArchiveEntry& entry : *entries) {
        expect(entry.inflated != nullptr ||
               (entry.bytes.data() >= bytes.data() && entry.bytes.data() + entry.bytes.size() <= bytes.data() + size));
        unpickle_all(entry.bytes);
    }
    return 0;
}
