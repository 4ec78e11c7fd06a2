#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What the model and a chip both need to know of a launch. A back end (model_backend.hpp, device_backend.cuh) has
///   void* place(std::vector<uint8_t>& bytes)         memory that kernels may use, with these contents
///   void fetch(std::vector<uint8_t>& bytes)          brings them back
///   isa::TensorMap encode(const isa::TensorMapDesc&) of a tensor whose address is `place`'s
///   std::string run<Kernel>(const LaunchShape&, const typename Kernel::Params&)   "" or what went wrong
namespace kinetograph::gpu_tests {

struct LaunchShape {
    uint32_t grid[3] = {1, 1, 1};
    uint32_t cluster[3] = {1, 1, 1};
    uint32_t threads = 32;
    uint32_t shared_bytes = 0;
    uint32_t registers = 0;  ///< a thread, where the kernel moves registers between warpgroups; else 0
};

/// What one case of a suite has left in memory.
struct CaseResult {
    std::string name;
    std::vector<uint8_t> bytes;
    std::string trouble;  ///< why there are none
};

}  // namespace kinetograph::gpu_tests
