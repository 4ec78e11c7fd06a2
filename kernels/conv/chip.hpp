#pragma once

#include <cstdint>
#include <string>

namespace kinetograph::conv {

/// What gates, cost models and plans know of a device, whether it is present or only described.
struct Chip {
    std::string kind;          ///< its driver: "cuda", "hip", "cpu"
    std::string architecture;  ///< "sm_90", "gfx950"
    std::string features;      ///< a CPU's: "avx2 avx512f"
    std::uint32_t compute_units = 0;
    std::uint32_t shared_bytes_per_block = 0;
    double clocks_per_second = 0;
    double memory_bytes_per_second = 0;
    std::uint32_t shared_bytes_per_clock = 0;  ///< that a compute unit reads; 0: the cost model's default
    bool rated = true;  ///< false: no rates of such a chip are known, and those above only order the parts of a plan

    /// 90 for "sm_90"; 0 if this is not a CUDA device.
    int cuda_architecture() const;
};

/// The fixed cost of a launch in predictions: the shortest layer measured on an H200 (docs/performance.md), with almost
/// nothing to compute, took 4 us. It separates plans of several launches from plans of one. Other chips: not measured.
inline constexpr double kLaunchSeconds = 4e-6;

}  // namespace kinetograph::conv
