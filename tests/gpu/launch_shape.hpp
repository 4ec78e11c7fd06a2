#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The shape of a launch for the model and a chip. A back end (model_backend.hpp, device_backend.cuh) has
///   void* place(std::vector<uint8_t>& bytes)         memory that kernels may use, with these contents
///   void fetch(std::vector<uint8_t>& bytes)          copies the contents back
///   isa::TensorMap encode(const isa::TensorMapDesc&) of a tensor at an address from `place`
///   std::string run<Kernel>(const LaunchShape&, const typename Kernel::Params&)   returns "" or what went wrong
namespace kinetograph::gpu_tests {

struct LaunchShape {
    uint32_t grid[3] = {1, 1, 1};
    uint32_t cluster[3] = {1, 1, 1};
    uint32_t threads = 32;
    uint32_t shared_bytes = 0;
    uint32_t registers = 0;  ///< per thread, if the kernel moves registers between warpgroups; else 0
};

/// The memory contents that one case of a suite leaves.
struct CaseResult {
    std::string name;
    std::vector<uint8_t> bytes;
    std::string trouble;  ///< why there are no bytes; empty: none
};

}  // namespace kinetograph::gpu_tests
