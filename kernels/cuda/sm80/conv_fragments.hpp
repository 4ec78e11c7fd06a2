#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_faults.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

namespace kinetograph::sm80 {

/// Shared-memory addresses of this lane's rows for ldmatrix, in stage 0.
template <ConvConfig kConfig, ConvFault kFault>
struct ConvFragments {
    static constexpr ConvConfig c = kConfig;

    KG_DEVICE explicit ConvFragments(ConvRing<kConfig>& smem) {
        const uint32_t lane = isa::lane_index(), warp = isa::warp_index();
        // A: rows 0-7, rows 8-15, then the same for the next 8 of k. B: 8 filters, their next 8 of k, 8 more filters.
        const uint32_t row_a = warp / c.warps_n * (c.bm / c.warps_m) + lane % 16;
        const uint32_t row_b = warp % c.warps_n * (c.bn / c.warps_n) + lane % 8 + lane / 16 * 8;
        a = isa::shared_address(smem.a) + offset(row_a, lane / 16);
        b = isa::shared_address(smem.b) + offset(row_b, lane / 8 % 2);
    }
    KG_DEVICE static uint32_t offset(uint32_t row, uint32_t chunk) {
        return kFault == ConvFault::UnswizzledBothWays ? row * row_bytes(c) + chunk * 16 : chunk_offset<c>(row, chunk);
    }
    uint32_t a, b;
};

}  // namespace kinetograph::sm80
