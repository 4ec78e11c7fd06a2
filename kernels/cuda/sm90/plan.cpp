#include <algorithm>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/tiled_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_maps.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_runs.hpp>
#include <kinetograph/kernels/cuda/sm90/gates.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/q_slice_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/volume_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_plan.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::Chip;
using conv::ConvLaunch;
using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvTensors;
using conv::EncodeMap;
using conv::ParameterAddresses;

/// `finish(params, run)` sets what a kernel reads besides ConvParams.
template <class Params, class Finish>
std::vector<ConvLaunch> launches_of(const ConvConfig& config, const ConvProblem& problem, const ConvTensors& tensors,
                                    const ParameterAddresses& parameters, uint32_t sms, const EncodeMap& encode,
                                    const Finish& finish) {
    std::vector<ConvLaunch> launches;
    if (problem.empty()) return launches;
    const TileShape tile = tile_shape(config);
    const ConvMaps maps(tile, problem, encode);
    ConvParams common = shape_params(tile, problem, parameters);
    if (multiplies_bytes(config))
        common.starts = reinterpret_cast<const int32_t*>(parameters.filter + starts_offset(problem));
    common.filter = maps.filter(parameters.filter);
    for (const FrameRun& run : frame_runs(problem)) {
        Params params{};
        static_cast<ConvParams&>(params) = common;
        params.frames = static_cast<uint32_t>(run.count);
        std::copy(run.taps.begin(), run.taps.end(), params.taps);
        for (int64_t i = 0; i < run.inputs; ++i)
            params.input[i] = maps.input(tensors.input[static_cast<size_t>(run.first_input + i)]);
        maps.stored(params, tensors, run.first_output, run.count);
        finish(params, run);
        launches.push_back(launch_of(config, params, sms));
    }
    return launches;
}

std::string_view image_of(const ConvConfig& c) {
    if (c.byte_norms) return "wgmma_conv_bytes";
    return c.element == Element::BF16 ? "wgmma_conv_bf16" : "wgmma_conv_f16";
}

ConvPlan plan_implicit_gemm_in(const NamedConvConfig& tile, const ConvProblem& problem, const Chip& chip) {
    const ConvProblem in_tile = without_norm_unless(fits(tile.config, problem), problem);
    return cuda::plan_tiled(
        problem, chip,
        {.kernel = {std::string(tile.kernel), image_of(tile.config)},
         .seconds = conv_seconds(tile.config, in_tile, chip),
         .packing = {packing_layout(problem),
                     [problem](const conv::ConvParameters& given) { return pack_parameters(problem, given); }},
         .problem = in_tile,
         .launches = [config = tile.config, sms = chip.compute_units](const ConvProblem& p, const ConvTensors& tensors,
                                                                      const ParameterAddresses& parameters,
                                                                      const EncodeMap& encode) {
             return conv_launches(config, p, tensors, parameters, sms, encode);
         }});
}

ConvPlan plan_implicit_gemm(const ConvProblem& problem, const Chip& chip) {
    const auto taken = cuda::take_tile(problem, [&](const ConvProblem& p) { return choose_config(p, chip); });
    return plan_implicit_gemm_in(*taken.tile, problem, chip);
}

/// The choice by name among `kTiles()`, planned by `kPlanIn`.
template <auto kTiles, auto kPlanIn>
constexpr conv::KernelChoice kTileChoice{
    [](const ConvProblem& problem, const Chip& chip) {
        std::vector<std::pair<double, std::string_view>> fitting;
        for (const auto& tile : kTiles())
            if (fits(tile.config, without_norm_unless(false, problem)))
                fitting.emplace_back(kPlanIn(tile, problem, chip).seconds, tile.kernel);
        std::ranges::sort(fitting);
        std::vector<std::string_view> kernels;
        kernels.reserve(fitting.size());
        for (const auto& [seconds, kernel] : fitting) kernels.push_back(kernel);
        return kernels;
    },
    [](const ConvProblem& problem, const Chip& chip, std::string_view kernel) {
        return kPlanIn(*std::ranges::find_if(kTiles(), [&](const auto& tile) { return tile.kernel == kernel; }),
                       problem, chip);
    }};

}  // namespace

std::span<const conv::ConvMethod> methods() {
    static const conv::ConvMethod kMethods[] = {
        {"implicit-gemm-sm90", "implicit GEMM by TMA and wgmma on Hopper, frames read in place", implicit_gemm_gates(),
         plan_implicit_gemm, conv::Rounding::Once, kTileChoice<conv_configs, plan_implicit_gemm_in>, false, true},
        {"byte-gemm-sm90", "implicit GEMM of u8 and s8 by TMA and wgmma on Hopper: exact sums in int32", byte_gates(),
         plan_implicit_gemm, conv::Rounding::Once, kTileChoice<conv_configs, plan_implicit_gemm_in>, false, true},
        {"winograd-time-sm90", "two frames at once with two thirds of their multiplications on Hopper, frames in place",
         winograd_gates(), plan_winograd, conv::Rounding::Operands, kTileChoice<winograd_configs, plan_winograd_in>},
        {"winograd-volume-sm90", "2 x 2 x 2 results of 64 products in place of 216 on Hopper, between two passes",
         volume_gates(), plan_volume, conv::Rounding::Finer},
        {"narrow-gemm-sm90",
         "the taps of the image as columns of one product on Hopper: few output channels",
         narrow_gemm_gates(),
         plan_narrow_gemm,
         conv::Rounding::Once,
         {},
         true},
        {"q-slice-sm90", "a 2-D implicit GEMM a temporal tap on Hopper, its epilogue adding fp32 sums", q_slice_gates(),
         plan_q_slice, conv::Rounding::Once, kTileChoice<sum_configs, plan_q_slice_in>},
    };
    return kMethods;
}

std::span<const conv::ConvModel> models() { return {}; }

std::span<const conv::KnownDevice> devices() {
    static constexpr conv::KnownDevice kDevices[] = {
        {"cuda", "sm_90", "NVIDIA H200", 141ULL << 30U, 132, 227 << 10U, 1.8e9, 4.8e12},
    };
    return kDevices;
}

std::vector<ConvLaunch> conv_launches(const ConvConfig& config, const ConvProblem& problem, const ConvTensors& tensors,
                                      const ParameterAddresses& parameters, uint32_t sms, const EncodeMap& encode) {
    return launches_of<ConvParams>(config, flattened(problem), tensors, parameters, sms, encode,
                                   [](ConvParams&, const FrameRun&) {});
}

std::vector<ConvLaunch> sum_launches(const ConvConfig& config, const ConvProblem& problem, const ConvTensors& tensors,
                                     std::span<std::byte* const> sums, bool adds, const ParameterAddresses& parameters,
                                     uint32_t sms, const EncodeMap& encode) {
    const ConvProblem walked = flattened(problem);
    return launches_of<SumConvParams>(
        config, walked, tensors, parameters, sms, encode, [&](SumConvParams& params, const FrameRun& run) {
            if (adds) params.flags |= kConvAddend;
            for (int64_t i = 0; i < run.count; ++i)
                params.sums[i] = reinterpret_cast<float*>(sums[static_cast<size_t>(run.first_output + i)]);
            params.h = conv::u32(walked.h_out());
            params.w = conv::u32(walked.w_out());
            params.c_out = conv::u32(problem.filter.k);
        });
}

}  // namespace kinetograph::sm90
