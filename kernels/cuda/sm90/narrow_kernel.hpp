#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_tiles.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_config.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_epilogue.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/tma.hpp>
#include <kinetograph/kernels/isa/wgmma.hpp>

/// A convolution with so few output channels that the taps of the image become columns of the matrix product: a pixel's
/// channels are read once instead of once per tap. 256 -> 12 channels under 3 x 3 taps are a product with 108 columns,
/// and an output value is the sum of 9 of its elements, one from each pixel under the taps:
///
///   Y[pixel][tap, k] = sum over q, c of input[t + q][pixel][c] * filter[k][c][q][tap]        wgmma, N = columns
///   output[y, x][k]  = sum over taps (r, s) of Y[y + r, x + s][(r, s), k]                    shared memory
namespace kinetograph::sm90 {

template <NarrowConfig kConfig>
struct NarrowSmem {
    static constexpr NarrowConfig c = kConfig;

    alignas(1024) uint8_t input[kNarrowStages][input_stage_bytes(c)];    ///< [pixel][channel]
    alignas(1024) uint8_t filter[kNarrowStages][filter_stage_bytes(c)];  ///< [column][channel]
    alignas(16) float y[c.columns][sums_pitch(c)];
    isa::mbarrier::Barrier full[kNarrowStages], empty[kNarrowStages];
};

/// Grid: any number of CTAs up to the number of tiles, along x; kThreads threads.
template <NarrowConfig kConfig, ConvFault kFault = ConvFault::None>
struct NarrowConvKernel {
    static constexpr NarrowConfig c = kConfig;
    static constexpr Element kElement = c.element;
    static constexpr isa::Swizzle kSwizzle = isa::Swizzle::Span64;
    static constexpr uint32_t kRow = kNarrowChannels * 2, kConsumerThreads = 128 * kConsumers;
    static constexpr uint32_t kBlocks = pixels(c) / kBlockPixels / kConsumers;  ///< of 64 pixels, per warpgroup
    static constexpr uint32_t kStageBytes = (pixels(c) + c.columns) * kRow;
    using Smem = NarrowSmem<kConfig>;
    using Sums = float[kBlocks][c.columns / 2];
    static_assert(sizeof(Smem) <= shared_bytes(c) && shared_bytes(c) <= kSharedLimit,
                  "more shared memory than a block may have");

    KG_DEVICE static void run(const NarrowConvParams& params) {
        auto& smem = isa::shared_as<Smem>();
        if (isa::thread_index() == 0) {
            for (auto& barrier : smem.full) isa::mbarrier::init(barrier, 1);
            for (auto& barrier : smem.empty) isa::mbarrier::init(barrier, 4 * kConsumers);  // one arrival per warp
            if constexpr (kFault != ConvFault::NoBarrierInitFence) isa::fence_barrier_init();
        }
        isa::sync_cta();
        const uint32_t warp = isa::warp_index();
        if (warp >= 4) {
            consume(params, smem, warp / 4 - 1);
        } else if (warp == 0 && isa::elect_one()) {
            load(params, smem);
        }
    }

  private:
    struct Place {
        uint32_t frame;
        int32_t x, y;
    };
    KG_DEVICE static uint32_t tiles(const NarrowConvParams& p) { return p.tiles_x * p.tiles_y * p.frames; }
    /// Frames innermost: tiles that run at the same time share their input in the L2.
    KG_DEVICE static Place place(const NarrowConvParams& p, uint32_t index) {
        const uint32_t tile = index / p.frames;
        return {index % p.frames, static_cast<int32_t>(tile % p.tiles_x * tile_columns(c)),
                static_cast<int32_t>(tile / p.tiles_x * tile_rows(c))};
    }

    KG_DEVICE static void load(const NarrowConvParams& p, Smem& smem) {
        Ring<kNarrowStages> ring{0, kFault == ConvFault::ProducerStartsAtPhase0 ? 0u : 1u};
        constexpr uint32_t kMissing = kFault == ConvFault::ExpectsTooFewBytes ? kRow : 0;
        for (uint32_t index = isa::block_index().x; index < tiles(p); index += isa::grid_size().x) {
            const Place at = place(p, index);
            const FrameTaps& taps = p.taps[at.frame];
            for (uint32_t tap = 0; tap < taps.count; ++tap) {
                for (uint32_t block = 0; block < p.channel_blocks; ++block, ring.advance()) {
                    const auto channel = static_cast<int32_t>(block * kNarrowChannels);
                    isa::mbarrier::wait(smem.empty[ring.slot], ring.parity);
                    isa::mbarrier::arrive_expect(smem.full[ring.slot], kStageBytes - kMissing);
                    isa::tma::load_tiled<3>(smem.input[ring.slot], p.input[taps.input[tap]],
                                            {{channel, at.x - p.pad_left, at.y - p.pad_top}}, smem.full[ring.slot]);
                    isa::tma::load_tiled<3>(smem.filter[ring.slot], p.filter,
                                            {{channel, 0, static_cast<int32_t>(taps.q[tap])}}, smem.full[ring.slot]);
                }
            }
        }
    }

    KG_DEVICE static void consume(const NarrowConvParams& p, Smem& smem, uint32_t consumer) {
        Ring<kNarrowStages> ring{0, 0};
        for (uint32_t index = isa::block_index().x; index < tiles(p); index += isa::grid_size().x) {
            const Place at = place(p, index);
            Sums sums;
            multiply(smem, ring, p.taps[at.frame].count * p.channel_blocks, consumer, sums);
            isa::sync_named(1, kConsumerThreads);  // the previous tile's sums have been read from y
            stage(smem, consumer, sums);
            if constexpr (kFault != ConvFault::NoStagingBarrier) isa::sync_named(1, kConsumerThreads);
            gather(p, smem, at);
        }
    }

    KG_DEVICE static void multiply(Smem& smem, Ring<kNarrowStages>& ring, uint32_t k_blocks, uint32_t consumer,
                                   Sums& sums) {
        KG_UNROLL
        for (uint32_t i = 0; i < kBlocks; ++i) {
            KG_UNROLL
            for (float& sum : sums[i]) sum = 0;
            isa::wgmma::pin(sums[i]);
        }
        for (uint32_t block = 0; block < k_blocks; ++block, ring.advance()) {
            if constexpr (kFault != ConvFault::NoInputWait) isa::mbarrier::wait(smem.full[ring.slot], ring.parity);
            const auto rows = [](uint32_t address) {
                return isa::wgmma_descriptor({.address = address, .group_stride = 8 * kRow, .swizzle = kSwizzle});
            };
            const uint64_t pixels =
                rows(isa::shared_address(smem.input[ring.slot]) + consumer * kBlocks * kBlockPixels * kRow);
            const uint64_t columns = rows(isa::shared_address(smem.filter[ring.slot]));
            isa::wgmma::fence();
            KG_UNROLL
            for (uint32_t step = 0; step < kNarrowChannels / 16; ++step) {
                const uint64_t b = isa::advanced(columns, step * 32);
                KG_UNROLL
                for (uint32_t i = 0; i < kBlocks; ++i) {
                    const uint64_t a = isa::advanced(pixels, i * kBlockPixels * kRow + step * 32);
                    isa::wgmma::mma<c.columns, kElement>(sums[i], a, b, true);
                }
            }
            isa::wgmma::commit();
            if constexpr (kFault != ConvFault::ReleasesEarly) isa::wgmma::wait<0>();
            if (isa::lane_index() == 0) isa::mbarrier::arrive(smem.empty[ring.slot]);
        }
        if constexpr (kFault == ConvFault::ReleasesEarly) isa::wgmma::wait<0>();
        KG_UNROLL
        for (uint32_t i = 0; i < kBlocks; ++i) isa::wgmma::take(sums[i]);
    }

    /// Y is stored column by column, so that neighbouring lanes gather neighbouring pixels.
    KG_DEVICE static void stage(Smem& smem, uint32_t consumer, const Sums& sums) {
        const uint32_t row = isa::thread_index() % 128 / 32 * 16 + isa::lane_index() / 4;
        const uint32_t column = isa::lane_index() % 4 * 2;
        KG_UNROLL
        for (uint32_t i = 0; i < kBlocks; ++i) {
            const uint32_t pixel = (consumer * kBlocks + i) * kBlockPixels + row;
            KG_UNROLL
            for (uint32_t j = 0; j < c.columns / 2; ++j)
                isa::store_shared(&smem.y[column + j / 4 * 8 + j % 2][pixel + j / 2 % 2 * 8], sums[i][j]);
        }
    }

    KG_DEVICE static void gather(const NarrowConvParams& p, Smem& smem, const Place& at) {
        const uint32_t thread = isa::thread_index() - 128;
        for (uint32_t i = thread; i < tile_rows(c) * c.row_pixels; i += kConsumerThreads) {
            const uint32_t y = i / c.row_pixels, x = i % c.row_pixels;
            const uint32_t out_y = static_cast<uint32_t>(at.y) + y, out_x = static_cast<uint32_t>(at.x) + x;
            if (x >= tile_columns(c) || out_y >= p.h_out || out_x >= p.w_out) continue;
            const size_t first = (static_cast<size_t>(out_y) * p.w_out + out_x) * p.c_out;
            for (uint32_t k = 0; k < p.c_out; k += kTogether) {
                float sums[kTogether], residual[kTogether];
                KG_UNROLL
                for (uint32_t j = 0; j < kTogether; ++j) {
                    sums[j] = p.bias == nullptr ? 0.0f : isa::load_global<float>(p.bias + k + j);
                    KG_UNROLL
                    for (uint32_t tap = 0; tap < c.side * c.side; ++tap) {
                        constexpr uint32_t kShift = kFault == ConvFault::RowShiftOffByOne ? 1u : 0u;
                        const uint32_t pixel = (y + tap / c.side) * c.row_pixels + x + tap % c.side + kShift;
                        sums[j] += isa::load_shared(&smem.y[tap * p.c_out + k + j][pixel]);
                    }
                }
                Epilogue::load(p, p.residual[at.frame], first + k, residual);
                Epilogue::finish(p, residual, sums);
                Epilogue::store(p, p.output[at.frame], first + k, sums);
            }
        }
    }

    /// Output channels that move at once; c_out is a multiple.
    static constexpr uint32_t kTogether = channels_together(c);
    using Epilogue = NarrowEpilogue<kElement, kTogether>;
};

}  // namespace kinetograph::sm90
