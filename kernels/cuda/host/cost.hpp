#pragma once

#include <kinetograph/kernels/conv/gate.hpp>

namespace kinetograph::cuda {

/// Seconds to move that many bytes to or from memory.
inline double traffic_seconds(double bytes, const conv::Chip& chip) { return bytes / chip.memory_bytes_per_second; }

/// Bounds the workspace of q-slice methods: enough for the sums of every layer of the Wan 2.1 decoder at 1280x704 at
/// once. Smaller bands mean launches of fewer CTAs, whose last waves leave SMs idle: on an H200 (36af3ab), 96 channels
/// at 1280x704 took 8.5 ms in bands of 60 MiB, 7.5 of 256, 7.2 in one of 1320. Sums that fit the second-level cache do
/// not make up for it.
inline constexpr std::uint64_t kQSliceSumBytes = 1408 << 20;

}  // namespace kinetograph::cuda
