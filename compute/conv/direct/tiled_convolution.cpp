#include <kinetograph/compute/conv/direct/tiled_convolution.hpp>
#include <kinetograph/compute/conv/epilogue.hpp>
#include <kinetograph/compute/conv/row_norm.hpp>

#include <omp.h>

#include <algorithm>

namespace kinetograph::conv::direct {

using tensor::DType;

TiledConvolution::TiledConvolution(accel::Device& device, const ConvProblem& problem, const ConvProblem& products,
                                   std::int64_t rows_a_tile, const char* layout, Weights& weights)
    : Convolution(problem),
      device_(device),
      layout_(layout),
      weights_(&weights),
      products_(products),
      blocking_(choose_blocking(products, rows_a_tile)),
      threads_(omp_get_max_threads()) {
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
    pack_filter(products_, blocking_, product_filter(parameters.filter).data(), packed.memory->data());
    packed.bias.assign(2 * products_.filter.k, 0.0F);
    std::ranges::copy(parameters.bias, packed.bias.begin());
    packed.gamma.assign(parameters.gamma.begin(), parameters.gamma.end());
    return packed;
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

std::int64_t TiledConvolution::output_row_bytes() const {
    return problem().w_out() * problem().filter.k * tensor::bytes_per_element(problem().output.element);
}

TileKernel TiledConvolution::kernel(const ChannelBlock& block) const {
    return tile_kernel(blocking_.arrangement, block.kernel_count, problem().input.element == DType::BF16);
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
    tile.channel_bytes = p.c_in * tensor::bytes_per_element(p.input.element);
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
        p.negative_slope};
    p.output.element == DType::F32 ? finish_f32(span) : finish_bf16(span);
}

void TiledConvolution::norm_row(const Frames& frames, const OutputRow& row) const {
    const ConvProblem& p = problem();
    rms_norm_pixels(address(frames, row), frames.normed[row.frame] + row.y * output_row_bytes(), packed_->gamma.data(),
                    p.w_out(), p.filter.k, p.output.element, p.norm_activation);
}

}  // namespace kinetograph::conv::direct
