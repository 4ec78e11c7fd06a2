#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_tiles.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_params.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/tma.hpp>
#include <kinetograph/kernels/isa/wgmma.hpp>

/// A convolution with so few output channels that the taps of the image become columns of the matrix product: a pixel's
/// channels are read once instead of once a tap. 96 > 3 under 3 x 3 taps is a product with 27 columns, and an output
/// pixel the sum of one column of each of its 9 neighbours:
///
///   Y[pixel][tap, k] = sum over q, c of input[t + q][pixel][c] * filter[k][c][q][tap]        wgmma, N = 32
///   output[y, x][k]  = sum over taps (r, s) of Y[y + r, x + s][(r, s), k]                    shared memory
namespace kinetograph::sm90 {

inline constexpr uint32_t kNarrowColumns = 32;   ///< taps of the image times output channels, at most
inline constexpr uint32_t kNarrowChannels = 32;  ///< of a block of K: rows of 64 bytes
inline constexpr uint32_t kNarrowStages = 4;
inline constexpr uint32_t kNarrowRows = 16, kNarrowRowPixels = 32;  ///< pixels that are read for a tile
inline constexpr uint32_t kNarrowPixels = kNarrowRows * kNarrowRowPixels;
inline constexpr uint32_t kNarrowPitch = kNarrowPixels + 4;  ///< of Y: 8 rows of 4 pairs of columns meet 32 banks

template <uint32_t kSide>
struct NarrowTile {
    static constexpr uint32_t kRows = kNarrowRows - kSide + 1, kColumns = kNarrowRowPixels - kSide + 1;
};

struct NarrowSmem {
    alignas(1024) uint8_t input[kNarrowStages][kNarrowPixels * kNarrowChannels * 2];    ///< [pixel][channel]
    alignas(1024) uint8_t filter[kNarrowStages][kNarrowColumns * kNarrowChannels * 2];  ///< [column][channel]
    alignas(16) float y[kNarrowColumns][kNarrowPitch];
    isa::mbarrier::Barrier full[kNarrowStages], empty[kNarrowStages];
};

/// Grid: any number of CTAs up to the number of tiles, along x; kThreads threads.
template <Element kElement, uint32_t kSide, ConvFault kFault = ConvFault::None>
struct NarrowConvKernel {
    static constexpr isa::Swizzle kSwizzle = isa::Swizzle::Span64;
    static constexpr uint32_t kRow = kNarrowChannels * 2, kConsumerThreads = 128 * kConsumers;
    static constexpr uint32_t kBlocks = kNarrowPixels / kBlockPixels / kConsumers;  ///< of 64 pixels, a warpgroup's
    static constexpr uint32_t kStageBytes = (kNarrowPixels + kNarrowColumns) * kRow;
    using Tile = NarrowTile<kSide>;
    using Sums = float[kBlocks][kNarrowColumns / 2];

    KG_DEVICE static void run(const NarrowConvParams& params) {
        auto& smem = isa::shared_as<NarrowSmem>();
        if (isa::thread_index() == 0) {
            for (auto& barrier : smem.full) isa::mbarrier::init(barrier, 1);
            for (auto& barrier : smem.empty) isa::mbarrier::init(barrier, 4 * kConsumers);  // a warp each
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
        return {index % p.frames, static_cast<int32_t>(tile % p.tiles_x * Tile::kColumns),
                static_cast<int32_t>(tile / p.tiles_x * Tile::kRows)};
    }

    KG_DEVICE static void load(const NarrowConvParams& p, NarrowSmem& smem) {
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

    KG_DEVICE static void consume(const NarrowConvParams& p, NarrowSmem& smem, uint32_t consumer) {
        Ring<kNarrowStages> ring{0, 0};
        for (uint32_t index = isa::block_index().x; index < tiles(p); index += isa::grid_size().x) {
            const Place at = place(p, index);
            Sums sums;
            multiply(smem, ring, p.taps[at.frame].count * p.channel_blocks, consumer, sums);
            isa::sync_named(1, kConsumerThreads);  // the tile before has been read out of y
            stage(smem, consumer, sums);
            if constexpr (kFault != ConvFault::NoStagingBarrier) isa::sync_named(1, kConsumerThreads);
            gather(p, smem, at);
        }
    }

    KG_DEVICE static void multiply(NarrowSmem& smem, Ring<kNarrowStages>& ring, uint32_t k_blocks, uint32_t consumer,
                                   Sums& sums) {
        KG_UNROLL
        for (uint32_t i = 0; i < kBlocks; ++i) {
            KG_UNROLL
            for (float& sum : sums[i]) sum = 0;
            isa::wgmma::pin(sums[i]);
        }
        for (uint32_t block = 0; block < k_blocks; ++block, ring.advance()) {
            if constexpr (kFault != ConvFault::NoInputWait) isa::mbarrier::wait(smem.full[ring.slot], ring.parity);
            const uint32_t pixels =
                isa::shared_address(smem.input[ring.slot]) + consumer * kBlocks * kBlockPixels * kRow;
            const uint32_t columns = isa::shared_address(smem.filter[ring.slot]);
            isa::wgmma::fence();
            KG_UNROLL
            for (uint32_t step = 0; step < kNarrowChannels / 16; ++step) {
                const uint64_t b = isa::wgmma_descriptor(
                    {.address = columns + step * 32, .group_stride = 8 * kRow, .swizzle = kSwizzle});
                KG_UNROLL
                for (uint32_t i = 0; i < kBlocks; ++i) {
                    const uint64_t a = isa::wgmma_descriptor({.address = pixels + i * kBlockPixels * kRow + step * 32,
                                                              .group_stride = 8 * kRow,
                                                              .swizzle = kSwizzle});
                    isa::wgmma::mma<kNarrowColumns, kElement>(sums[i], a, b, true);
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

    /// Columns of Y lie one after the other, so that neighbouring lanes gather neighbouring pixels.
    KG_DEVICE static void stage(NarrowSmem& smem, uint32_t consumer, const Sums& sums) {
        const uint32_t row = isa::thread_index() % 128 / 32 * 16 + isa::lane_index() / 4;
        const uint32_t column = isa::lane_index() % 4 * 2;
        KG_UNROLL
        for (uint32_t i = 0; i < kBlocks; ++i) {
            const uint32_t pixel = (consumer * kBlocks + i) * kBlockPixels + row;
            KG_UNROLL
            for (uint32_t j = 0; j < kNarrowColumns / 2; ++j)
                isa::store_shared(&smem.y[column + j / 4 * 8 + j % 2][pixel + j / 2 % 2 * 8], sums[i][j]);
        }
    }

    KG_DEVICE static void gather(const NarrowConvParams& p, NarrowSmem& smem, const Place& at) {
        const uint32_t thread = isa::thread_index() - 128;
        for (uint32_t i = thread; i < Tile::kRows * kNarrowRowPixels; i += kConsumerThreads) {
            const uint32_t y = i / kNarrowRowPixels, x = i % kNarrowRowPixels;
            const uint32_t out_y = static_cast<uint32_t>(at.y) + y, out_x = static_cast<uint32_t>(at.x) + x;
            if (x >= Tile::kColumns || out_y >= p.h_out || out_x >= p.w_out) continue;
            const size_t first = (static_cast<size_t>(out_y) * p.w_out + out_x) * p.c_out;
            for (uint32_t k = 0; k < p.c_out; ++k) {
                float sum = p.bias == nullptr ? 0.0f : isa::load_global<float>(p.bias + k);
                KG_UNROLL
                for (uint32_t tap = 0; tap < kSide * kSide; ++tap) {
                    constexpr uint32_t kShift = kFault == ConvFault::RowShiftOffByOne ? 1u : 0u;
                    const uint32_t pixel = (y + tap / kSide) * kNarrowRowPixels + x + tap % kSide + kShift;
                    sum += isa::load_shared(&smem.y[tap * p.c_out + k][pixel]);
                }
                if (p.silu != 0) sum = isa::silu(sum);
                if (p.residual[at.frame] != nullptr) sum += p.beta * residual(p, at.frame, first + k);
                store(p, at.frame, first + k, p.relu != 0 ? isa::leaky_relu(sum, p.negative_slope) : sum);
            }
        }
    }

    KG_DEVICE static float residual(const NarrowConvParams& p, uint32_t frame, size_t element) {
        const void* from = p.residual[frame];
        if (p.float32 != 0) return isa::load_global<float>(static_cast<const float*>(from) + element);
        float both[2];
        isa::unpack_word<kElement>(isa::load_global<uint16_t>(static_cast<const uint16_t*>(from) + element), both);
        return both[0];
    }

    KG_DEVICE static void store(const NarrowConvParams& p, uint32_t frame, size_t element, float value) {
        if (p.float32 != 0) return isa::store_global(static_cast<float*>(p.output[frame]) + element, value);
        const float both[2] = {value, 0};
        isa::store_global(static_cast<uint16_t*>(p.output[frame]) + element,
                          static_cast<uint16_t>(isa::pack_word<kElement>(both)));
    }
};

}  // namespace kinetograph::sm90
