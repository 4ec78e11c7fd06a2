#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_params.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_smem.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// What every role shares: positions in rings, the current tile, and how a role gets the next one.
namespace kinetograph::sm100 {

/// A position in a ring of `kSlots` slots and the parity to wait for there. A consumer starts with 0, a producer with
/// 1: its slots are empty at first (mbarrier.hpp).
template <uint32_t kSlots>
struct Ring {
    uint32_t slot, parity;
    KG_DEVICE void advance() {
        if (++slot == kSlots) slot = 0, parity ^= 1;
    }
};

/// One output tile of one CTA.
struct Tile {
    uint32_t m;      ///< first output pixel, within its group
    uint32_t n;      ///< first filter of the MMA (of the pair's, for a pair)
    uint32_t group;  ///< output frame of a window, else 0
};

/// A CTA's position in its cluster. Pairs lie along x: ranks 2i and 2i + 1.
template <Conv2dConfig kConfig>
struct Place {
    static constexpr Conv2dConfig c = kConfig;
    uint32_t x, y;
    KG_DEVICE Place() {
        const uint32_t rank = isa::cluster_rank();
        x = rank % c.cluster.x;
        y = rank / c.cluster.x;
    }
    KG_DEVICE bool leads() const { return x % c.cta_group == 0; }
    KG_DEVICE uint32_t leader() const { return y * c.cluster.x + x / c.cta_group * c.cta_group; }
    KG_DEVICE uint16_t pair() const { return static_cast<uint16_t>(((1u << c.cta_group) - 1) << leader()); }
    /// CTAs that read the rows of A loaded by this one: those of its column.
    KG_DEVICE uint16_t shares_activation() const {
        uint32_t mask = 0;
        for (uint32_t i = 0; i < c.cluster.y; ++i) mask |= 1u << (i * c.cluster.x + x);
        return static_cast<uint16_t>(mask);
    }
    /// CTAs that read the rows of B loaded by this one: those of its row, every second one for pairs.
    KG_DEVICE uint16_t shares_filter() const {
        uint32_t mask = 0;
        for (uint32_t i = x % c.cta_group; i < c.cluster.x; i += c.cta_group) mask |= 1u << (y * c.cluster.x + i);
        return static_cast<uint16_t>(mask);
    }
    /// CTAs that write into the stages which this leader's MMA reads: the pair's columns and the whole row.
    KG_DEVICE uint16_t writers() const {
        uint32_t mask = ((1u << c.cluster.x) - 1) << (y * c.cluster.x);
        for (uint32_t i = 0; i < c.cluster.y; ++i) {
            mask |= ((1u << c.cta_group) - 1) << (i * c.cluster.x + x / c.cta_group * c.cta_group);
        }
        return static_cast<uint16_t>(mask);
    }
};

/// One role's sequence of tiles: its own block first, then the tiles that launch control assigns. All roles read the
/// same answers under the same protocol, so they end after the same tile.
template <Conv2dConfig kConfig, Fault kFault>
class TileWalk {
  public:
    using Smem = Conv2dSmem<kConfig>;
    static constexpr Conv2dConfig c = kConfig;
    /// Arrivals that free an answer's slot: load, epilogue load and four epilogue warps of every CTA, the MMA warp of
    /// every leader, the scheduler itself.
    static constexpr uint32_t kListeners =
        c.cluster.size() * (1 + kEpilogueWarps + (c.source == Source::None ? 0 : 1)) + c.cluster.size() / c.cta_group +
        1;

    KG_DEVICE explicit TileWalk(const Conv2dGeometry& geometry) : geometry_(geometry) {
        const isa::Index3 block = isa::block_index();
        const Place<kConfig> place;
        tile_ = tile_of({block.x - place.x, block.y - place.y, block.z});
    }
    KG_DEVICE const Tile& tile() const { return tile_; }

    /// Advances to the next tile, for a role of one thread; false if there is none.
    KG_DEVICE bool next(Smem& smem) {
        const bool more = hear(smem);
        release(smem);
        return more;
    }
    /// The same for a role of a whole warp.
    KG_DEVICE bool next_of_warp(Smem& smem) {
        const bool more = hear(smem);
        isa::sync_warp();
        if (isa::lane_index() == 0) {
            release(smem);
        } else {
            answer_.advance();
        }
        return more;
    }

  private:
    KG_DEVICE bool hear(Smem& smem) {
        isa::mbarrier::wait(smem.answered[answer_.slot], answer_.parity);
        const isa::clc::NextWork next = isa::clc::query(smem.answers[answer_.slot]);
        if constexpr (kFault != Fault::NoAnswerFence) isa::fence_async_shared();
        if (next.valid) tile_ = tile_of(next.first_cta);
        return next.valid;
    }
    KG_DEVICE void release(Smem& smem) {
        if constexpr (c.cluster.size() == 1) {
            isa::mbarrier::arrive(smem.heard[answer_.slot]);
        } else {
            isa::mbarrier::arrive(isa::map_to_rank(&smem.heard[answer_.slot], 0));
        }
        answer_.advance();
    }

    /// Walks a panel of clusters of pixels with all its filters before the next one, so that A is read again while it
    /// is still in L2. The order of 5 clusters of pixels and 2 of filters with panels of 2:
    ///
    ///   filters 0    0  1 | 4  5 | 8
    ///   filters 1    2  3 | 6  7 | 9
    KG_DEVICE Tile tile_of(isa::Index3 first_cta) const {
        const Conv2dGeometry& g = geometry_;
        const uint32_t index = first_cta.y / c.cluster.y * g.cluster_columns + first_cta.x / c.cluster.x;
        const uint32_t panel = index / (g.panel * g.cluster_rows), left = g.cluster_columns - panel * g.panel;
        const uint32_t width = left < g.panel && kFault != Fault::LastPanelFull ? left : g.panel;
        const uint32_t inside = index - panel * g.panel * g.cluster_rows;
        const uint32_t x = panel * (kFault == Fault::PanelsOverlap ? 1 : g.panel) + inside % width, y = inside / width;
        const Place<kConfig> place;
        return {(x * c.cluster.x + place.x) * c.block.m, (y * c.cluster.y + place.y) * c.mma.n, first_cta.z};
    }

    const Conv2dGeometry& geometry_;
    Tile tile_{};
    Ring<c.scheduler_stages> answer_{0, 0};
};

/// The maps of all groups.
template <Conv2dConfig kConfig, uint32_t kMaps>
KG_DEVICE void prefetch_maps(const isa::TensorMap (&maps)[kMaps]) {
    const uint32_t groups = kConfig.activation == Activation::Window3d ? isa::grid_size().z : 1;
    for (uint32_t group = 0; group < groups; ++group) isa::tma::prefetch(maps[group]);
}

/// The temporal taps of a tile: all, or in a window those under which an input frame lies.
struct TapRange {
    uint32_t begin, end;
};
template <Conv2dConfig kConfig>
KG_DEVICE TapRange temporal_taps(const Conv2dGeometry& g, const Tile& tile) {
    if constexpr (kConfig.activation != Activation::Window3d) return {0, g.q};
    const int32_t first = static_cast<int32_t>(tile.group % g.d_out) * g.stride_d + g.lower_d;
    const int32_t frames = static_cast<int32_t>(g.frames_in) - first, taps = static_cast<int32_t>(g.q);
    return {static_cast<uint32_t>(first < 0 ? -first : 0), static_cast<uint32_t>(frames < taps ? frames : taps)};
}
template <Conv2dConfig kConfig>
KG_DEVICE uint32_t k_blocks(const Conv2dGeometry& g, const TapRange& taps) {
    return (taps.end - taps.begin) * g.r * g.s * ((g.c_in + kConfig.block.k - 1) / kConfig.block.k);
}
/// Output tiles of a tile that hold filters; if columns lie in parts (column_parts), those of the first part.
template <Conv2dConfig kConfig>
KG_DEVICE uint32_t output_tiles(const Conv2dGeometry& g, const Tile& tile) {
    if (tile.n >= g.c_out) return 0;
    const uint32_t left = g.c_out - tile.n, part = part_columns(kConfig), columns = left < part ? left : part;
    return (columns + kConfig.output_tile.n - 1) / kConfig.output_tile.n;
}

}  // namespace kinetograph::sm100
