// libFuzzer target: arbitrary bytes for the gguf reader.
#include "parsed_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    kinetograph::fuzz::parse_as_file(data, size);
    return 0;
}
