#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace kinetograph::conv {

/// Clusters that run at once where a CTA fills an SM. A cluster's CTAs share a GPC: one whose SMs are no multiple of
/// the cluster's size leaves some of them idle, and a grid of more clusters takes another round.
struct ResidentClusters {
    std::array<std::uint32_t, 3> of{};  ///< of 2, 4 and 8 CTAs, as the driver answers; 0: not known

    /// Of that many CTAs, 1, 2, 4 or 8, on a chip of `sms` SMs; at least 1. Where it is not known, as many as SMs hold.
    std::uint32_t at_once(std::uint32_t ctas, std::uint32_t sms) const {
        const std::uint32_t known = ctas < 2 || ctas > 8 ? 0 : of[static_cast<std::size_t>(std::countr_zero(ctas)) - 1];
        return std::max(known != 0 ? known : sms / ctas, 1U);
    }
    friend bool operator==(const ResidentClusters&, const ResidentClusters&) = default;
};

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
    ResidentClusters clusters{};  ///< of a CUDA device with clusters

    /// 90 for "sm_90"; 0 if this is not a CUDA device.
    int cuda_architecture() const;
};

/// The fixed cost of a launch in predictions: the shortest layer measured on an H200 (docs/performance.md), with almost
/// nothing to compute, took 4 us. It separates plans of several launches from plans of one. Other chips: not measured.
inline constexpr double kLaunchSeconds = 4e-6;

}  // namespace kinetograph::conv
