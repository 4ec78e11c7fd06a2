#pragma once

#include <kinetograph/kernels/cuda/sm90/narrow_config.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_epilogue.hpp>
#include <kinetograph/kernels/cuda/sm90/ring.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>
#include <kinetograph/kernels/isa/wgmma.hpp>

/// A convolution of up to 4 output channels under 3 x 3 taps and up to 3 taps in time that reads each input frame once.
/// A CTA walks through the frames at one place of the image and multiplies each with all taps at once. The sums of the
/// three outputs that a frame contributes to stay in registers:
///
///   columns of the product     0 to 15          16 to 31     32 to 47
///   frame t adds to output     t, by tap 2      t + 1        t + 2, by tap 0
///   then its sums are          stored           moved left   moved left, and zeros take their place
///
///   tap along rows      r      the tile's pixels from a row later, by A's descriptor; sums of the same columns
///   tap along columns   s      columns of its own, which a warp adds up across its lanes, each from a pixel later
///
/// Outputs whose frames have not all come when the walk ends are the sums that its frames have begun.
namespace kinetograph::sm90 {

inline constexpr uint32_t kWalkSide = 3;           ///< taps along rows and along columns
inline constexpr uint32_t kWalkOutputs = 4;        ///< channels, at most: one for each lane of four
inline constexpr uint32_t kWalkInputs = 256;       ///< channels, at most
inline constexpr uint32_t kWalkGroupColumns = 16;  ///< of one temporal tap: see walk_column
inline constexpr uint32_t kWalkColumns = kMaxTemporalTaps * kWalkGroupColumns;
/// A tile, and its pixels that are read: a warp has two rows of 32 pixels.
inline constexpr uint32_t kWalkRows = 16, kWalkPitch = 32, kWalkWidth = kWalkPitch - kWalkSide + 1;
inline constexpr uint32_t kWalkRowBytes = kNarrowChannels * 2;
inline constexpr uint32_t kWalkStageBytes = (kWalkRows + kWalkSide - 1) * kWalkPitch * kWalkRowBytes;
inline constexpr uint32_t kWalkFilterRows = kWalkSide * kWalkColumns;  ///< [tap along rows][column]

/// The column, of a temporal tap's 16, of tap `s` along columns and output channel k: of each channel, all three lie in
/// the accumulators of one lane of four.
KG_HOST_DEVICE uint32_t walk_column(uint32_t s, uint32_t k) { return s / 2 * 8 + k * 2 + s % 2; }

struct FrameWalkSmem {
    alignas(1024) uint8_t input[kNarrowStages][kWalkStageBytes];                                   ///< [pixel][channel]
    alignas(1024) uint8_t filter[kWalkInputs / kNarrowChannels][kWalkFilterRows * kWalkRowBytes];  ///< [row][channel]
    isa::mbarrier::Barrier full[kNarrowStages], empty[kNarrowStages], filter_full;
};
static_assert(sizeof(FrameWalkSmem) <= kSharedLimit, "more shared memory than a block may have");

/// Grid: any number of CTAs up to the number of tiles, along x; kThreads threads.
template <Element kElement, ConvFault kFault = ConvFault::None>
struct FrameWalkKernel {
    using Smem = FrameWalkSmem;
    static constexpr isa::Swizzle kSwizzle = isa::Swizzle::Span64;
    static constexpr uint32_t kBlocks = kWalkRows * kWalkPitch / kBlockPixels / kConsumers;  ///< of a warpgroup
    static constexpr uint32_t kHeld = kWalkGroupColumns / 2;  ///< accumulators of one output
    using Sums = float[kBlocks][kMaxTemporalTaps * kHeld];
    using Epilogue = NarrowEpilogue<kElement, 1>;

    KG_DEVICE static void run(const FrameWalkParams& params) {
        auto& smem = isa::shared_as<Smem>();
        if (isa::thread_index() == 0) {
            for (auto& barrier : smem.full) isa::mbarrier::init(barrier, 1);
            for (auto& barrier : smem.empty) isa::mbarrier::init(barrier, 4 * kConsumers);  // one arrival per warp
            isa::mbarrier::init(smem.filter_full, 1);
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
        int32_t x, y;
    };
    KG_DEVICE static Place place(const FrameWalkParams& p, uint32_t index) {
        return {static_cast<int32_t>(index % p.tiles_x * kWalkWidth),
                static_cast<int32_t>(index / p.tiles_x * kWalkRows)};
    }
    KG_DEVICE static int32_t channel(uint32_t block) { return static_cast<int32_t>(block * kNarrowChannels); }

    KG_DEVICE static void load(const FrameWalkParams& p, Smem& smem) {
        isa::mbarrier::arrive_expect(smem.filter_full, p.channel_blocks * static_cast<uint32_t>(sizeof smem.filter[0]));
        for (uint32_t block = 0; block < p.channel_blocks; ++block)
            isa::tma::load_tiled<2>(smem.filter[block], p.filter, {{channel(block), 0}}, smem.filter_full);
        Ring<kNarrowStages> ring{0, kFault == ConvFault::ProducerStartsAtPhase0 ? 0u : 1u};
        constexpr uint32_t kMissing = kFault == ConvFault::ExpectsTooFewBytes ? kWalkRowBytes : 0;
        for (uint32_t index = isa::block_index().x; index < p.tiles_x * p.tiles_y; index += isa::grid_size().x) {
            const Place at = place(p, index);
            for (uint32_t frame = 0; frame < p.inputs; ++frame) {
                for (uint32_t block = 0; block < p.channel_blocks; ++block, ring.advance()) {
                    isa::mbarrier::wait(smem.empty[ring.slot], ring.parity);
                    isa::mbarrier::arrive_expect(smem.full[ring.slot], kWalkStageBytes - kMissing);
                    isa::tma::load_tiled<3>(smem.input[ring.slot], p.input[frame],
                                            {{channel(block), at.x - p.pad_left, at.y - p.pad_top}},
                                            smem.full[ring.slot]);
                }
            }
        }
    }

    KG_DEVICE static void consume(const FrameWalkParams& p, Smem& smem, uint32_t consumer) {
        const uint32_t k = isa::lane_index() % 4;
        const float bias = p.bias != nullptr && k < p.c_out ? isa::load_global<float>(p.bias + k) : 0.0f;
        if constexpr (kFault != ConvFault::NoFilterWait) isa::mbarrier::wait(smem.filter_full, 0);
        Ring<kNarrowStages> ring{0, 0};
        for (uint32_t index = isa::block_index().x; index < p.tiles_x * p.tiles_y; index += isa::grid_size().x) {
            const Place at = place(p, index);
            Sums sums;
            clear<0>(sums);
            const int32_t newest = p.newest, frames = static_cast<int32_t>(p.frames);
            for (int32_t frame = newest < 0 ? newest : 0; frame - newest < frames; ++frame) {
                if (frame >= 0 && frame < static_cast<int32_t>(p.inputs))
                    multiply(smem, ring, p.channel_blocks, consumer, sums);
                if (frame >= newest) store(p, at, consumer, static_cast<uint32_t>(frame - newest), bias, sums);
                advance(sums);
            }
        }
    }

    /// Clears the sums from accumulator kFirst of each block on.
    template <uint32_t kFirst>
    KG_DEVICE static void clear(Sums& sums) {
        KG_UNROLL
        for (auto& block : sums) {
            KG_UNROLL
            for (uint32_t j = kFirst; j < kMaxTemporalTaps * kHeld; ++j) block[j] = 0;
            isa::wgmma::pin(block);
        }
    }

    /// Moves the sums of the outputs after the one that is complete.
    KG_DEVICE static void advance(Sums& sums) {
        constexpr uint32_t kLast = (kMaxTemporalTaps - 1) * kHeld;
        KG_UNROLL
        for (auto& block : sums) {
            KG_UNROLL
            for (uint32_t j = 0; j < kLast; ++j)
                block[j] = block[kFault == ConvFault::WrongTapOrder ? (j + 2 * kHeld) % (3 * kHeld) : j + kHeld];
        }
        if constexpr (kFault != ConvFault::KeepsSums) clear<kLast>(sums);
    }

    /// Adds one input frame's products.
    KG_DEVICE static void multiply(Smem& smem, Ring<kNarrowStages>& ring, uint32_t channel_blocks, uint32_t consumer,
                                   Sums& sums) {
        constexpr uint32_t kRow = kWalkPitch * kWalkRowBytes, kGroup = 8 * kWalkRowBytes;
        constexpr uint32_t kShift = kFault == ConvFault::RowShiftOffByOne ? kWalkRowBytes : 0;
        for (uint32_t block = 0; block < channel_blocks; ++block, ring.advance()) {
            if constexpr (kFault != ConvFault::NoInputWait) isa::mbarrier::wait(smem.full[ring.slot], ring.parity);
            const uint64_t pixels =
                isa::wgmma_descriptor({.address = isa::shared_address(smem.input[ring.slot]) +
                                                  consumer * (kWalkRows / kConsumers) * kRow + kShift,
                                       .group_stride = 2 * kGroup,
                                       .swizzle = kSwizzle});
            const uint64_t filter = isa::wgmma_descriptor(
                {.address = isa::shared_address(smem.filter[block]), .group_stride = kGroup, .swizzle = kSwizzle});
            isa::wgmma::fence();
            KG_UNROLL
            for (uint32_t step = 0; step < kNarrowChannels / 16; ++step) {
                KG_UNROLL
                for (uint32_t r = 0; r < kWalkSide; ++r) {
                    const uint64_t b = isa::advanced(filter, r * kWalkColumns * kWalkRowBytes + step * 32);
                    KG_UNROLL
                    for (uint32_t i = 0; i < kBlocks; ++i) {
                        // Blocks 0 and 1 are rows 0 to 3, a warp's 16 pixels in each the even and the odd groups of 8
                        // of one row.
                        const uint64_t a = isa::advanced(pixels, (i / 2 * 4 + r) * kRow + i % 2 * kGroup + step * 32);
                        isa::wgmma::mma<kWalkColumns, kElement>(sums[i], a, b, true);
                    }
                }
            }
            isa::wgmma::commit();
            if constexpr (kFault != ConvFault::ReleasesEarly) isa::wgmma::wait<0>();
            if (isa::lane_index() == 0) isa::mbarrier::arrive(smem.empty[ring.slot]);
        }
        if constexpr (kFault == ConvFault::ReleasesEarly) isa::wgmma::wait<0>();
        KG_UNROLL
        for (auto& block : sums) isa::wgmma::take(block);
    }

    static constexpr uint32_t kGroups = kWalkPitch / 8;  ///< of 8 pixels, in a row
    /// Of one channel in one row: pixel 8 m + l / 4 of lane l.
    using Row = float[kGroups];

    /// Adds the row of pixels that begins kBy pixels later.
    template <uint32_t kBy>
    KG_DEVICE static void add_shifted(const Row& row, Row& to) {
        const bool from_next = isa::lane_index() / 4 < kBy;
        KG_UNROLL
        for (uint32_t m = 0; m < kGroups; ++m) {
            const float next = m + 1 < kGroups ? row[m + 1] : row[m];  // after the tile's last pixel: any
            to[m] += isa::rotate_lanes(from_next ? next : row[m], 4 * kBy);
        }
    }

    /// Stores the sums of output `frame`, which are complete.
    KG_DEVICE static void store(const FrameWalkParams& p, const Place& at, uint32_t consumer, uint32_t frame,
                                float bias, const Sums& sums) {
        const uint32_t lane = isa::lane_index(), k = lane % 4;
        const float added = frame < p.biased || kFault == ConvFault::BiasOnKeptSums ? bias : 0.0f;
        const uint32_t x = static_cast<uint32_t>(at.x) + lane / 4;
        const uint32_t y =
            static_cast<uint32_t>(at.y) + consumer * (kWalkRows / kConsumers) + isa::thread_index() % 128 / 32;
        const uint32_t end_x = static_cast<uint32_t>(at.x) + kWalkWidth;
        float residual[kBlocks / 2][kGroups][1];
        const auto stored = [&](uint32_t pair, uint32_t m) {
            return k < p.c_out && y + 4 * pair < p.h_out && x + 8 * m < p.w_out && x + 8 * m < end_x;
        };
        const auto element = [&](uint32_t pair, uint32_t m) {
            return (static_cast<size_t>(y + 4 * pair) * p.w_out + x + 8 * m) * p.c_out + k;
        };
        KG_UNROLL
        for (uint32_t pair = 0; pair < kBlocks / 2; ++pair) {
            KG_UNROLL
            for (uint32_t m = 0; m < kGroups; ++m)
                Epilogue::load(p, stored(pair, m) ? p.residual[frame] : nullptr, element(pair, m), residual[pair][m]);
        }
        KG_UNROLL
        for (uint32_t pair = 0; pair < kBlocks / 2; ++pair) {
            Row columns[kWalkSide];
            KG_UNROLL
            for (uint32_t s = 0; s < kWalkSide; ++s) {
                KG_UNROLL
                for (uint32_t m = 0; m < kGroups; ++m)
                    columns[s][m] = sums[2 * pair + m % 2][s / 2 * 4 + s % 2 + m / 2 * 2];
            }
            add_shifted<1>(columns[1], columns[0]);
            add_shifted<2>(columns[2], columns[0]);
            KG_UNROLL
            for (uint32_t m = 0; m < kGroups; ++m) {
                float value[1] = {columns[0][m] + added};
                Epilogue::finish(p, residual[pair][m], value);
                if (stored(pair, m)) Epilogue::store(p, p.output[frame], element(pair, m), value);
            }
        }
    }
};

// Every instance that is built. X(kernel, its element)
#define KG_SM90_FRAME_WALKS(X)             \
    X(sm90_frame_walk_bf16, Element::BF16) \
    X(sm90_frame_walk_f16, Element::F16)

}  // namespace kinetograph::sm90
