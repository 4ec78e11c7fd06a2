#include <kinetograph/kernels/cuda/sm80/plan.hpp>

#include <cmath>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/upsample.hpp>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/cuda/sm80/gates.hpp>
#include <kinetograph/kernels/cuda/sm80/im2col_plan.hpp>
#include <kinetograph/kernels/cuda/sm80/implicit_gemm_plan.hpp>
#include <kinetograph/kernels/cuda/sm80/winograd_plan.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::Chip;
using conv::ConvLaunch;
using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvTensors;
using conv::ParameterAddresses;

using conv::u32;

/// The input frames under the taps of output frame `frame`; null for taps in the padding.
void place_taps(const ConvProblem& p, std::span<const std::byte* const> input, int64_t frame, const void** taps) {
    const int64_t sample = frame / p.d_out(), t = frame % p.d_out();
    for (int64_t q = 0; q < p.filter.q; ++q) {
        const int64_t from = conv::input_frame(p, t, q);
        taps[q] = from < 0 || from >= p.d ? nullptr : input[static_cast<size_t>(sample * p.d + from)];
    }
}

ConvPlan plan_fused_q_slice(const ConvProblem& problem, const Chip& chip) {
    return plan_q_slice(problem, chip, QSliceForm::FusedSums);
}
ConvPlan plan_rounded_q_slice(const ConvProblem& problem, const Chip& chip) {
    return plan_q_slice(problem, chip, QSliceForm::RoundedSlices);
}

}  // namespace

std::span<const conv::ConvMethod> methods() {
    static const conv::ConvMethod kMethods[] = {
        {"implicit-gemm-sm80", "implicit GEMM on any NVIDIA GPU since sm_80, frames read in place",
         implicit_gemm_gates(), plan_implicit_gemm},
        {"winograd-time-sm80",
         "two frames at once with two thirds of their multiplications on any NVIDIA GPU since sm_80", winograd_gates(),
         plan_winograd, conv::Rounding::Operands},
        {"q-slice-sm80", "a 2-D implicit GEMM a temporal tap, its epilogue adding fp32 sums", q_slice_gates(),
         plan_fused_q_slice},
        {"q-slice-rounded-sm80", "a 2-D implicit GEMM a temporal tap, its bf16 results added by a pass",
         q_slice_gates(), plan_rounded_q_slice, conv::Rounding::Between},
        {"im2col-sm80", "a matrix of all taps and its product on any NVIDIA GPU since sm_80", im2col_gates(),
         plan_im2col},
    };
    return kMethods;
}

std::span<const conv::ConvModel> models() { return {}; }

std::span<const conv::KnownDevice> devices() {
    static constexpr conv::KnownDevice kDevices[] = {
        {"cuda", "sm_80", "NVIDIA A100", 80ULL << 30U, 108, 163 << 10U, 1.41e9, 2.0e12},
        {"cuda", "sm_86", "NVIDIA GeForce RTX 3090", 24ULL << 30U, 82, 99 << 10U, 1.7e9, 0.94e12},
        {"cuda", "sm_89", "NVIDIA GeForce RTX 4090", 24ULL << 30U, 128, 99 << 10U, 2.52e9, 1.01e12},
        {"cuda", "sm_120", "NVIDIA GeForce RTX 5090", 32ULL << 30U, 170, 99 << 10U, 2.41e9, 1.79e12},
    };
    return kDevices;
}

ConvParams shape_params(const ConvConfig& config, const ConvProblem& p, const ParameterAddresses& parameters) {
    const cuda::Upsample upsample = cuda::upsample_of(p);
    const bool sub_pixel = upsample == cuda::Upsample::SubPixel;
    const int64_t seen = upsample == cuda::Upsample::Nearest2x ? 2 : 1;
    ConvParams params{};
    params.filter = parameters.filter;
    params.bias = parameters.bias;
    params.gamma = parameters.gamma;
    params.h = u32(seen * p.h);
    params.w = u32(seen * p.w);
    params.w_stored = u32(p.w);
    params.upsample = u32(seen - 1);
    params.c_in = u32(p.c_in);
    params.c_out = u32(p.filter.k);
    params.c_padded = u32(cuda::padded_channels(p.c_in));
    params.q = u32(p.filter.q);
    params.r = u32(sub_pixel ? 2 : p.filter.r);
    params.s = u32(sub_pixel ? 2 : p.filter.s);
    params.w_out = u32(sub_pixel ? p.w : p.w_out());
    params.pixels = u32(sub_pixel ? p.h * p.w : p.pixels_out());
    params.parities = sub_pixel ? 4 : 1;
    params.n_tiles = u32((p.filter.k + config.bn - 1) / config.bn);
    params.stride_h = i32(p.stride.h);
    params.stride_w = i32(p.stride.w);
    params.dilation_h = i32(p.dilation.h);
    params.dilation_w = i32(p.dilation.w);
    params.pad_top = i32(p.pad.top);
    params.pad_left = i32(p.pad.left);
    params.beta = p.beta;
    params.negative_slope = p.negative_slope;
    params.sqrt_c_out = std::sqrt(static_cast<float>(p.filter.k));
    return params;
}

std::vector<ConvLaunch> conv_launches(const ConvConfig& config, const ConvProblem& problem, const ConvTensors& tensors,
                                      const ParameterAddresses& parameters, std::span<const std::byte* const> addend) {
    std::vector<ConvLaunch> launches;
    if (problem.empty()) return launches;
    const int64_t frames = problem.frames_out(), q = problem.filter.q;
    assert(q <= kMaxConvFrameTaps && tensors.input.size() == static_cast<size_t>(problem.frames_in()));
    assert(tensors.output.size() == static_cast<size_t>(problem.norm == conv::Norm::Instead ? 0 : frames));
    assert(problem.norm == conv::Norm::None || (config.bn >= problem.filter.k && parameters.gamma != nullptr));

    ConvParams common = shape_params(config, problem, parameters);
    common.flags = conv::epilogue_flags(problem);
    if (!addend.empty()) common.flags |= kConvAddend;
    const int64_t room = std::min<int64_t>(kMaxConvFrames, kMaxConvFrameTaps / q);
    launches.reserve(static_cast<size_t>((frames + room - 1) / room));
    for (int64_t first = 0; first < frames; first += room) {
        const int64_t count = std::min(room, frames - first);
        ConvParams params = common;
        for (int64_t i = 0; i < count; ++i) {
            const auto frame = static_cast<size_t>(first + i);
            place_taps(problem, tensors.input, first + i, params.input + i * q);
            if (!tensors.output.empty()) params.output[i] = tensors.output[frame];
            if (!tensors.residual.empty()) params.residual[i] = tensors.residual[frame];
            if (!addend.empty()) params.addend[i] = addend[frame];
            if (!tensors.normed.empty()) params.normed[i] = tensors.normed[frame];
        }
        const uint32_t m_tiles = (common.pixels + config.bm - 1) / config.bm;
        launches.push_back({.grid = {m_tiles * common.n_tiles, u32(count) * common.parities, 1},
                            .threads = threads(config),
                            .shared_bytes = shared_bytes(config),
                            .arguments = conv::Arguments::of(params)});
    }
    return launches;
}

}  // namespace kinetograph::sm80
