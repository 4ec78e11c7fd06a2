#include <cmath>
#include <kinetograph/kernels/conv/epilogue_flags.hpp>
#include <kinetograph/kernels/cuda/sm80/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_maps.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::ConvProblem;
using isa::TensorMapDesc;

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }
uint64_t u64(int64_t value) { return static_cast<uint64_t>(value); }

}  // namespace

isa::TensorMap ConvMaps::input(const std::byte* frame) const {
    TensorMapDesc map = dense(frame, 3, {u64(p_.c_in), u64(p_.w), u64(p_.h)});
    map.swizzle = swizzle(c_);
    map.box = {c_.channels, halo_columns(c_), halo_rows(c_)};
    return encode_(map);
}

isa::TensorMap ConvMaps::filter(const std::byte* packed) const {
    const int64_t channels = sm80::padded_channels(p_.c_in), taps = p_.filter.q * c_.side * c_.side;
    TensorMapDesc map = dense(packed, 4, {u64(channels), u64(p_.filter.k), u64(taps), u64(walk_of(p_).parities)});
    map.stride_bytes = {u64(taps * channels * 2), u64(channels * 2), u64(p_.filter.k * taps * channels * 2)};
    map.swizzle = swizzle(c_);
    map.box = {c_.channels, c_.bn, c_.stage_taps, 1};
    return encode_(map);
}

void ConvMaps::stored(ConvParams& params, const conv::ConvTensors& tensors, int64_t first, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
        const size_t frame = u64(first + i);
        if (!tensors.output.empty()) params.output[i] = stored_frame(tensors.output[frame]);
        if (!tensors.residual.empty()) params.residual[i] = stored_frame(tensors.residual[frame]);
        if (!tensors.normed.empty()) params.normed[i] = stored_frame(tensors.normed[frame]);
    }
}

/// {c, px, x, py, y}: the pixels of an upsampled frame by their parities.
isa::TensorMap ConvMaps::stored_frame(const std::byte* frame) const {
    const Walk walk = walk_of(p_);
    const uint64_t by = p_.upsample ? 2 : 1, pixel = u64(p_.filter.k) * 2, row = u64(p_.w_out()) * pixel;
    TensorMapDesc map = dense(frame, 5, {u64(p_.filter.k), by, u64(walk.w), by, u64(walk.h)});
    map.stride_bytes = {pixel, by * pixel, row, by * row};
    map.swizzle = staging_swizzle(c_);
    map.box = {piece_channels(c_), 1, kBlockSide, 1, kBlockSide};
    return encode_(map);
}

TensorMapDesc ConvMaps::dense(const std::byte* address, uint32_t rank, const std::array<uint64_t, 5>& size) const {
    return isa::dense_map(isa::MapMode::Tiled, c_.element, const_cast<std::byte*>(address), rank, size);
}

ConvParams shape_params(const ConvConfig& c, const ConvProblem& p, const conv::ParameterAddresses& parameters) {
    const Walk walk = walk_of(p);
    const auto tiles = [](int64_t size, uint32_t tile) { return u32((size + tile - 1) / tile); };
    ConvParams params{};
    params.bias = parameters.bias;
    params.gamma = parameters.gamma;
    params.tiles_x = tiles(walk.w, tile_columns(c));
    params.tiles_y = tiles(walk.h, tile_rows(c));
    params.tiles_n = tiles(p.filter.k, c.bn);
    params.parities = u32(walk.parities);
    params.channel_blocks = tiles(p.c_in, c.channels);
    params.pad_top = static_cast<int32_t>(p.pad.top);
    params.pad_left = static_cast<int32_t>(p.pad.left);
    params.flags = conv::epilogue_flags(p);
    params.beta = p.beta;
    params.sqrt_c_out = std::sqrt(static_cast<float>(p.filter.k));
    return params;
}

}  // namespace kinetograph::sm90
