// The contents of a fat binary, as far as a driver reads them before it runs anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::accel::cuda {

/// One entry of a fat binary: machine code for a chip, or PTX for it and later chips.
struct DeviceCode {
    bool is_ptx = false;
    int architecture = 0;  ///< 80: sm_80
    std::span<const std::byte> bytes;
    bool runs_on(int chip) const;
};

/// None if the bytes are not a fat binary, whose header gives the size. The layout is that of nvcc 13 and of
/// `cuobjdump`'s lists: a header of 16 bytes, then entries, each with a header that gives its kind, its sizes and its
/// architecture.
std::optional<std::vector<DeviceCode>> read_fat_binary(const void* image);

/// The kernels that the machine code defines. nvcc compresses PTX but not machine code.
std::set<std::string, std::less<>> kernel_names(const std::vector<DeviceCode>& code);

}  // namespace kinetograph::accel::cuda
