#include <algorithm>
#include <cmath>
#include <kinetograph/kernels/cuda/sm80/pack.hpp>
#include <kinetograph/kernels/cuda/sm80/passes.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_runs.hpp>
#include <kinetograph/kernels/cuda/sm90/gates.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::Chip;
using conv::ConvLaunch;
using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvTensors;
using conv::EncodeMap;
using conv::Norm;
using conv::ParameterAddresses;
using isa::TensorMapDesc;

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }
uint64_t u64(int64_t value) { return static_cast<uint64_t>(value); }

/// Makes the maps of one problem in one tile.
class Maps {
  public:
    Maps(const ConvConfig& config, const ConvProblem& problem, const EncodeMap& encode)
        : c_(config), p_(problem), encode_(encode) {}

    isa::TensorMap input(const std::byte* frame) const {
        TensorMapDesc map = dense(frame, 3, {u64(p_.c_in), u64(p_.w), u64(p_.h)});
        map.swizzle = swizzle(c_);
        map.box = {c_.channels, halo_columns(c_), halo_rows(c_)};
        return encode_(map);
    }

    isa::TensorMap filter(const std::byte* packed) const {
        const int64_t channels = sm80::padded_channels(p_.c_in), taps = p_.filter.q * c_.side * c_.side;
        TensorMapDesc map = dense(packed, 4, {u64(channels), u64(p_.filter.k), u64(taps), u64(walk_of(p_).parities)});
        map.stride_bytes = {u64(taps * channels * 2), u64(channels * 2), u64(p_.filter.k * taps * channels * 2)};
        map.swizzle = swizzle(c_);
        map.box = {c_.channels, c_.bn, c_.stage_taps, 1};
        return encode_(map);
    }

    /// {c, px, x, py, y}: the pixels of an upsampled frame by their parities.
    isa::TensorMap stored(const std::byte* frame) const {
        const Walk walk = walk_of(p_);
        const uint64_t by = p_.upsample ? 2 : 1, pixel = u64(p_.filter.k) * 2, row = u64(p_.w_out()) * pixel;
        TensorMapDesc map = dense(frame, 5, {u64(p_.filter.k), by, u64(walk.w), by, u64(walk.h)});
        map.stride_bytes = {pixel, by * pixel, row, by * row};
        map.swizzle = staging_swizzle(c_);
        map.box = {piece_channels(c_), 1, kBlockSide, 1, kBlockSide};
        return encode_(map);
    }

  private:
    TensorMapDesc dense(const std::byte* address, uint32_t rank, const std::array<uint64_t, 5>& size) const {
        return isa::dense_map(isa::MapMode::Tiled, c_.element, const_cast<std::byte*>(address), rank, size);
    }

    const ConvConfig& c_;
    const ConvProblem& p_;
    const EncodeMap& encode_;
};

/// All but the frames.
ConvParams shape_params(const ConvConfig& c, const ConvProblem& p, const ParameterAddresses& parameters) {
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

ConvPlan plan_implicit_gemm(const ConvProblem& problem, const Chip& chip) {
    ConvProblem in_tile = problem;
    const NamedConvConfig* tile = choose_config(in_tile, chip);
    const bool norms_after = tile == nullptr;  // no tile holds all filters
    if (norms_after) {
        in_tile.norm = Norm::None;
        tile = choose_config(in_tile, chip);
    }
    ConvPlan plan;
    plan.kernels = {{std::string(tile->kernel), problem.dtype == Element::BF16 ? "wgmma_conv_bf16" : "wgmma_conv_f16"}};
    plan.seconds = conv_seconds(tile->config, in_tile, chip);
    if (norms_after) {
        plan.kernels.push_back(sm80::norm_kernel(problem));
        plan.seconds += sm80::norm_seconds(problem, chip);
    }
    plan.packing.layout = packing_layout(problem);
    plan.packing.pack = [problem](const conv::ConvParameters& parameters) {
        return pack_parameters(problem, parameters);
    };
    plan.steps = [config = tile->config, problem, in_tile, norms_after, sms = chip.compute_units](
                     const ConvTensors& tensors, const ParameterAddresses& parameters, const EncodeMap& encode) {
        ConvTensors convolved = tensors;
        if (norms_after) {  // an output that only the norm reads is normed where it lies
            if (problem.norm == Norm::Instead) convolved.output = tensors.normed;
            convolved.normed = {};
        }
        std::vector<conv::ConvStep> steps;
        for (const ConvLaunch& launch : conv_launches(config, in_tile, convolved, parameters, sms, encode))
            steps.emplace_back(launch);
        if (norms_after) sm80::append_norm(steps, 1, problem, parameters.gamma, convolved.output, tensors.normed);
        return steps;
    };
    return plan;
}

}  // namespace

std::span<const conv::ConvMethod> methods() {
    static const conv::ConvMethod kMethods[] = {
        {"implicit-gemm-sm90", "implicit GEMM by TMA and wgmma on Hopper, frames read in place", implicit_gemm_gates(),
         plan_implicit_gemm},
        {"narrow-gemm-sm90", "the taps of the image as columns of one product on Hopper: few output channels",
         narrow_gemm_gates(), plan_narrow_gemm},
    };
    return kMethods;
}

std::vector<ConvLaunch> conv_launches(const ConvConfig& config, const ConvProblem& problem, const ConvTensors& tensors,
                                      const ParameterAddresses& parameters, uint32_t sms, const EncodeMap& encode) {
    std::vector<ConvLaunch> launches;
    if (problem.empty()) return launches;
    const Maps maps(config, problem, encode);
    ConvParams common = shape_params(config, problem, parameters);
    common.filter = maps.filter(parameters.filter);
    for (const FrameRun& run : frame_runs(problem)) {
        ConvParams params = common;
        params.frames = u32(run.count);
        std::copy(run.taps.begin(), run.taps.end(), params.taps);
        for (int64_t i = 0; i < run.inputs; ++i) params.input[i] = maps.input(tensors.input[u64(run.first_input + i)]);
        for (int64_t i = 0; i < run.count; ++i) {
            const size_t frame = u64(run.first_output + i);
            if (!tensors.output.empty()) params.output[i] = maps.stored(tensors.output[frame]);
            if (!tensors.residual.empty()) params.residual[i] = maps.stored(tensors.residual[frame]);
            if (!tensors.normed.empty()) params.normed[i] = maps.stored(tensors.normed[frame]);
        }
        const uint32_t tiles = params.tiles_x * params.tiles_y * params.frames * params.parities * params.tiles_n;
        launches.push_back({.grid = {std::min(tiles, sms), 1, 1},
                            .threads = kThreads,
                            .shared_bytes = shared_bytes(config),
                            .arguments = conv::Arguments::of(params)});
    }
    return launches;
}

}  // namespace kinetograph::sm90
