#pragma once

#include <kinetograph/kernels/conv/chip.hpp>

/// What the cost models of this folder assume of an MI355X. docs/kernels-gfx950.md lists the sources.
namespace kinetograph::gfx950 {

/// Bytes a clock that a compute unit reads from LDS, as the choice of kernels assumes: CDNA3's rate. AMD states twice
/// that for CDNA4 (ROCm blogs, "CDNA4 GEMM kernels", table 1), but no public measurement of it is known to us. The
/// tables of costs have both; conv::Chip::shared_bytes_per_clock picks one for a device.
inline constexpr std::uint32_t kLdsReadBytes = 128, kStatedLdsReadBytes = 256;

/// Of HBM's rate, by streams: what public measurements show.
inline constexpr double kReachedMemoryShare = 0.8;

/// A whole MI355X: AMD's data sheet, but with the clock that public measurements show under matrix load (2.4 nominal).
inline conv::Chip mi355x(std::uint32_t lds_read_bytes = kLdsReadBytes) {
    return {"hip", "gfx950", "", 256, 160 * 1024, 2.0e9, 8e12, lds_read_bytes};
}

inline std::uint32_t lds_read_bytes(const conv::Chip& chip) {
    return chip.shared_bytes_per_clock == 0 ? kLdsReadBytes : chip.shared_bytes_per_clock;
}

/// To move `bytes` to and from HBM, without the fixed cost of a launch.
inline double streaming_seconds(double bytes, const conv::Chip& chip) {
    return bytes / (kReachedMemoryShare * chip.memory_bytes_per_second);
}

}  // namespace kinetograph::gfx950
