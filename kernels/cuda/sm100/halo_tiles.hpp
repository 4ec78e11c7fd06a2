#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_params.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_smem.hpp>
#include <kinetograph/kernels/cuda/sm90/ring.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// Which tiles a cluster computes, in which order. All roles of all its CTAs walk the same list, so that they need
/// not communicate.
namespace kinetograph::sm100 {

using sm90::Ring;

/// A CTA's part of a tile.
struct HaloTile {
    uint32_t frame, n;  ///< output frame; first filter
    uint32_t parity;    ///< 2 * py + px
    int32_t x, y;       ///< first pixel, of the image that the tiles walk
    KG_DEVICE int32_t px() const { return static_cast<int32_t>(parity & 1u); }
    KG_DEVICE int32_t py() const { return static_cast<int32_t>(parity >> 1); }
};

template <HaloConfig kConfig>
class HaloWalk {
  public:
    static constexpr HaloConfig c = kConfig;

    KG_DEVICE explicit HaloWalk(const sm90::ConvParams& params)
        : p_(params),
          index_(isa::block_index().x / c.cluster),
          step_(isa::grid_size().x / c.cluster),
          count_(p_.tiles_x * p_.tiles_y * p_.frames * p_.parities * p_.tiles_n) {}

    KG_DEVICE bool more() const { return index_ < count_; }
    KG_DEVICE void advance() { index_ += step_; }
    /// Filters innermost, then parities, then frames: tiles that run at the same time share their input in the L2.
    KG_DEVICE HaloTile tile() const {
        const uint32_t n = index_ % p_.tiles_n, with_parity = index_ / p_.tiles_n;
        const uint32_t parity = with_parity % p_.parities, with_frame = with_parity / p_.parities;
        const uint32_t frame = with_frame % p_.frames, place = with_frame / p_.frames;
        constexpr bool kSamePixels = c.sharing == HaloSharing::Pixels;
        const uint32_t block = kSamePixels ? rank() - leader() : rank();
        const uint32_t x = place % p_.tiles_x * tile_columns(c) + block * kHaloBlockColumns;
        const uint32_t filter = n * tile_filters(c) + (kSamePixels ? pair() * c.bn : 0);
        return {frame, filter, parity, static_cast<int32_t>(x), static_cast<int32_t>(place / p_.tiles_x * cta_rows(c))};
    }

    /// Rank of this CTA in its cluster; the first CTA of each pair issues the pair's products.
    KG_DEVICE static uint32_t rank() {
        if constexpr (c.cluster == 1) return 0;
        return isa::cluster_rank();
    }
    KG_DEVICE static uint32_t pair() { return rank() / c.cta_group; }
    KG_DEVICE static uint32_t leader() { return pair() * c.cta_group; }
    KG_DEVICE static bool leads() { return rank() == leader(); }
    /// The CTA at the same place in the other pair.
    KG_DEVICE static uint32_t counterpart() { return rank() ^ c.cta_group; }
    /// This CTA and its counterpart, as a multicast mask.
    KG_DEVICE static uint16_t both() { return static_cast<uint16_t>(1u << rank() | 1u << counterpart()); }

  private:
    const sm90::ConvParams& p_;
    uint32_t index_, step_, count_;
};

/// Pieces of a tile that hold filters.
template <HaloConfig kConfig>
KG_DEVICE uint32_t pieces_of(const HaloParams& params, const HaloTile& tile) {
    const uint32_t left = params.c_out - tile.n, columns = left < kConfig.bn ? left : kConfig.bn;
    return (columns + kPieceChannels - 1) / kPieceChannels;
}

/// Where a warp's piece of an output or residual frame lies: {c, px, x, py, y}.
KG_DEVICE isa::tma::Coordinates<5> piece_place(const HaloTile& tile, uint32_t block, uint32_t warp, uint32_t piece) {
    return {{static_cast<int32_t>(tile.n + piece * kPieceChannels), tile.px(), tile.x, tile.py(),
             tile.y + static_cast<int32_t>(block * kHaloBlockRows + warp * kPieceRows)}};
}

}  // namespace kinetograph::sm100
