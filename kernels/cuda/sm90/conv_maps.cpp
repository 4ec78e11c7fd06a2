#include <cmath>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/epilogue_flags.hpp>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_maps.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::ConvProblem;
using isa::TensorMapDesc;

using conv::u32;
using conv::u64;

TensorMapDesc dense(Element element, const std::byte* address, uint32_t rank, const std::array<uint64_t, 5>& size) {
    return isa::dense_map(isa::MapMode::Tiled, element, const_cast<std::byte*>(address), rank, size);
}

}  // namespace

TileShape tile_shape(const ConvConfig& c) {
    return {.element = c.element,
            .stored = stored_element(c),
            .rows = tile_rows(c),
            .columns = tile_columns(c),
            .filters = c.bn,
            .channels = c.channels,
            .side = c.side,
            .swizzle = swizzle(c),
            .halo_rows = halo_rows(c),
            .halo_columns = halo_columns(c),
            .stage_filters = c.bn,
            .stage_taps = c.stage_taps,
            .piece_rows = kBlockSide,
            .piece_columns = kBlockSide,
            .piece_channels = piece_channels(c),
            .piece_swizzle = staging_swizzle(c),
            .byte_piece_channels = byte_piece_channels(c)};
}

TensorMapDesc input_map(const TileShape& tile, const std::byte* address, const std::array<uint64_t, 5>& size) {
    TensorMapDesc map = dense(tile.element, address, 3, size);
    map.swizzle = tile.swizzle;
    map.box = {tile.channels, tile.halo_columns, tile.halo_rows};
    return map;
}

TensorMapDesc filter_map(const TileShape& tile, const std::byte* address, const std::array<uint64_t, 5>& size) {
    TensorMapDesc map = dense(tile.element, address, 4, size);
    map.swizzle = tile.swizzle;
    map.box = {tile.channels, tile.stage_filters, tile.stage_taps, 1};
    return map;
}

TensorMapDesc stored_map(const TileShape& tile, const std::byte* address, const std::array<uint64_t, 5>& size) {
    TensorMapDesc map = dense(tile.stored, address, 5, size);
    map.swizzle = tile.piece_swizzle;
    map.box = {tile.piece_channels, 1, tile.piece_columns, 1, tile.piece_rows};
    return map;
}

TensorMapDesc byte_map(const TileShape& tile, const std::byte* address, const std::array<uint64_t, 5>& size) {
    TensorMapDesc map = dense(Element::U8, address, 5, size);
    map.swizzle = swizzle_of(tile.byte_piece_channels);
    map.box = {tile.byte_piece_channels, 1, tile.piece_columns, 1, tile.piece_rows};
    return map;
}

isa::TensorMap ConvMaps::input(const std::byte* frame) const {
    return encode_(input_map(tile_, frame, {u64(p_.c_in), u64(p_.w), u64(p_.h)}));
}

isa::TensorMap ConvMaps::filter(const std::byte* packed) const {
    const int64_t bytes = element_bytes(tile_.element), taps = p_.filter.q * tile_.side * tile_.side;
    const int64_t channels = bytes == 1 ? p_.c_in : cuda::padded_channels(p_.c_in);
    TensorMapDesc map =
        filter_map(tile_, packed, {u64(channels), u64(p_.filter.k), u64(taps), u64(walk_of(p_).parities)});
    const int64_t tap = channels * bytes;
    map.stride_bytes = {u64(taps * tap), u64(tap), u64(p_.filter.k * taps * tap)};
    return encode_(map);
}

void ConvMaps::stored(ConvParams& params, const conv::ConvTensors& tensors, int64_t first, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
        const size_t frame = u64(first + i);
        if (!tensors.output.empty()) params.output[i] = stored_frame(tensors.output[frame], false);
        if (!tensors.residual.empty()) params.residual[i] = stored_frame(tensors.residual[frame], false);
        if (!tensors.normed.empty()) params.normed[i] = stored_frame(tensors.normed[frame], p_.norms_to_bytes());
    }
}

/// {c, px, x, py, y}: the pixels of an upsampled frame by their parities.
isa::TensorMap ConvMaps::stored_frame(const std::byte* frame, bool bytes) const {
    const Walk walk = walk_of(p_);
    const uint64_t by = p_.upsample ? 2 : 1, pixel = u64(p_.filter.k) * (bytes ? 1 : 2), row = u64(p_.w_out()) * pixel;
    const std::array<uint64_t, 5> size{u64(p_.filter.k), by, u64(walk.w), by, u64(walk.h)};
    TensorMapDesc map = bytes ? byte_map(tile_, frame, size) : stored_map(tile_, frame, size);
    map.stride_bytes = {pixel, by * pixel, row, by * row};
    return encode_(map);
}

ConvParams shape_params(const TileShape& tile, const ConvProblem& p, const conv::ParameterAddresses& parameters) {
    const Walk walk = walk_of(p);
    const auto parts = [](int64_t size, uint32_t part) { return u32((size + part - 1) / part); };
    ConvParams params{};
    params.bias = parameters.bias;
    params.gamma = parameters.gamma;
    params.folds = parameters.folds;
    params.zero_point = static_cast<float>(p.normed.zero);
    params.lines = parameters.scales;
    params.start_channels = u32(p.filter.k);
    params.in_h = u32(p.h);
    params.in_w = u32(p.w);
    params.tiles_x = parts(walk.w, tile.columns);
    params.tiles_y = parts(walk.h, tile.rows);
    params.tiles_n = parts(p.filter.k, tile.filters);
    params.parities = u32(walk.parities);
    params.channel_blocks = parts(p.c_in, tile.channels);
    params.pad_top = static_cast<int32_t>(p.pad.top);
    params.pad_left = static_cast<int32_t>(p.pad.left);
    params.flags = conv::epilogue_flags(p);
    params.beta = p.beta;
    params.negative_slope = p.negative_slope;
    params.sqrt_c_out = std::sqrt(static_cast<float>(p.filter.k));
    return params;
}

}  // namespace kinetograph::sm90
