#include <kinetograph/compute/conv/direct/tiled_convolution.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/conv/epilogue.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kinetograph::conv::direct {

using tensor::DType;

TiledConvolution::TiledConvolution(accel::Device& device, const ConvProblem& problem, const ConvProblem& products,
                                   std::int64_t rows_a_tile, std::string_view layout, Weights& weights)
    : Convolution(problem),
      device_(device),
      layout_(fmt::format("{} of {}", layout, tensor::to_string(products.input.element))),
      weights_(&weights),
      products_(products),
      blocking_(choose_blocking(products, rows_a_tile)),
      threads_(worker_count()) {
    weights.expect(layout_, packed_bytes());
}

std::uint64_t TiledConvolution::filter_bytes() const {
    return static_cast<std::uint64_t>(blocking_.filter_bytes + 63) / 64 * 64;
}

std::uint64_t TiledConvolution::packed_bytes() const {
    return filter_bytes() +
           static_cast<std::uint64_t>(products_.c_in) * tensor::bytes_per_element(products_.input.element);
}

Result<TiledConvolution::Packed> TiledConvolution::pack_parameters(const ConvParameters& parameters) const {
    Packed packed;
    KG_TRY(packed.memory, device_.allocate("filter", packed_bytes()));
    packed.filter = packed.memory->data();
    packed.zeros = packed.filter + filter_bytes();
    std::vector<float> filter(parameters.filter.begin(), parameters.filter.end());
    if (widens())
        for (float& value : filter) value = tensor::from_bf16(tensor::to_bf16(value));
    pack_filter(products_, blocking_, product_filter(filter).data(), packed.memory->data());
    packed.bias.assign(2 * products_.filter.k, 0.0F);
    std::ranges::copy(parameters.bias, packed.bias.begin());
    packed.norm = RowNorm::of(problem(), parameters);
    if (problem().multiplies_integers()) pack_integers(parameters, packed);
    return packed;
}

void TiledConvolution::pack_integers(const ConvParameters& parameters, Packed& packed) const {
    const ConvProblem& p = problem();
    std::memset(packed.memory->data() + filter_bytes(), p.input.zero, static_cast<std::size_t>(p.c_in));
    for (std::int64_t k = 0; k < p.filter.k; ++k)
        packed.factors.push_back(p.product_scale() * (p.channel_scales ? parameters.scales[k] : 1.0F));
    const std::int64_t rows = p.filter.q * p.filter.r, taps = p.filter.s;
    packed.offsets.assign(static_cast<std::size_t>(rows * p.filter.k), 0);
    const float* filter = parameters.filter.data();
    for (std::int64_t k = 0; k < p.filter.k; ++k)
        for (std::int64_t c = 0; c < p.c_in; ++c)
            for (std::int64_t row = 0; row < rows; ++row)
                for (std::int64_t s = 0; s < taps; ++s, ++filter)
                    packed.offsets[row * p.filter.k + k] +=
                        p.input.zero * static_cast<std::int32_t>(rounded_element(*filter, Element::I8));
}

Result<void> TiledConvolution::pack() {
    if (weights_ == nullptr) return {};
    KG_TRY(packed_, weights_->packed<Packed>(
                        layout_, [&](const ConvParameters& parameters) { return pack_parameters(parameters); }));
    weights_ = nullptr;
    return {};
}

std::int64_t TiledConvolution::input_row_bytes() const {
    return problem().w * problem().c_in * tensor::bytes_per_element(problem().input.element);
}

std::int64_t TiledConvolution::multiplied_row_bytes() const {
    return problem().w * problem().c_in * tensor::bytes_per_element(products_.input.element);
}

std::int64_t TiledConvolution::output_row_bytes() const {
    return problem().w_out() * problem().filter.k * tensor::bytes_per_element(problem().output.element);
}

TileKernel TiledConvolution::kernel(const ChannelBlock& block) const {
    return tile_kernel(blocking_.arrangement, block.kernel_count, products_.input.element);
}

Result<void> TiledConvolution::enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                               const ConvTensors& tensors) const {
    Frames frames{{tensors.input.begin(), tensors.input.end()},
                  {tensors.output.begin(), tensors.output.end()},
                  {tensors.residual.begin(), tensors.residual.end()},
                  {tensors.normed.begin(), tensors.normed.end()},
                  tensors.workspace};
    if (problem().beta == 0) frames.residual.clear();
    stream.enqueue(pass_name, [this, frames = std::move(frames)]() -> Result<void> {
        run(frames);
        return {};
    });
    return {};
}

TiledConvolution::Columns TiledConvolution::all_columns() const {
    return {.first_tap = -problem().pad.left, .count = problem().w_out()};
}

Tile TiledConvolution::tile_of_row() const {
    const ConvProblem& p = problem();
    Tile tile;
    tile.taps = products_.filter.s;
    tile.tap_step = p.dilation.w;
    tile.pixel_step = p.stride.w;
    tile.width = p.w;
    tile.channel_bytes = p.c_in * tensor::bytes_per_element(products_.input.element);
    tile.zeros = packed_->zeros;
    return tile;
}

void TiledConvolution::run_tile(const TileKernel& tile_kernel, Tile& tile, const Columns& columns,
                                std::int64_t x) const {
    tile.first_column = x * tile.pixel_step + columns.first_tap;
    tile.pixels = std::min<std::int64_t>(tile_kernel.pixels, columns.count - x);
    tile_kernel.run(tile);
}

std::byte* TiledConvolution::address(const Frames& frames, const OutputRow& row) const {
    if (problem().norm == Norm::Instead) return row.bare;
    return frames.output[row.frame] + row.y * output_row_bytes();
}

void TiledConvolution::finish_tile(const Frames& frames, const OutputRow& row, const Columns& columns, std::int64_t x,
                                   const ChannelBlock& block, const Tile& tile) const {
    const ConvProblem& p = problem();
    const std::int64_t column = columns.first + x * columns.step;
    const std::int64_t at = (column * p.filter.k + block.first) * tensor::bytes_per_element(p.output.element);
    const EpilogueSpan span{
        tile.sums,
        block.sums_pitch,
        tile.pixels,
        block.count,
        packed_->bias.data() + (p.bias ? 0 : p.filter.k) + block.first,
        frames.residual.empty() ? nullptr : frames.residual[row.frame] + row.y * output_row_bytes() + at,
        address(frames, row) + at,
        columns.step * p.filter.k,
        p.beta,
        p.activation,
        p.negative_slope,
        packed_->factors.empty() ? nullptr : packed_->factors.data() + block.first,
        row.offsets == nullptr ? nullptr : row.offsets + block.first};
    p.output.element == DType::F32 ? finish_f32(span) : finish_bf16(span);
}

void TiledConvolution::norm_row(const Frames& frames, const OutputRow& row) const {
    const ConvProblem& p = problem();
    const std::int64_t normed_row_bytes = p.w_out() * p.filter.k * element_bytes(p.normed.element);
    packed_->norm.run(address(frames, row), frames.normed[row.frame] + row.y * normed_row_bytes, p.w_out());
}

}  // namespace kinetograph::conv::direct
