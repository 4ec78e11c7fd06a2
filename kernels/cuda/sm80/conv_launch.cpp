#include <algorithm>
#include <cassert>
#include <cmath>
#include <kinetograph/kernels/cuda/sm80/conv_filter.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_launch.hpp>

namespace kinetograph::sm80 {
namespace {

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }
int32_t i32(int64_t value) { return static_cast<int32_t>(value); }

uint32_t flags_of(const ConvEpilogue& epilogue, const ConvAddresses& addresses) {
    uint32_t flags = 0;
    if (addresses.bias != nullptr) flags |= kConvBias;
    if (epilogue.silu) flags |= kConvSilu;
    if (!addresses.residual.empty()) flags |= kConvResidual;
    if (!addresses.addend.empty()) flags |= kConvAddend;
    if (epilogue.norm != Norm::Instead) flags |= kConvOutput;
    if (epilogue.norm != Norm::None) flags |= kConvNorm;
    if (epilogue.norm_silu) flags |= kConvNormSilu;
    if (epilogue.float32) flags |= kConvFloat32;
    return flags;
}

/// All but the frames.
ConvParams shape_params(const ConvConfig& config, const ConvShape& shape, const ConvEpilogue& epilogue,
                        const ConvAddresses& addresses) {
    const bool sub_pixel = shape.upsample == Upsample::SubPixel;
    const int64_t seen = shape.upsample == Upsample::Nearest2x ? 2 : 1;
    ConvParams params{};
    params.filter = addresses.filter;
    params.bias = addresses.bias;
    params.gamma = addresses.gamma;
    params.h = u32(seen * shape.h);
    params.w = u32(seen * shape.w);
    params.w_stored = u32(shape.w);
    params.upsample = u32(seen - 1);
    params.c_in = u32(shape.c_in);
    params.c_out = u32(shape.c_out);
    params.c_padded = u32(padded_channels(shape.c_in));
    params.q = u32(shape.q);
    params.r = u32(sub_pixel ? 2 : shape.r);
    params.s = u32(sub_pixel ? 2 : shape.s);
    params.w_out = u32(sub_pixel ? shape.w : shape.w_out());
    params.pixels = u32(sub_pixel ? shape.h * shape.w : shape.h_out() * shape.w_out());
    params.parities = sub_pixel ? 4 : 1;
    params.n_tiles = u32((shape.c_out + config.bn - 1) / config.bn);
    params.stride_h = i32(shape.stride.h);
    params.stride_w = i32(shape.stride.w);
    params.dilation_h = i32(shape.dilation.h);
    params.dilation_w = i32(shape.dilation.w);
    params.pad_top = i32(shape.pad_front.h);
    params.pad_left = i32(shape.pad_front.w);
    params.flags = flags_of(epilogue, addresses);
    params.beta = epilogue.beta;
    params.sqrt_c_out = std::sqrt(static_cast<float>(shape.c_out));
    return params;
}

/// The input frames under the taps of output frame `frame`; null where they meet the padding.
void place_taps(const ConvShape& shape, const ConvAddresses& addresses, int64_t frame, const void** taps) {
    const int64_t sample = frame / shape.d_out(), t = frame % shape.d_out();
    for (int64_t q = 0; q < shape.q; ++q) {
        const int64_t from = t * shape.stride.d + q * shape.dilation.d - shape.pad_front.d;
        taps[q] = from < 0 || from >= shape.d ? nullptr : addresses.input[static_cast<size_t>(sample * shape.d + from)];
    }
}

}  // namespace

std::vector<ConvLaunch> plan_conv(const ConvConfig& config, const ConvShape& shape, const ConvEpilogue& epilogue,
                                  const ConvAddresses& addresses) {
    std::vector<ConvLaunch> launches;
    if (shape.empty()) return launches;
    const int64_t frames = shape.frames_out();
    assert(shape.q <= kMaxConvFrameTaps && addresses.input.size() == static_cast<size_t>(shape.n * shape.d));
    assert(addresses.output.size() == static_cast<size_t>(epilogue.norm == Norm::Instead ? 0 : frames));
    assert(epilogue.norm == Norm::None || (config.bn >= shape.c_out && addresses.gamma != nullptr));

    const ConvParams common = shape_params(config, shape, epilogue, addresses);
    const int64_t room = std::min<int64_t>(kMaxConvFrames, kMaxConvFrameTaps / shape.q);
    launches.reserve(static_cast<size_t>((frames + room - 1) / room));
    for (int64_t first = 0; first < frames; first += room) {
        const int64_t count = std::min(room, frames - first);
        ConvLaunch& launch = launches.emplace_back();
        launch.params = common;
        for (int64_t i = 0; i < count; ++i) {
            const auto frame = static_cast<size_t>(first + i);
            place_taps(shape, addresses, first + i, launch.params.input + i * shape.q);
            if (!addresses.output.empty()) launch.params.output[i] = addresses.output[frame];
            if (!addresses.residual.empty()) launch.params.residual[i] = addresses.residual[frame];
            if (!addresses.addend.empty()) launch.params.addend[i] = addresses.addend[frame];
            if (!addresses.normed.empty()) launch.params.normed[i] = addresses.normed[frame];
        }
        const uint32_t m_tiles = (common.pixels + config.bm - 1) / config.bm;
        launch.grid[0] = m_tiles * common.n_tiles;
        launch.grid[1] = u32(count) * common.parities;
        launch.threads = threads(config);
        launch.shared_bytes = shared_bytes(config);
    }
    return launches;
}

}  // namespace kinetograph::sm80
