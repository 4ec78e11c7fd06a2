#pragma once

#include <cstdint>
#include <string>

namespace kinetograph::conv {

/// What gates, costs and plans read of a device, there or only described.
struct Chip {
    std::string kind;          ///< of its driver: "cuda", "hip", "cpu"
    std::string architecture;  ///< "sm_90", "gfx950"
    std::string features;      ///< of a CPU: "avx2 avx512f"
    std::uint32_t compute_units = 0;
    std::uint32_t shared_bytes_per_block = 0;
    double clocks_per_second = 0;
    double memory_bytes_per_second = 0;

    /// 90 of "sm_90"; 0 for what is no CUDA device.
    int cuda_architecture() const;
};

/// What a launch takes besides, in predictions: the shortest layer that was measured on an H200 (docs/performance.md),
/// next to nothing to compute, took 4 us. It tells plans of several launches from those of one; other chips' is
/// unknown.
inline constexpr double kLaunchSeconds = 4e-6;

}  // namespace kinetograph::conv
