// What a fat binary holds, as far as a driver looks into it before it runs anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::accel::cuda {

/// One entry of a fat binary: machine code for a chip, or PTX for it and all that come after it.
struct DeviceCode {
    bool is_ptx = false;
    int architecture = 0;  ///< 80: sm_80
    std::span<const std::byte> bytes;
    bool runs_on(int chip) const;
};

/// Empty where the bytes are not a fat binary; its header tells how many they are. The layout is what nvcc 13 writes
/// and `cuobjdump` lists: a header of 16 bytes, then entries, each with a header that tells its kind, its sizes and its
/// architecture.
std::optional<std::vector<DeviceCode>> read_fat_binary(const void* image);

/// The kernels that the machine code defines. nvcc compresses PTX but not machine code.
std::set<std::string, std::less<>> kernel_names(const std::vector<DeviceCode>& code);

}  // namespace kinetograph::accel::cuda
