#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_tiles.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// Load warp: one thread fills the main ring with activations through the im2col map and filters through a tiled map. K
/// runs over taps (q, r, s), channels fastest; the loop has no division.
namespace kinetograph::sm100 {

template <Conv2dConfig kConfig, Fault kFault>
struct LoadRole {
    using Smem = Conv2dSmem<kConfig>;
    static constexpr Conv2dConfig c = kConfig;
    static constexpr uint32_t kBlockBytes = activation_tile_bytes(c) + filter_tile_bytes(c);
    static constexpr uint32_t kActivationSlice = c.block.m / c.cluster.y;              // rows of A loaded here
    static constexpr uint32_t kFilterSlice = c.block.n / (c.cluster.x / c.cta_group);  // rows of B loaded here

    /// The parts of a k block of A and of B, and a row of one: bytes, channels.
    static constexpr uint32_t kSlabsA = slabs(c, c.swizzle_a), kSlabsB = slabs(c, c.swizzle_b);
    static constexpr uint32_t kRowBytesA = isa::span_bytes(c.swizzle_a), kRowBytesB = isa::span_bytes(c.swizzle_b);
    static constexpr uint32_t kRowA = span_elements(c, c.swizzle_a), kRowB = span_elements(c, c.swizzle_b);

    /// Position in K: channel block and tap.
    struct KBlock {
        uint32_t channel = 0, s = 0, r = 0, q = 0;
        KG_DEVICE void advance(const Conv2dGeometry& g) {
            if ((channel += c.block.k) < g.c_in) return;
            channel = 0;
            if (++s < g.s) return;
            s = 0;
            if (++r < g.r) return;
            r = 0;
            ++q;
        }
    };
    /// The im2col base of a tile's first pixel.
    struct Base {
        int32_t w, h, d, n;
    };

    template <class Params>
    KG_DEVICE static void run(const Params& params, Smem& smem) {
        const Conv2dGeometry& g = params.geometry;
        const bool window = c.activation == Activation::Window3d;
        const uint32_t frames = window ? isa::grid_size().z / g.d_out * g.frames_in : 1;
        isa::tma::prefetch(params.filter);
        for (uint32_t frame = 0; frame < frames; ++frame) isa::tma::prefetch(params.activation[frame]);
        const Place<kConfig> place;
        TileWalk<kConfig, kFault> tiles(g);
        Ring<c.stages> ring{0, kFault == Fault::ProducerStartsAtPhase0 ? 0u : 1u};
        bool first = c.source != Source::None;
        do {
            if (place.x == 0 && place.y == 0) isa::mbarrier::arrive(smem.throttle);
            const Tile& tile = tiles.tile();
            const TapRange taps = temporal_taps<kConfig>(g, tile);
            const Base base = base_of(g, tile.m + place.y * kActivationSlice);
            KBlock k{.q = taps.begin};
            uint32_t filled = 0;
            for (uint32_t left = k_blocks<kConfig>(g, taps); left != 0; ring.advance()) {
                const uint32_t count = left < c.k_group ? left : c.k_group;
                isa::mbarrier::wait(smem.empty[ring.slot], ring.parity);
                expect(smem, place, ring.slot, count);
                for (uint32_t i = 0; i < count; ++i, k.advance(g)) {
                    load_activation(params, smem, place, tile, base, k, {ring.slot, i});
                    load_filter(params, smem, place, tile, k, {ring.slot, i});
                }
                left -= count;
                if (first && (++filled == c.stages || left == 0)) {
                    isa::mbarrier::arrive(smem.load_order);
                    first = false;
                }
            }
        } while (tiles.next(smem));
        if constexpr (kFault == Fault::NoDrain) return;
        for (uint32_t i = 0; i < c.stages; ++i, ring.advance()) isa::mbarrier::wait(smem.empty[ring.slot], ring.parity);
    }

  private:
    struct Slot {
        uint32_t stage, block;
    };

    KG_DEVICE static Base base_of(const Conv2dGeometry& g, uint32_t m) {
        const uint32_t w = m % g.w_out, row = m / g.w_out, h = row % g.h_out, frame = row / g.h_out;
        const int32_t at_w = static_cast<int32_t>(w) * g.stride_w + g.lower_w;
        const int32_t at_h = static_cast<int32_t>(h) * g.stride_h + g.lower_h;
        // Past the last pixel only n exceeds its axis, and the map fills with zeros there.
        if constexpr (c.activation != Activation::Volume3d) return {at_w, at_h, 0, static_cast<int32_t>(frame)};
        const int32_t at_d = static_cast<int32_t>(frame % g.d_out) * g.stride_d + g.lower_d;
        return {at_w, at_h, at_d, static_cast<int32_t>(frame / g.d_out)};
    }

    /// Announces the stage's bytes: always full boxes; for a pair those of both CTAs, at the leader.
    KG_DEVICE static void expect(Smem& smem, const Place<kConfig>& place, uint32_t stage, uint32_t count) {
        if (!place.leads()) return;
        uint32_t bytes = count * c.cta_group * kBlockBytes;
        if constexpr (kFault == Fault::ExpectsOneTile) bytes = count * c.cta_group * activation_tile_bytes(c);
        if constexpr (kFault == Fault::ExpectsWholeCluster) bytes = count * c.cluster.size() * kBlockBytes;
        isa::mbarrier::arrive_expect(smem.full[stage], bytes);
    }

    template <class Params>
    KG_DEVICE static void load_activation(const Params& params, Smem& smem, const Place<kConfig>& place,
                                          const Tile& tile, const Base& base, const KBlock& k, Slot slot) {
        const Conv2dGeometry& g = params.geometry;
        isa::mbarrier::Barrier& full = smem.full[slot.stage];
        const auto tap_w = static_cast<uint16_t>(k.s * g.dilation_w), tap_h = static_cast<uint16_t>(k.r * g.dilation_h);
        const uint32_t frame = map_of(g, tile, k);
        for (uint32_t slab = 0; slab < kSlabsA; ++slab) {
            uint8_t* rows =
                smem.activation[slot.stage][slot.block] + (slab * c.block.m + place.y * kActivationSlice) * kRowBytesA;
            const auto channel = static_cast<int32_t>(channel_of(k, slab * kRowA));
            if constexpr (c.activation == Activation::Volume3d) {
                issue_im2col<5>(rows, params.activation[0], {{channel, base.w, base.h, base.d, base.n}},
                                {{tap_w, tap_h, static_cast<uint16_t>(tap_in_time(k) * g.dilation_d)}}, full, place);
            } else {
                issue_im2col<4>(rows, params.activation[frame], {{channel, base.w, base.h, base.n}}, {{tap_w, tap_h}},
                                full, place);
            }
        }
    }

    /// Of a slab that begins so many channels after its block; beyond the last channel it is zeros.
    KG_DEVICE static uint32_t channel_of(const KBlock& k, uint32_t after) {
        return k.channel + (kFault == Fault::FirstSlabLoaded ? 0 : after);
    }

    KG_DEVICE static uint32_t tap_in_time(const KBlock& k) { return kFault == Fault::OneFrameOfInput ? 0 : k.q; }

    /// The input frame under temporal tap k.q of a window's output frame.
    KG_DEVICE static uint32_t map_of(const Conv2dGeometry& g, const Tile& tile, const KBlock& k) {
        if constexpr (c.activation != Activation::Window3d) return 0;
        const uint32_t sample = tile.group / g.d_out, t = tile.group % g.d_out;
        const int32_t frame = static_cast<int32_t>(t) * g.stride_d + g.lower_d + static_cast<int32_t>(tap_in_time(k));
        return sample * g.frames_in + static_cast<uint32_t>(frame);
    }

    template <int kRankOfMap>
    KG_DEVICE static void issue_im2col(void* rows, const isa::TensorMap& map,
                                       const isa::tma::Coordinates<kRankOfMap>& at,
                                       const isa::tma::TapOffsets<kRankOfMap>& tap, isa::mbarrier::Barrier& full,
                                       const Place<kConfig>& place) {
        if constexpr (c.cta_group == 1 && c.cluster.y == 1) isa::tma::load_im2col(rows, map, at, tap, full);
        if constexpr (c.cta_group == 2 && c.cluster.y == 1) isa::tma::load_im2col_pair(rows, map, at, tap, full);
        if constexpr (c.cta_group == 1 && c.cluster.y > 1)
            isa::tma::load_im2col_multicast(rows, map, at, tap, full, place.shares_activation());
        if constexpr (c.cta_group == 2 && c.cluster.y > 1)
            isa::tma::load_im2col_pair_multicast(rows, map, at, tap, full, place.shares_activation());
    }

    template <class Params>
    KG_DEVICE static void load_filter(const Params& params, Smem& smem, const Place<kConfig>& place, const Tile& tile,
                                      const KBlock& k, Slot slot) {
        const Conv2dGeometry& g = params.geometry;
        const uint32_t slice = place.x / c.cta_group * kFilterSlice;
        const auto tap = static_cast<int32_t>((k.q * g.r + k.r) * g.s + k.s);
        const auto row = static_cast<int32_t>(tile.n + place.x % c.cta_group * c.block.n + slice);
        for (uint32_t slab = 0; slab < kSlabsB; ++slab) {
            uint8_t* rows = smem.filter[slot.stage][slot.block] + (slab * c.block.n + slice) * kRowBytesB;
            issue_tiled(rows, params.filter, {{static_cast<int32_t>(channel_of(k, slab * kRowB)), tap, row}},
                        smem.full[slot.stage], place);
        }
    }

    KG_DEVICE static void issue_tiled(void* rows, const isa::TensorMap& map, const isa::tma::Coordinates<3>& at,
                                      isa::mbarrier::Barrier& full, const Place<kConfig>& place) {
        constexpr bool kShared = c.cluster.x > c.cta_group;
        if constexpr (c.cta_group == 1 && !kShared) isa::tma::load_tiled(rows, map, at, full);
        if constexpr (c.cta_group == 2 && !kShared) isa::tma::load_tiled_pair(rows, map, at, full);
        if constexpr (c.cta_group == 1 && kShared)
            isa::tma::load_tiled_multicast(rows, map, at, full, place.shares_filter());
        if constexpr (c.cta_group == 2 && kShared)
            isa::tma::load_tiled_pair_multicast(rows, map, at, full, place.shares_filter());
    }
};

}  // namespace kinetograph::sm100
