#include <algorithm>
#include <cassert>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>

namespace kinetograph::sm100 {
namespace {

using isa::MapMode;
using isa::TensorMapDesc;

uint32_t rounded_up(int64_t value, uint32_t tile, uint32_t multiple) {
    const int64_t tiles = (value + tile - 1) / tile;
    return static_cast<uint32_t>((tiles + multiple - 1) / multiple * multiple);
}

/// Corners in w, h, d order: from -pad_front to the start of the last filter position.
TensorMapDesc activation_map(const Conv2dConfig& config, const Conv2dProblemShape& shape, void* address) {
    const auto at = [](int64_t value) { return static_cast<uint64_t>(value); };
    const bool volume = config.activation == Activation::Volume3d;
    const int64_t images = config.activation == Activation::Window3d ? 1 : volume ? shape.n : shape.n * shape.d;
    TensorMapDesc map = volume ? isa::dense_map(MapMode::Im2col, shape.element, address, 5,
                                                {at(shape.c_in), at(shape.w), at(shape.h), at(shape.d), at(images)})
                               : isa::dense_map(MapMode::Im2col, shape.element, address, 4,
                                                {at(shape.c_in), at(shape.w), at(shape.h), at(images)});
    const auto upper = [](int64_t pad_back, int64_t taps, int64_t dilation) {
        return static_cast<int32_t>(pad_back - (taps - 1) * dilation);
    };
    map.swizzle = config.swizzle_a;
    map.element_stride = {1, static_cast<uint32_t>(shape.stride.w), static_cast<uint32_t>(shape.stride.h),
                          volume ? static_cast<uint32_t>(shape.stride.d) : 1u, 1};
    map.lower_corner = {static_cast<int32_t>(-shape.pad_front.w), static_cast<int32_t>(-shape.pad_front.h),
                        static_cast<int32_t>(-shape.pad_front.d)};
    map.upper_corner = {upper(shape.pad_back.w, shape.s, shape.dilation.w),
                        upper(shape.pad_back.h, shape.r, shape.dilation.h),
                        upper(shape.pad_back.d, shape.q, shape.dilation.d)};
    map.channels_per_pixel = config.block.k;
    map.pixels_per_column = config.block.m / config.cluster.y;
    return map;
}

TensorMapDesc filter_map(const Conv2dConfig& config, const Conv2dProblemShape& shape, const Conv2dTensors& tensors) {
    const int64_t stored = tensors.filter_taps != 0 ? tensors.filter_taps : shape.taps();
    TensorMapDesc map = isa::dense_map(
        MapMode::Tiled, shape.element, tensors.filter, 3,
        {static_cast<uint64_t>(shape.c_in), static_cast<uint64_t>(shape.taps()), static_cast<uint64_t>(shape.c_out)});
    map.stride_bytes[1] = static_cast<uint64_t>(stored * shape.c_in) * element_bytes(shape.element);
    map.swizzle = config.swizzle_b;
    map.box = {config.block.k, 1, config.block.n / (config.cluster.x / config.cta_group)};
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

Conv2dLaunch plan_launch(const Conv2dConfig& config, const Conv2dProblemShape& shape, const Conv2dTensors& tensors) {
    Conv2dLaunch launch;
    if (shape.empty()) return launch;
    const bool window = config.activation == Activation::Window3d;
    const int64_t groups = window ? shape.n * shape.d_out() : 1, m = shape.pixels() / groups;
    assert(tensors.activation.size() == static_cast<size_t>(window ? shape.n * shape.d : 1));
    assert(tensors.output.size() == static_cast<size_t>(groups));

    launch.grid[0] = rounded_up(m, config.block.m, config.cluster.x);
    launch.grid[1] = rounded_up(shape.c_out, config.mma.n, config.cluster.y);
    launch.grid[2] = static_cast<uint32_t>(groups);
    launch.cluster[0] = config.cluster.x;
    launch.cluster[1] = config.cluster.y;
    launch.threads = kThreads;
    launch.shared_bytes = shared_bytes(config);

    const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
    const auto i32 = [](int64_t value) { return static_cast<int32_t>(value); };
    launch.geometry = {.m = u32(m),
                       .c_in = u32(shape.c_in),
                       .c_out = u32(shape.c_out),
                       .w_out = u32(shape.w_out()),
                       .h_out = u32(shape.h_out()),
                       .d_out = u32(shape.d_out()),
                       .frames_in = u32(shape.d),
                       .q = u32(shape.q),
                       .r = u32(shape.r),
                       .s = u32(shape.s),
                       .stride_w = i32(shape.stride.w),
                       .stride_h = i32(shape.stride.h),
                       .stride_d = i32(shape.stride.d),
                       .lower_w = i32(-shape.pad_front.w),
                       .lower_h = i32(-shape.pad_front.h),
                       .lower_d = i32(-shape.pad_front.d),
                       .dilation_w = u32(shape.dilation.w),
                       .dilation_h = u32(shape.dilation.h),
                       .dilation_d = u32(shape.dilation.d),
                       .cluster_columns = launch.grid[0] / config.cluster.x,
                       .cluster_rows = launch.grid[1] / config.cluster.y,
                       .panel = std::min(tensors.panel, launch.grid[0] / config.cluster.x)};

    for (void* frame : tensors.activation) launch.activation.push_back(activation_map(config, shape, frame));
    launch.filter = filter_map(config, shape, tensors);
    for (void* frame : tensors.output) {
        launch.output.push_back(
            tile_map(config.output, config.swizzle_c, config.output_tile.n, warp_rows(config), shape.c_out, m, frame));
    }
    if (config.source == Source::None) return launch;
    assert(tensors.source.size() == tensors.output.size());
    for (void* frame : tensors.source) {
        launch.source.push_back(tile_map(config.source_value, source_swizzle(config), config.output_tile.n,
                                         config.block.m, shape.c_out, m, frame));
    }
    return launch;
}

}  // namespace kinetograph::sm100
