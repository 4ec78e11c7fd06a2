#pragma once

#include <algorithm>
#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>

/// Tensor maps and parameters of the launches of a problem in one tile configuration. Pure host code.
namespace kinetograph::sm90 {

/// The part of a kernel's configuration that its tensor maps and parameters depend on: the tile that its grid walks, a
/// block of K with the halo of one load, a stage of filters, and the piece of a result of one store.
struct TileShape {
    Element element, stored;          ///< of inputs and filters; of results
    uint32_t rows, columns, filters;  ///< of a tile
    uint32_t channels, side;          ///< of a block of K; taps along rows and along columns
    isa::Swizzle swizzle;             ///< of halos and filters
    uint32_t halo_rows, halo_columns;
    uint32_t stage_filters, stage_taps;
    uint32_t piece_rows, piece_columns, piece_channels;
    isa::Swizzle piece_swizzle;
    uint32_t byte_piece_channels = 0;  ///< of a norm that is stored as U8
};
TileShape tile_shape(const ConvConfig& config);

/// The maps that a kernel of that tile reads and stores by, with the given sizes, dense until the caller sets other
/// strides: {c, x, y} of an input, {c, filter, tap, parity} of filters, {c, px, x, py, y} of results and of norms as
/// U8.
isa::TensorMapDesc input_map(const TileShape& tile, const std::byte* address, const std::array<uint64_t, 5>& size);
isa::TensorMapDesc filter_map(const TileShape& tile, const std::byte* address, const std::array<uint64_t, 5>& size);
isa::TensorMapDesc stored_map(const TileShape& tile, const std::byte* address, const std::array<uint64_t, 5>& size);
isa::TensorMapDesc byte_map(const TileShape& tile, const std::byte* address, const std::array<uint64_t, 5>& size);

/// Makes the tensor maps.
class ConvMaps {
  public:
    ConvMaps(const TileShape& tile, const conv::ConvProblem& problem, const conv::EncodeMap& encode)
        : tile_(tile), p_(problem), encode_(encode) {}

    isa::TensorMap input(const std::byte* frame) const;
    isa::TensorMap filter(const std::byte* packed) const;
    /// Sets the maps of `count` output frames from `first` on, and of their residuals and norms.
    void stored(ConvParams& params, const conv::ConvTensors& tensors, int64_t first, int64_t count) const;

  private:
    isa::TensorMap stored_frame(const std::byte* frame, bool bytes) const;

    const TileShape tile_;
    const conv::ConvProblem& p_;
    const conv::EncodeMap& encode_;
};

/// ConvKernel in that tile with these parameters, on at most `sms` CTAs.
template <class Params>
conv::ConvLaunch launch_of(const ConvConfig& config, const Params& params, uint32_t sms) {
    const uint32_t tiles = params.tiles_x * params.tiles_y * params.frames * params.parities * params.tiles_n;
    return {.grid = {std::min(tiles, sms), 1, 1},
            .threads = kThreads,
            .shared_bytes = shared_bytes(config),
            .arguments = conv::Arguments::of(params)};
}

/// All parameters except frames and maps.
ConvParams shape_params(const TileShape& tile, const conv::ConvProblem& problem,
                        const conv::ParameterAddresses& parameters);

}  // namespace kinetograph::sm90
