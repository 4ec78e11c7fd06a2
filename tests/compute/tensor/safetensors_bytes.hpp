// Files built byte by byte, so that a test can break any part of the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kinetograph::test {

inline std::string little_endian(std::uint64_t value) {
    std::string bytes;
    for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(value >> shift);
    return bytes;
}

/// Length, header and data as a correct writer would put them.
inline std::string safetensors_bytes(std::string_view header, std::string_view data = {}) {
    return little_endian(header.size()) + std::string(header) + std::string(data);
}

}  // namespace kinetograph::test
