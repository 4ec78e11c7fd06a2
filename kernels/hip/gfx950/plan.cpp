#include <algorithm>
#include <kinetograph/kernels/hip/gfx950/gates.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;

constexpr int64_t kMostNormedChannels = 256;  // of a pixel in the widest tile

/// Input frames of every output frame and tap; null for taps in the padding.
std::vector<const void*> tap_frames(const ConvProblem& p, std::span<const std::byte* const> input) {
    std::vector<const void*> frames;
    for (int64_t sample = 0; sample < p.n; ++sample)
        for (int64_t t = 0; t < p.d_out(); ++t)
            for (int64_t q = 0; q < p.filter.q; ++q) {
                const int64_t frame = conv::input_frame(p, t, q);
                const bool inside = frame >= 0 && frame < p.d;
                frames.push_back(inside ? input[static_cast<size_t>(sample * p.d + frame)] : nullptr);
            }
    return frames;
}

RmsNormProblem norm_problem(const ConvProblem& p, size_t frames) {
    return {.frames = static_cast<int64_t>(frames),
            .pixels = p.pixels_out(),
            .channels = p.filter.k,
            .storage = p.output_dtype,
            .silu = p.norm_activation == conv::Activation::Silu};
}

void append_norm(std::vector<ConvStep>& steps, uint32_t kernel, const ConvProblem& problem, const float* gamma,
                 std::span<const std::byte* const> stored, std::span<std::byte* const> normed) {
    for (size_t first = 0; first < stored.size(); first += kMostFrames) {
        const size_t count = std::min<size_t>(kMostFrames, stored.size() - first);
        const RmsNormProblem part = norm_problem(problem, count);
        const LaunchShape shape = launch_shape(part);
        steps.emplace_back(conv::ConvLaunch{
            .kernel = kernel,
            .grid = {shape.grid_x, shape.grid_y, shape.grid_z},
            .threads = shape.threads,
            .arguments = conv::Arguments::of(
                make_params(part, frame_table(stored.subspan(first, count), normed.subspan(first, count)), gamma))});
    }
}

template <class To, class Byte>
std::vector<To> addresses(std::span<Byte* const> frames) {
    return {frames.begin(), frames.end()};
}

bool norms_after(const ConvProblem& p) { return p.norm != conv::Norm::None && !four_wave_problem(p).norm; }

uint64_t pitch(const ConvProblem& p) { return conv::workspace_part(p.output_frame_bytes()); }

}  // namespace

std::span<const conv::ConvMethod> methods() {
    static const conv::ConvMethod kMethods[] = {
        {"four-wave-gfx950", "implicit GEMM on gfx950's matrix units, frames read in place", four_wave_gates(),
         plan_four_wave},
        {"im2col-gfx950", "a matrix of all taps and its product on gfx950", im2col_gates(), plan_im2col},
    };
    return kMethods;
}

FourWaveConvProblem four_wave_problem(const ConvProblem& p) {
    const bool norm = p.norm != conv::Norm::None && p.filter.k <= kMostNormedChannels && p.output_dtype != Element::F32;
    return {.element = p.dtype,
            .frames = p.frames_out(),
            .h = p.h,
            .w = p.w,
            .c_in = p.c_in,
            .upsample = p.upsample,
            .c_out = p.filter.k,
            .q = p.filter.q,
            .r = p.filter.r,
            .s = p.filter.s,
            .stride_h = p.stride.h,
            .stride_w = p.stride.w,
            .dilation_h = p.dilation.h,
            .dilation_w = p.dilation.w,
            .pad_top = p.pad.top,
            .pad_bottom = p.pad.bottom,
            .pad_left = p.pad.left,
            .pad_right = p.pad.right,
            .groups = p.groups,
            .bias = p.bias,
            .silu = p.activation == conv::Activation::Silu,
            .source = p.residual,
            .beta = p.beta,
            .output = p.norm != conv::Norm::Instead || !norm,
            .output_f32 = p.output_dtype == Element::F32,
            .norm = norm,
            .norm_silu = p.norm_activation == conv::Activation::Silu};
}

ConvPlan plan_four_wave(const ConvProblem& problem, const conv::Chip& chip) {
    const FourWaveConvProblem asked = four_wave_problem(problem);
    const ConvKernel* const kernel = choose_kernel_for_packing(asked);
    const FourWaveConvPlan bound = *plan_four_wave_conv(asked, {kernel->tile, kernel->path}).plan;

    ConvPlan plan;
    plan.kernels = {{std::string(kernel->name), kernel->code_object}};
    plan.seconds =
        conv::kLaunchSeconds + static_cast<double>(estimated_clocks(asked, *kernel)) / chip.clocks_per_second;
    const bool after = norms_after(problem), apart = after && problem.norm == conv::Norm::Instead;
    if (after) {
        const LaunchShape shape = launch_shape(norm_problem(problem, 1));
        plan.kernels.push_back({shape.kernel, "rms_norm"});
        const auto frames = static_cast<double>(problem.frames_out());
        plan.seconds += conv::kLaunchSeconds +
                        2 * frames * static_cast<double>(problem.output_frame_bytes()) / chip.memory_bytes_per_second;
        if (apart) plan.workspace_bytes = static_cast<uint64_t>(problem.frames_out()) * pitch(problem);
    }
    plan.packing.layout =
        std::string("FQRSC ") + element_name(problem.dtype) + " in k blocks of " + std::to_string(kernel->tile.bk);
    plan.packing.pack = [bound](const conv::ConvParameters& parameters) {
        const auto padded = [&](std::span<const float> values) {
            return values.empty() ? std::vector<float>{} : pack_channels(bound, values);
        };
        return conv::PackedParameters{
            pack_filter(bound, parameters.filter), padded(parameters.bias), padded(parameters.gamma), {}};
    };
    plan.steps = [bound, problem, after, apart](const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                                const conv::EncodeMap&) {
        std::vector<std::byte*> output(tensors.output.begin(), tensors.output.end());
        for (size_t i = 0; apart && i < tensors.normed.size(); ++i)
            output.push_back(tensors.workspace + i * pitch(problem));
        const auto input = tap_frames(problem, tensors.input);
        const auto stored = addresses<void*>(std::span<std::byte* const>(output));
        const auto normed = addresses<void*>(tensors.normed);
        const auto source = addresses<const void*>(tensors.residual);
        std::vector<ConvStep> steps;
        for (const FourWaveConvLaunch& launch : launches(bound, {.input = input,
                                                                .output = stored,
                                                                .source = source,
                                                                .normed = normed,
                                                                .filter = parameters.filter,
                                                                .bias = parameters.bias,
                                                                .gamma = parameters.gamma}))
            steps.emplace_back(conv::ConvLaunch{.grid = {launch.workgroups, 1, 1},
                                                .threads = bound.threads,
                                                .arguments = conv::Arguments::of(launch.params)});
        if (after) {
            const std::vector<const std::byte*> read(output.begin(), output.end());
            append_norm(steps, 1, problem, parameters.gamma, read, tensors.normed);
        }
        return steps;
    };
    return plan;
}

}  // namespace kinetograph::gfx950
