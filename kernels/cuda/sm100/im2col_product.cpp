#include <algorithm>
#include <cassert>
#include <cstring>
#include <kinetograph/kernels/cuda/sm100/im2col_product.hpp>

namespace kinetograph::sm100 {
namespace {

constexpr uint32_t kRowElements =
    32;  // a multiple that every element's swizzle rows and 16-byte parts divide or zero-fill
constexpr uint32_t kFilterMultiple = 8;  // rows of the sums are whole 16 bytes
constexpr uint64_t kTileRows = 128;

uint32_t padded(uint32_t value, uint32_t multiple) { return (value + multiple - 1) / multiple * multiple; }

Im2colGeometry geometry_of(const Conv2dProblemShape& p) {
    const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
    return {.d = u32(p.d),
            .h = u32(p.h),
            .w = u32(p.w),
            .c_in = u32(p.c_in),
            .d_out = u32(p.d_out()),
            .h_out = u32(p.h_out()),
            .w_out = u32(p.w_out()),
            .c_out = u32(p.c_out),
            .q = u32(p.q),
            .r = u32(p.r),
            .s = u32(p.s),
            .stride_d = u32(p.stride.d),
            .stride_h = u32(p.stride.h),
            .stride_w = u32(p.stride.w),
            .dilation_d = u32(p.dilation.d),
            .dilation_h = u32(p.dilation.h),
            .dilation_w = u32(p.dilation.w),
            .pad_d = u32(p.pad_front.d),
            .pad_h = u32(p.pad_front.h),
            .pad_w = u32(p.pad_front.w),
            .group_channels = u32(p.c_in / p.groups),
            .group_filters = u32(p.c_out / p.groups)};
}

}  // namespace

Im2colSizes im2col_sizes(const Conv2dProblemShape& shape, uint64_t workspace_limit) {
    assert(shape.c_in % shape.groups == 0 && shape.c_out % shape.groups == 0);
    Im2colSizes sizes;
    sizes.k = static_cast<uint32_t>(shape.taps() * shape.c_in / shape.groups);
    sizes.k_padded = padded(sizes.k, kRowElements);
    sizes.filters = static_cast<uint32_t>(shape.c_out / shape.groups);
    sizes.padded_filters = padded(sizes.filters, kFilterMultiple);
    const uint64_t row = uint64_t{sizes.k_padded} * element_bytes(shape.element) + sizes.padded_filters * 4ull;
    const uint64_t fitting = std::max(workspace_limit / row / kTileRows, uint64_t{1}) * kTileRows;
    sizes.rows_per_chunk = std::min(fitting, static_cast<uint64_t>(shape.pixels()));
    sizes.matrix_bytes = sizes.rows_per_chunk * sizes.k_padded * element_bytes(shape.element);
    sizes.sums_bytes = sizes.rows_per_chunk * sizes.padded_filters * 4;
    return sizes;
}

std::vector<std::byte> pack_im2col_filter(const Conv2dProblemShape& shape, std::span<const std::byte> filter) {
    const Im2colSizes sizes = im2col_sizes(shape, 0);
    const size_t bytes = element_bytes(shape.element), row = sizes.k * bytes, padded_row = sizes.k_padded * bytes;
    assert(filter.size() == static_cast<size_t>(shape.c_out) * row);
    std::vector<std::byte> packed(static_cast<size_t>(shape.groups) * sizes.padded_filters * padded_row);
    for (size_t f = 0; f < static_cast<size_t>(shape.c_out); ++f) {
        const size_t place = f / sizes.filters * sizes.padded_filters + f % sizes.filters;
        std::memcpy(packed.data() + place * padded_row, filter.data() + f * row, row);
    }
    return packed;
}

std::vector<Im2colStep> im2col_steps(const Conv2dConfig& base, const Conv2dProblemShape& shape,
                                     const Im2colSizes& sizes, const Im2colTensors& tensors) {
    std::vector<Im2colStep> steps;
    if (shape.empty()) return steps;
    const Conv2dConfig config = im2col_config(base);
    const auto pixels = static_cast<uint64_t>(shape.pixels()), groups = static_cast<uint64_t>(shape.groups);
    const uint64_t filter_bytes = uint64_t{sizes.padded_filters} * sizes.k_padded * element_bytes(shape.element);
    steps.reserve((pixels + sizes.rows_per_chunk - 1) / sizes.rows_per_chunk * groups);
    for (uint64_t first = 0; first < pixels; first += sizes.rows_per_chunk) {
        const uint64_t rows = std::min(sizes.rows_per_chunk, pixels - first);
        for (uint64_t group = 0; group < groups; ++group) {
            const auto channel = static_cast<uint32_t>(group) * static_cast<uint32_t>(shape.c_in / shape.groups);
            const Conv2dProblemShape product{.h = 1,
                                             .w = static_cast<int64_t>(rows),
                                             .c_in = sizes.k_padded,
                                             .c_out = sizes.padded_filters,
                                             .element = shape.element};
            steps.push_back(
                {.gather = {tensors.activation, tensors.matrix, first, rows, sizes.k, sizes.k_padded, channel,
                            geometry_of(shape)},
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
                          .c_out = static_cast<uint32_t>(shape.c_out),
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
