#include <fmt/format.h>

#include <algorithm>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/passes.hpp>
#include <kinetograph/kernels/cuda/host/tiled_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/q_slice_plan.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::ConvLaunch;
using conv::ConvProblem;

/// The slice of one temporal tap: a 2-D convolution of each of `frames` input frames into fp32 sums, no epilogue.
ConvProblem sums_of(const ConvProblem& problem, int64_t frames) {
    ConvProblem slice = problem;
    slice.n = 1;
    slice.d = frames;
    slice.filter.q = 1;
    slice.output_dtype = Element::F32;
    slice.bias = slice.residual = false;
    slice.activation = conv::Activation::None;
    slice.norm = conv::Norm::None;
    return slice;
}
/// The last slice, with the problem's epilogue.
ConvProblem finish_of(const ConvProblem& problem, int64_t frames) {
    ConvProblem slice = problem;
    slice.n = 1;
    slice.d = frames;
    slice.filter.q = 1;
    return slice;
}

uint64_t sum_bytes(const ConvProblem& p) {
    return conv::workspace_part(conv::u64(p.h_out() * p.w_out() * p.filter.k * 4));
}
/// Output frames of one group; see q_slice_plan.hpp.
int64_t frames_together(const ConvProblem& p) {
    if (p.empty()) return 1;
    return std::clamp<int64_t>(static_cast<int64_t>(cuda::kQSliceSumBytes / sum_bytes(p)), 1, p.frames_out());
}

conv::PackedParameters pack_slices(const ConvProblem& problem, const conv::ConvParameters& parameters) {
    std::vector<std::byte> packed;
    for (int64_t q = 0; q < problem.filter.q; ++q) {
        const auto slice = cuda::pack_filter(sums_of(problem, 1), cuda::slice_filter(problem, parameters.filter, q));
        packed.insert(packed.end(), slice.begin(), slice.end());
    }
    return pack_with_filter(std::move(packed), parameters);
}

/// The slices of output frames [first, first + count), in order. The last one has the residuals and the results.
void append_slices(std::vector<ConvLaunch>& launches, const ConvConfig& config, const ConvProblem& problem,
                   const conv::ConvTensors& tensors, int64_t first, int64_t count,
                   const conv::ParameterAddresses& parameters, uint32_t sms, const conv::EncodeMap& encode) {
    std::vector<std::byte*> sums(conv::u64(count));
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = tensors.workspace + i * sum_bytes(problem);
    const auto some = [&](const auto& frames) {
        return frames.empty() ? frames : frames.subspan(conv::u64(first), conv::u64(count));
    };
    std::vector<const std::byte*> input(conv::u64(count));
    for (int64_t q = 0; q < problem.filter.q; ++q) {
        for (int64_t i = 0; i < count; ++i) {
            const int64_t sample = (first + i) / problem.d_out(), t = (first + i) % problem.d_out();
            input[conv::u64(i)] = tensors.input[conv::u64(sample * problem.d + t + q)];
        }
        const bool last = q + 1 == problem.filter.q;
        const ConvProblem slice = last ? finish_of(problem, count) : sums_of(problem, count);
        conv::ConvTensors of_slice{};
        of_slice.input = input;
        if (last) {
            of_slice.output = some(tensors.output);
            of_slice.residual = some(tensors.residual);
            of_slice.normed = some(tensors.normed);
        }
        conv::ParameterAddresses with_slice = parameters;
        with_slice.filter += q * cuda::packed_filter_bytes(sums_of(problem, 1));
        for (ConvLaunch& launch : sum_launches(config, slice, of_slice, sums, q > 0, with_slice, sms, encode))
            launches.push_back(launch);
    }
}

}  // namespace

conv::ConvPlan plan_q_slice_in(const NamedConvConfig& tile, const ConvProblem& problem, const conv::Chip& chip) {
    const ConvProblem in_tile = without_norm_unless(fits(tile.config, finish_of(problem, 1)), problem);
    const int64_t together = frames_together(problem);
    const auto rounds = static_cast<double>(conv::ceil_div(problem.frames_out(), together));
    const auto slices = static_cast<double>(problem.filter.q);
    // Every slice but the first reads the sums. Writing them is counted as the slices' output.
    const double read = static_cast<double>(sum_bytes(problem)) * static_cast<double>(together) * (slices - 1);
    conv::ConvPlan plan = cuda::plan_tiled(
        problem, chip,
        {.kernel = {std::string(tile.kernel), "wgmma_sums_bf16"},
         .seconds = rounds *
                    ((slices - 1) * conv_seconds(tile.config, sums_of(problem, together), chip) +
                     conv_seconds(tile.config, finish_of(in_tile, together), chip) + cuda::traffic_seconds(read, chip)),
         .packing = {fmt::format("QKRSC {}, channels padded", element_name(problem.dtype)),
                     [problem](const conv::ConvParameters& given) { return pack_slices(problem, given); }},
         .problem = in_tile,
         .launches = [config = tile.config, together, sms = chip.compute_units](
                         const ConvProblem& p, const conv::ConvTensors& tensors,
                         const conv::ParameterAddresses& parameters, const conv::EncodeMap& encode) {
             std::vector<ConvLaunch> launches;
             for (int64_t first = 0; first < p.frames_out(); first += together)
                 append_slices(launches, config, p, tensors, first, std::min(together, p.frames_out() - first),
                               parameters, sms, encode);
             return launches;
         }});
    plan.workspace_bytes = sum_bytes(problem) * conv::u64(together);
    return plan;
}

conv::ConvPlan plan_q_slice(const ConvProblem& problem, const conv::Chip& chip) {
    const auto taken = cuda::take_tile(finish_of(problem, frames_together(problem)),
                                       [&](const ConvProblem& p) { return choose_sum_config(p, chip); });
    return plan_q_slice_in(*taken.tile, problem, chip);
}

}  // namespace kinetograph::sm90
