// libFuzzer target: arbitrary bytes for the reader of NumPy's arrays and archives, which also takes PyTorch's files.
#include "parsed_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    kinetograph::fuzz::parse_as_file(data, size);
    return 0;
}
