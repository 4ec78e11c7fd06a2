#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>
#include <kinetograph/kernels/isa/wgmma.hpp>
#include <type_traits>

/// Products of a warpgroup with operands that lie in shared memory: a halo of pixels and a stage of filters.
namespace kinetograph::sm90 {

/// accumulators[block][i]: of an 8 x 8 block, laid out as wgmma.hpp says.
template <ConvConfig kConfig>
using Sum = std::conditional_t<multiplies_bytes(kConfig), int32_t, float>;
template <ConvConfig kConfig>
using Accumulators = Sum<kConfig>[blocks(kConfig)][kConfig.bn / 2];

/// Zeros for the first product to add to: the compiler need not keep the previous tile's values alive as its input.
template <ConvConfig kConfig>
KG_DEVICE void clear(Accumulators<kConfig>& sums) {
    KG_UNROLL
    for (uint32_t i = 0; i < blocks(kConfig); ++i) {
        KG_UNROLL
        for (auto& sum : sums[i]) sum = 0;
        isa::wgmma::pin(sums[i]);
    }
}

/// The products of one filter stage. Tap (r, s) reads the halo from pixel r * pitch + s on; its groups of 8 pixels are
/// one pitch apart. The pitch is the width of the halo in memory, also where this warpgroup reads only part of it.
template <ConvConfig kConfig, ConvFault kFault, uint32_t kHaloColumns = halo_columns(kConfig)>
KG_DEVICE void multiply_stage(Accumulators<kConfig>& sums, uint32_t halo, uint32_t filters, uint32_t group) {
    constexpr ConvConfig c = kConfig;
    constexpr uint32_t kPitch = kHaloColumns, kRow = row_bytes(c);
    constexpr uint32_t kShift = kFault == ConvFault::RowShiftOffByOne ? 1u : 0u;
    constexpr uint32_t kGroup = kFault == ConvFault::WrongPitch ? kBlockSide * kRow : kPitch * kRow;
    const uint64_t first_a = isa::wgmma_descriptor({.address = halo, .group_stride = kGroup, .swizzle = swizzle(c)});
    const uint64_t first_b =
        isa::wgmma_descriptor({.address = filters, .group_stride = kBlockSide * kRow, .swizzle = swizzle(c)});
    KG_UNROLL
    for (uint32_t tap = 0; tap < c.stage_taps; ++tap) {
        const uint32_t at = group * c.stage_taps + tap, r = at / c.side, s = at % c.side;
        KG_UNROLL
        for (uint32_t step = 0; step < row_steps(c); ++step) {
            const uint64_t b = isa::advanced(first_b, tap * c.bn * kRow + step * 32);
            KG_UNROLL
            for (uint32_t block = 0; block < blocks(c); ++block) {
                const uint32_t y = block / c.blocks_x * kBlockSide + r, x = block % c.blocks_x * kBlockSide + s;
                const uint64_t a = isa::advanced(first_a, (y * kPitch + x + kShift) * kRow + step * 32);
                if constexpr (multiplies_bytes(c)) {
                    isa::wgmma::multiply_bytes<c.bn>(sums[block], a, b, true);
                } else {
                    isa::wgmma::mma<c.bn, c.element>(sums[block], a, b, true);
                }
            }
        }
    }
}

}  // namespace kinetograph::sm90
