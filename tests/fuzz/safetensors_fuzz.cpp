// libFuzzer target: arbitrary bytes for the safetensors reader. A file that it accepts must satisfy the reader's
// guarantees.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <random>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t capacity);

namespace {

using kinetograph::tensor::NamedTensor;
using kinetograph::tensor::SafetensorsFile;

void expect(bool promise) {
    if (!promise) __builtin_trap();
}

/// Reads every byte of the view, so that the address sanitizer checks it, and converts it.
void touch(const NamedTensor& tensor) {
    const auto& [dtype, shape, data, bytes, packing] = tensor.view;
    unsigned sum = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) sum += std::to_integer<unsigned>(data[i]);
    volatile unsigned keep = sum;
    (void)keep;

    const auto count = kinetograph::tensor::element_count(shape);
    expect(count.has_value() && kinetograph::tensor::is_whole(tensor.view));
    const auto bad = kinetograph::tensor::first_not_finite(tensor.view);
    expect(!bad || (*bad >= 0 && *bad < *count));
    const auto values = kinetograph::tensor::to_f32(tensor.view, tensor.name);
    expect(!values || static_cast<std::int64_t>(values->size()) == *count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto file = SafetensorsFile::parse(bytes, "fuzz");
    if (!file) {
        expect(!file.error().message.empty() && file.error().message.size() < 4096);
        return 0;
    }
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, data, sizeof(header_bytes));
    const std::byte* expected = bytes.data() + sizeof(header_bytes) + header_bytes;
    for (const NamedTensor& tensor : file->tensors()) {
        // In file order, without overlaps; without holes but for tensors that no view shows.
        expect(file->unreadable().empty() ? tensor.view.data == expected : tensor.view.data >= expected);
        expect(file->find(tensor.name) == &tensor.view);
        expected = tensor.view.data + tensor.view.bytes;
        touch(tensor);
    }
    expect(file->unreadable().empty() ? expected == bytes.data() + size : expected <= bytes.data() + size);
    for (const auto& [name, dtype] : file->unreadable()) expect(file->find(name) == nullptr);
    return 0;
}

/// Mutated bytes rarely agree with the header length before them, and then nothing after it is tested: in three of four
/// cases the length is set to end at the last brace.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned seed) {
    constexpr std::size_t kLengthBytes = 8;
    size = LLVMFuzzerMutate(data, size, capacity);
    if (size <= kLengthBytes || std::minstd_rand(seed)() % 4 == 0) return size;
    std::uint64_t header_bytes = size - kLengthBytes;
    while (header_bytes > 0 && data[kLengthBytes + header_bytes - 1] != '}') --header_bytes;
    std::memcpy(data, &header_bytes, kLengthBytes);
    return size;
}
