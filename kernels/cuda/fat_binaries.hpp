#pragma once

/// The compiled kernels for NVIDIA GPUs in this build: fat binaries for cuModuleLoadData, which picks the machine code
/// for its device or compiles the PTX. A build without nvcc has none; every function below still works.

#include <cstddef>
#include <span>
#include <string_view>

namespace kinetograph::cuda {

struct FatBinary {
    std::string_view name;             ///< of its source without the ending: "conv_bf16"
    std::span<const std::byte> image;  ///< aligned to 64 bytes, alive as long as the program
};

/// Every fat binary of this build, in the order of kernels/cuda/CMakeLists.txt.
std::span<const FatBinary> fat_binaries();

/// The image of that name; empty if this build has no such fat binary.
std::span<const std::byte> fat_binary(std::string_view name);

/// The compiler ("nvcc 13.0.88 for sm_80, sm_90"), or why there are no binaries ("built without nvcc").
std::string_view fat_binary_compiler();

}  // namespace kinetograph::cuda
