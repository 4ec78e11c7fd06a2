#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/epilogue_flags.hpp>
#include <kinetograph/kernels/conv/sub_pixel.hpp>
#include <kinetograph/kernels/spirv/vulkan13/conv_launches.hpp>
#include <kinetograph/kernels/spirv/vulkan13/cost.hpp>
#include <kinetograph/kernels/spirv/vulkan13/passes.hpp>

namespace kinetograph::vulkan13 {

using conv::ConvLaunch;
using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;
using conv::ParameterAddresses;
using conv::u32;

ConvParams shape_params(const ConvProblem& p, const ParameterAddresses& parameters) {
    const bool sub_pixel = conv::is_sub_pixel(p);
    const std::uint32_t doubled = p.upsample && !sub_pixel ? 1 : 0;
    ConvParams params{};
    params.filter = address(parameters.filter);
    params.bias = address(parameters.bias);
    params.scales = address(parameters.scales);
    params.h = u32(p.h) << doubled;
    params.w = u32(p.w) << doubled;
    params.w_stored = u32(p.w);
    params.upsample = doubled;
    params.c_in = u32(p.c_in);
    params.c_group = u32(p.c_in / p.groups);
    params.k = u32(p.filter.k);
    params.k_group = u32(p.filter.k / p.groups);
    params.q = u32(p.filter.q);
    params.r = u32(sub_pixel ? 2 : p.filter.r);
    params.s = u32(sub_pixel ? 2 : p.filter.s);
    params.h_out = u32(p.h_out());
    params.w_out = u32(p.w_out());
    params.parities = sub_pixel ? 4 : 1;
    params.stride_h = conv::i32(p.stride.h);
    params.stride_w = conv::i32(p.stride.w);
    params.dilation_h = conv::i32(p.dilation.h);
    params.dilation_w = conv::i32(p.dilation.w);
    params.pad_top = conv::i32(p.pad.top);
    params.pad_left = conv::i32(p.pad.left);
    params.scale = p.product_scale();
    params.beta = p.beta;
    params.negative_slope = p.negative_slope;
    params.flags = conv::epilogue_flags(p);
    return params;
}

std::vector<ConvStep> conv_launches(const ConvProblem& p, ConvParams params, const ConvTensors& tensors,
                                    const Grid& grid) {
    std::vector<ConvStep> steps;
    if (p.empty()) return steps;
    const std::int64_t q = p.filter.q, room = std::min(kMaxConvFrames, kMaxConvFrameTaps / q);
    for (std::int64_t first = 0; first < p.frames_out(); first += room) {
        const std::int64_t count = std::min(room, p.frames_out() - first);
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t frame = first + i, sample = frame / p.d_out(), t = frame % p.d_out();
            for (std::int64_t tap = 0; tap < q; ++tap) {
                const std::int64_t from = conv::input_frame(p, t, tap);
                params.input[i * q + tap] =
                    from < 0 || from >= p.d ? 0 : address(tensors.input[static_cast<std::size_t>(sample * p.d + from)]);
            }
            const auto at = static_cast<std::size_t>(frame);
            params.output[i] = address(tensors.output[at]);
            params.residual[i] = tensors.residual.empty() ? 0 : address(tensors.residual[at]);
        }
        steps.emplace_back(ConvLaunch{.grid = {grid.x, u32(count) * params.parities, grid.z},
                                      .threads = grid.threads,
                                      .arguments = conv::Arguments::of(params)});
    }
    return steps;
}

ConvPlan with_norm(const ConvProblem& problem, const conv::Chip& chip, ConvPlan plan, Launches launches) {
    const bool norms = problem.norm != conv::Norm::None;
    if (norms) {
        plan.kernels.push_back(norm_pipeline(problem.output.element, problem.filter.k));
        plan.seconds += traffic_seconds(
            2.0 * static_cast<double>(problem.frames_out()) * static_cast<double>(problem.output_frame_bytes()), chip);
    }
    plan.steps = [problem, norms, launches = std::move(launches)](
                     const ConvTensors& tensors, const ParameterAddresses& parameters, const conv::EncodeMap&) {
        ConvTensors convolved = tensors;
        if (problem.norm == conv::Norm::Instead) convolved.output = tensors.normed;  // and normed in place
        std::vector<ConvStep> steps = launches(convolved, parameters);
        if (norms) {
            const std::vector<const std::byte*> stored(convolved.output.begin(), convolved.output.end());
            append_norm(steps, 1,
                        {.pixels = problem.pixels_out(),
                         .channels = problem.filter.k,
                         .input = problem.output,
                         .output = problem.normed,
                         .activation = problem.norm_activation},
                        {.input = stored, .output = tensors.normed, .parameters = parameters.gamma});
        }
        return steps;
    };
    return plan;
}

}  // namespace kinetograph::vulkan13
