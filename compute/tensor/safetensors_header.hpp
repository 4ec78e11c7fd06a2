// The JSON header of a safetensors file; only its form is checked here.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::tensor {

/// One tensor's entry. Offsets count bytes from the end of the header.
struct SafetensorsEntry {
    std::string name;
    std::string dtype;
    Shape shape;
    std::uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> entries;  ///< in the order of the text
    std::map<std::string, std::string> metadata;
};

/// Memory stays within a small multiple of the text's length, nesting uses no stack, and the limits on entries keep the
/// time for a hostile header below a second or two. Errors: Corrupt, with the file and the tensor: text that is not
/// JSON, anything other than an object of tensors, a missing, repeated or unknown field, a repeated name, metadata that
/// is not text, a dimension or offset that is negative, fractional or above 2^63 - 1, more than 32 dimensions, more
/// than 100,000 tensors or as many metadata.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::string_view file);

}  // namespace kinetograph::tensor
