#include <algorithm>
#include <cassert>
#include <cstring>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/sm100/im2col_product.hpp>

namespace kinetograph::sm100 {
namespace {

constexpr uint32_t kRowElements =
    32;  // whole 16-byte parts of every element type; TMA fills the rest of a swizzle row with zeros
constexpr uint32_t kFilterMultiple = 8;  // rows of the sums are whole 16 bytes
constexpr uint64_t kTileRows = 128;

using conv::ConvProblem;
using conv::u32;

Im2colGeometry geometry_of(const ConvProblem& p) {
    return {.d = u32(p.d),
            .h = u32(p.h),
            .w = u32(p.w),
            .c_in = u32(p.c_in),
            .d_out = u32(p.d_out()),
            .h_out = u32(p.h_out()),
            .w_out = u32(p.w_out()),
            .c_out = u32(p.filter.k),
            .q = u32(p.filter.q),
            .r = u32(p.filter.r),
            .s = u32(p.filter.s),
            .stride_d = u32(p.stride.d),
            .stride_h = u32(p.stride.h),
            .stride_w = u32(p.stride.w),
            .dilation_d = u32(p.dilation.d),
            .dilation_h = u32(p.dilation.h),
            .dilation_w = u32(p.dilation.w),
            .pad_d = u32(p.pad.front),
            .pad_h = u32(p.pad.top),
            .pad_w = u32(p.pad.left),
            .group_channels = u32(p.c_in / p.groups),
            .group_filters = u32(p.filter.k / p.groups)};
}

}  // namespace

Im2colSizes im2col_sizes(const ConvProblem& p, uint64_t workspace_limit) {
    assert(p.c_in % p.groups == 0 && p.filter.k % p.groups == 0);
    Im2colSizes sizes;
    sizes.k = static_cast<uint32_t>(p.taps() * p.c_in / p.groups);
    sizes.k_padded = conv::round_up(sizes.k, kRowElements);
    sizes.filters = static_cast<uint32_t>(p.filter.k / p.groups);
    sizes.padded_filters = conv::round_up(sizes.filters, kFilterMultiple);
    const uint64_t row = uint64_t{sizes.k_padded} * element_bytes(p.input.element) + sizes.padded_filters * 4ull;
    const uint64_t fitting = std::max(workspace_limit / row / kTileRows, uint64_t{1}) * kTileRows;
    sizes.rows_per_chunk = std::min(fitting, static_cast<uint64_t>(p.frames_out() * p.pixels_out()));
    sizes.matrix_bytes = sizes.rows_per_chunk * sizes.k_padded * element_bytes(p.input.element);
    sizes.sums_bytes = sizes.rows_per_chunk * sizes.padded_filters * 4;
    return sizes;
}

std::vector<std::byte> pack_im2col_filter(const ConvProblem& p, std::span<const std::byte> filter) {
    const Im2colSizes sizes = im2col_sizes(p, 0);
    const size_t bytes = element_bytes(p.input.element), row = sizes.k * bytes, padded_row = sizes.k_padded * bytes;
    assert(filter.size() == static_cast<size_t>(p.filter.k) * row);
    std::vector<std::byte> packed(static_cast<size_t>(p.groups) * sizes.padded_filters * padded_row);
    for (size_t f = 0; f < static_cast<size_t>(p.filter.k); ++f) {
        const size_t place = f / sizes.filters * sizes.padded_filters + f % sizes.filters;
        std::memcpy(packed.data() + place * padded_row, filter.data() + f * row, row);
    }
    return packed;
}

ConvProblem matrix_product(int64_t rows, int64_t columns, int64_t filters, Element element) {
    ConvProblem product;
    product.h = 1;
    product.w = rows;
    product.c_in = columns;
    product.filter.k = filters;
    product.input = product.weight = element;
    return product;
}

std::vector<Im2colStep> im2col_steps(const Conv2dConfig& base, const ConvProblem& p, const Im2colSizes& sizes,
                                     const Im2colTensors& tensors) {
    std::vector<Im2colStep> steps;
    if (p.empty()) return steps;
    const Conv2dConfig config = im2col_config(base);
    const auto pixels = static_cast<uint64_t>(p.frames_out() * p.pixels_out()),
               groups = static_cast<uint64_t>(p.groups);
    const uint64_t filter_bytes = uint64_t{sizes.padded_filters} * sizes.k_padded * element_bytes(p.input.element);
    steps.reserve((pixels + sizes.rows_per_chunk - 1) / sizes.rows_per_chunk * groups);
    for (uint64_t first = 0; first < pixels; first += sizes.rows_per_chunk) {
        const uint64_t rows = std::min(sizes.rows_per_chunk, pixels - first);
        for (uint64_t group = 0; group < groups; ++group) {
            const auto channel = static_cast<uint32_t>(group) * static_cast<uint32_t>(p.c_in / p.groups);
            const ConvProblem product =
                matrix_product(static_cast<int64_t>(rows), sizes.k_padded, sizes.padded_filters, p.input.element);
            steps.push_back(
                {.gather = {tensors.activation, tensors.matrix, first, rows, sizes.k, sizes.k_padded, channel,
                            geometry_of(p)},
                 .product = plan_launch(config, product,
                                        {.activation = {&tensors.matrix, 1},
                                         .filter = static_cast<std::byte*>(tensors.filter) + group * filter_bytes,
                                         .output = {&tensors.sums, 1}}),
                 .home = {.sums = static_cast<const float*>(tensors.sums),
                          .padded_filters = sizes.padded_filters,
                          .first_row = first,
                          .rows = rows,
                          .first_filter = static_cast<uint32_t>(group) * sizes.filters,
                          .group_filters = sizes.filters,
                          .c_out = static_cast<uint32_t>(p.filter.k),
                          .bias = nullptr,
                          .scales = nullptr,
                          .source = tensors.source,
                          .output = tensors.output,
                          .alpha = 1,
                          .beta = 0,
                          .function = {}}});
        }
    }
    return steps;
}

}  // namespace kinetograph::sm100
