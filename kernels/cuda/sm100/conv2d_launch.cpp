#include <algorithm>
#include <cassert>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>

namespace kinetograph::sm100 {
namespace {

using conv::ConvProblem;
using conv::u32;
using isa::MapMode;
using isa::TensorMapDesc;

uint32_t rounded_up(int64_t value, uint32_t tile, uint32_t multiple) {
    const int64_t tiles = (value + tile - 1) / tile;
    return static_cast<uint32_t>((tiles + multiple - 1) / multiple * multiple);
}

/// Corners in w, h, d order. They bound the position of the filter's first tap: at least -pad_front, and at most
/// pad_back - (taps - 1) * dilation from the axis' end.
TensorMapDesc activation_map(const Conv2dConfig& config, const ConvProblem& p, void* address) {
    const auto at = [](int64_t value) { return static_cast<uint64_t>(value); };
    const bool volume = config.activation == Activation::Volume3d;
    const int64_t images = config.activation == Activation::Window3d ? 1 : volume ? p.n : p.frames_in();
    TensorMapDesc map = volume ? isa::dense_map(MapMode::Im2col, p.input.element, address, 5,
                                                {at(p.c_in), at(p.w), at(p.h), at(p.d), at(images)})
                               : isa::dense_map(MapMode::Im2col, p.input.element, address, 4,
                                                {at(p.c_in), at(p.w), at(p.h), at(images)});
    const auto upper = [](int64_t pad_back, int64_t taps, int64_t dilation) {
        return static_cast<int32_t>(pad_back - (taps - 1) * dilation);
    };
    map.swizzle = config.swizzle_a;
    map.element_stride = {1, static_cast<uint32_t>(p.stride.w), static_cast<uint32_t>(p.stride.h),
                          volume ? static_cast<uint32_t>(p.stride.d) : 1u, 1};
    map.lower_corner = {static_cast<int32_t>(-p.pad.left), static_cast<int32_t>(-p.pad.top),
                        static_cast<int32_t>(-p.pad.front)};
    map.upper_corner = {upper(p.pad.right, p.filter.s, p.dilation.w), upper(p.pad.bottom, p.filter.r, p.dilation.h),
                        upper(p.pad.back, p.filter.q, p.dilation.d)};
    map.channels_per_pixel = span_elements(config, config.swizzle_a);
    map.pixels_per_column = config.block.m / config.cluster.y;
    return map;
}

TensorMapDesc filter_map(const Conv2dConfig& config, const ConvProblem& p, const Conv2dTensors& tensors) {
    const int64_t stored = tensors.filter_taps != 0 ? tensors.filter_taps : p.taps();
    TensorMapDesc map = isa::dense_map(
        MapMode::Tiled, p.weight.element, tensors.filter, 3,
        {static_cast<uint64_t>(p.c_in), static_cast<uint64_t>(p.taps()), static_cast<uint64_t>(p.filter.k)});
    map.stride_bytes[1] = static_cast<uint64_t>(stored * p.c_in) * element_bytes(p.weight.element);
    map.swizzle = config.swizzle_b;
    map.box = {span_elements(config, config.swizzle_b), 1, config.block.n / (config.cluster.x / config.cta_group)};
    return map;
}

TensorMapDesc tile_map(Element value, isa::Swizzle swizzle, uint32_t columns, uint32_t rows, int64_t c_out,
                       int64_t pixels, void* address) {
    TensorMapDesc map = isa::dense_map(MapMode::Tiled, value, address, 2,
                                       {static_cast<uint64_t>(c_out), static_cast<uint64_t>(pixels)});
    map.swizzle = swizzle;
    map.box = {columns, rows};
    return map;
}

}  // namespace

Conv2dLaunch plan_launch(const Conv2dConfig& config, const ConvProblem& p, const Conv2dTensors& tensors) {
    Conv2dLaunch launch;
    if (p.empty()) return launch;
    const bool window = config.activation == Activation::Window3d;
    const int64_t groups = window ? p.frames_out() : 1, m = p.frames_out() * p.pixels_out() / groups;
    assert(tensors.activation.size() == static_cast<size_t>(window ? p.frames_in() : 1));
    assert(tensors.output.size() == static_cast<size_t>(groups));

    launch.grid[0] = rounded_up(m, config.block.m, config.cluster.x);
    launch.grid[1] = rounded_up(p.filter.k, config.mma.n, config.cluster.y);
    launch.grid[2] = static_cast<uint32_t>(groups);
    launch.cluster[0] = config.cluster.x;
    launch.cluster[1] = config.cluster.y;
    launch.threads = kThreads;
    launch.shared_bytes = shared_bytes(config);

    const auto i32 = [](int64_t value) { return static_cast<int32_t>(value); };
    launch.geometry = {.m = u32(m),
                       .c_in = u32(p.c_in),
                       .c_out = u32(p.filter.k),
                       .w_out = u32(p.w_out()),
                       .h_out = u32(p.h_out()),
                       .d_out = u32(p.d_out()),
                       .frames_in = u32(p.d),
                       .q = u32(p.filter.q),
                       .r = u32(p.filter.r),
                       .s = u32(p.filter.s),
                       .stride_w = i32(p.stride.w),
                       .stride_h = i32(p.stride.h),
                       .stride_d = i32(p.stride.d),
                       .lower_w = i32(-p.pad.left),
                       .lower_h = i32(-p.pad.top),
                       .lower_d = i32(-p.pad.front),
                       .dilation_w = u32(p.dilation.w),
                       .dilation_h = u32(p.dilation.h),
                       .dilation_d = u32(p.dilation.d),
                       .cluster_columns = launch.grid[0] / config.cluster.x,
                       .cluster_rows = launch.grid[1] / config.cluster.y,
                       .panel = std::min(tensors.panel, launch.grid[0] / config.cluster.x)};

    for (void* frame : tensors.activation) launch.activation.push_back(activation_map(config, p, frame));
    launch.filter = filter_map(config, p, tensors);
    for (void* frame : tensors.output) {
        launch.output.push_back(
            tile_map(config.output, config.swizzle_c, config.output_tile.n, warp_rows(config), p.filter.k, m, frame));
    }
    if (config.source == Source::None) return launch;
    assert(tensors.source.size() == tensors.output.size());
    for (void* frame : tensors.source) {
        launch.source.push_back(tile_map(config.source_value, source_swizzle(config), config.output_tile.n,
                                         config.block.m, p.filter.k, m, frame));
    }
    return launch;
}

}  // namespace kinetograph::sm100
