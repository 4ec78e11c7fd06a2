#include <algorithm>
#include <kinetograph/kernels/hip/gfx950/gates.hpp>
#include <kinetograph/kernels/hip/gfx950/pack.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_values_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>
#include <kinetograph/kernels/hip/gfx950/winograd_model.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;

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
            .storage = p.output.element,
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

/// How a problem runs: which kernel, over which parts of K, and whether it norms too or another pass does.
struct Course {
    ConvProblem conv;  ///< of the kernel: float32 sums only, if K is split
    ConvChoice choice;
    bool norm_after = false;
    double seconds = 0;  ///< with all launches
};

/// A pass over `frames` stored frames, which reads and writes them.
double norm_seconds(const ConvProblem& p, int64_t frames, const conv::Chip& chip) {
    const double bytes = static_cast<double>(frames) * static_cast<double>(p.output_frame_bytes());
    return conv::kLaunchSeconds + streaming_seconds(2 * bytes, chip);
}

double seconds_of(const ConvProblem& p, const conv::Chip& chip) {
    return conv::kLaunchSeconds + estimated_seconds(p, choose_kernel_for_packing(p, chip), chip);
}

/// Completes a course whose choice is made.
Course completed(Course course, const ConvProblem& p, const conv::Chip& chip) {
    course.seconds = conv::kLaunchSeconds + estimated_seconds(course.conv, course.choice, chip) +
                     (course.norm_after ? norm_seconds(p, p.frames_out(), chip) : 0);
    if (course.choice.splits > 1) {
        course.conv.input.scale = course.conv.weight.scale = 1;
        course.conv.channel_scales = course.conv.bias = course.conv.residual = false;
        course.conv.activation = conv::Activation::None;
        course.conv.output = course.conv.normed = Element::F32;
    }
    return course;
}

/// The cheaper of a norm in the convolution's epilogue, which needs a tile of all channels, and one after it; by one
/// frame alone, because the two add in different orders, and bits must not depend on the number of frames.
Course course_of(const ConvProblem& p, const conv::Chip& chip, Splitting splitting) {
    Course course;
    course.conv = without_norm(p);
    course.norm_after = p.norm != conv::Norm::None;
    if (course.norm_after && launch_reasons(p).empty() && choose_kernel_for_packing(p, chip).kernel != nullptr &&
        seconds_of(of_frames(p, 1), chip) < seconds_of(of_frames(course.conv, 1), chip) + norm_seconds(p, 1, chip)) {
        course.conv = p;
        course.norm_after = false;
    }
    course.choice = choose_kernel_for_packing(course.conv, chip, splitting);
    return completed(course, p, chip);
}

/// With this kernel and number of parts of K, and the norm in its epilogue if one tile holds it.
Course course_with(const ConvProblem& p, const conv::Chip& chip, const ConvChoice& choice) {
    const bool fused = choice.splits == 1 && launch_reasons(p).empty() && fits_epilogue(p, choice.kernel->tile);
    return completed(
        {.conv = fused ? p : without_norm(p), .choice = choice, .norm_after = !fused && p.norm != conv::Norm::None}, p,
        chip);
}

JoinSumsProblem join_problem(const ConvProblem& p, uint32_t parts, size_t frames) {
    return {.frames = static_cast<int64_t>(frames),
            .pixels = p.pixels_out(),
            .channels = p.filter.k,
            .storage = p.output.element,
            .parts = parts,
            .silu = p.activation == conv::Activation::Silu,
            .source = p.residual,
            .beta = p.beta,
            .relu = p.activation == conv::Activation::Relu,
            .negative_slope = p.negative_slope};
}

/// Frame `frame` of part `part` of the sums is part * frames + frame frames into the workspace.
void append_join(std::vector<ConvStep>& steps, uint32_t kernel, const ConvProblem& problem, uint32_t parts,
                 std::span<const std::byte* const> sums, std::span<std::byte* const> output,
                 std::span<const std::byte* const> residual, const conv::ParameterAddresses& parameters,
                 uint64_t part_bytes) {
    for (size_t first = 0; first < output.size(); first += kMostFrames) {
        const size_t count = std::min<size_t>(kMostFrames, output.size() - first);
        const JoinSumsProblem part = join_problem(problem, parts, count);
        const LaunchShape shape = launch_shape(part);
        steps.emplace_back(conv::ConvLaunch{
            .kernel = kernel,
            .grid = {shape.grid_x, shape.grid_y, shape.grid_z},
            .threads = shape.threads,
            .arguments = conv::Arguments::of(make_params(
                part, frame_table(sums.subspan(first, count), output.subspan(first, count)), part_bytes,
                residual.empty() ? residual : residual.subspan(first, count), parameters.bias, parameters.scales))});
    }
}

uint64_t pitch(const ConvProblem& p) { return conv::workspace_part(p.output_frame_bytes()); }

/// Unless the filter exceeds a launch's grid or, in float32, a descriptor.
void set_packing_on_device(ConvPlan& plan, const ConvProblem& problem, const ConvKernel& kernel) {
    constexpr int64_t kMostGridY = 65535;
    if (problem.filter.k > kMostGridY || 4 * static_cast<uint64_t>(problem.filter_elements()) > kMostFrameBytes) return;
    plan.packed_filter_bytes = packed_filter_bytes(problem, kernel);
    plan.pack_on_device = [&kernel, problem](const conv::DeviceFilter& filter, std::byte* packed) {
        const FilterPackProblem pass{problem, kernel, filter.element,
                                     filter.channels_last ? FilterOrder::Kqrsc : FilterOrder::Kcqrs};
        const LaunchShape shape = launch_shape(pass);
        return conv::FilterPackLaunch{{shape.kernel, shape.object},
                                      {.grid = {shape.grid_x, shape.grid_y, shape.grid_z},
                                       .threads = shape.threads,
                                       .arguments = conv::Arguments::of(make_params(pass, filter.address, packed))}};
    };
}

ConvPlan plan_of(const ConvProblem& problem, const conv::Chip& chip, const Course& course) {
    const ConvKernel* const kernel = course.choice.kernel;
    const uint32_t splits = course.choice.splits;
    const FourWaveConvPlan bound = *plan_four_wave_conv(course.conv, {kernel->tile, kernel->path, splits}, chip).plan;
    const bool after = course.norm_after, apart = after && problem.norm == conv::Norm::Instead;
    const auto frames = static_cast<uint64_t>(problem.frames_out());

    ConvPlan plan;
    plan.kernels = {{std::string(kernel->name), kernel->code_object}};
    if (splits > 1) plan.kernels.push_back({launch_shape(join_problem(problem, splits, 1)).kernel, "frame_values"});
    const auto norm_kernel = static_cast<uint32_t>(plan.kernels.size());
    if (after) plan.kernels.push_back({launch_shape(norm_problem(problem, 1)).kernel, "rms_norm"});
    plan.seconds = course.seconds;
    const uint64_t stored_bytes = apart ? frames * pitch(problem) : 0;
    const uint64_t sum_pitch = conv::workspace_part(bound.problem.output_frame_bytes()),
                   part_bytes = frames * sum_pitch;
    plan.workspace_bytes = stored_bytes + (splits > 1 ? splits * part_bytes : 0);
    plan.packing.layout = std::string(is_folded(course.conv) ? "sub-pixel " : "") + "FQRSC " +
                          element_name(problem.input.element) + " in k blocks of " + std::to_string(kernel->tile.bk) +
                          (kernel->path == ConvPath::Padded ? ", whole ones a tap" : "");
    plan.packing.pack = [kernel, problem](const conv::ConvParameters& parameters) {
        const auto padded = [&](std::span<const float> values) {
            return values.empty() ? std::vector<float>{} : pack_channels(problem, values);
        };
        std::vector<float> scales;
        if (!problem.unscaled()) {
            scales.assign(static_cast<size_t>(problem.filter.k), problem.product_scale());
            for (size_t k = 0; k < parameters.scales.size(); ++k) scales[k] *= parameters.scales[k];
        }
        return conv::PackedParameters{pack_filter(problem, *kernel, parameters.filter),
                                      padded(parameters.bias),
                                      padded(parameters.gamma),
                                      padded(scales),
                                      {}};
    };
    set_packing_on_device(plan, problem, *kernel);
    plan.steps = [=](const ConvTensors& tensors, const conv::ParameterAddresses& parameters, const conv::EncodeMap&) {
        std::vector<std::byte*> output(tensors.output.begin(), tensors.output.end()), sums;
        for (size_t i = 0; apart && i < tensors.normed.size(); ++i)
            output.push_back(tensors.workspace + i * pitch(problem));
        for (size_t i = 0; splits > 1 && i < frames; ++i)
            sums.push_back(tensors.workspace + stored_bytes + i * sum_pitch);
        const auto input = tap_frames(problem, tensors.input);
        const auto stored = addresses<void*>(std::span<std::byte* const>(splits > 1 ? sums : output));
        const auto normed = addresses<void*>(tensors.normed);
        const auto source = addresses<const void*>(tensors.residual);
        std::vector<ConvStep> steps;
        for (const FourWaveConvLaunch& launch : launches(bound, {.input = input,
                                                                .output = stored,
                                                                .split_bytes = part_bytes,
                                                                .source = source,
                                                                .normed = normed,
                                                                .filter = parameters.filter,
                                                                .bias = parameters.bias,
                                                                .gamma = parameters.gamma,
                                                                .scales = splits > 1 ? nullptr : parameters.scales}))
            steps.emplace_back(conv::ConvLaunch{.grid = {launch.workgroups, 1, 1},
                                                .threads = bound.threads,
                                                .arguments = conv::Arguments::of(launch.params)});
        if (splits > 1) {
            const std::vector<const std::byte*> read(sums.begin(), sums.end());
            append_join(steps, 1, problem, splits, read, output, tensors.residual, parameters, part_bytes);
        }
        if (after) {
            const std::vector<const std::byte*> read(output.begin(), output.end());
            append_norm(steps, norm_kernel, problem, parameters.gamma, read, tensors.normed);
        }
        return steps;
    };
    return plan;
}

/// Names of a tile, with and without its k block, and of the same with K in parts: "256x192", "256x192x64",
/// "256x192@N", "256x192x64@N".
struct TileName {
    ConvTile tile;
    std::string name;
    bool in_parts;
};

const std::vector<TileName>& tile_names() {
    static const std::vector<TileName> kNames = [] {
        std::vector<TileName> names;
        for (const ConvKernel& kernel : kConvKernels) {
            if (std::ranges::find(names, kernel.tile, &TileName::tile) != names.end()) continue;
            const std::string area = std::to_string(kernel.tile.bm) + "x" + std::to_string(kernel.tile.bn);
            for (const std::string& name : {area, area + "x" + std::to_string(kernel.tile.bk)}) {
                names.push_back({kernel.tile, name, false});
                names.push_back({kernel.tile, name + "@N", true});
            }
        }
        return names;
    }();
    return kNames;
}

/// The cheapest kernel of a tile with one of its names, K in so many parts; none if no such tile takes the problem.
ConvChoice choice_of(const ConvProblem& p, const conv::Chip& chip, std::string_view name, uint32_t parts) {
    ConvChoice best;
    for (const TileName& tile : tile_names()) {
        if (tile.name != name) continue;
        const ConvChoice choice = choose_kernel_of_tile(without_norm(p), chip, tile.tile, parts);
        if (choice.kernel != nullptr &&
            (best.kernel == nullptr || estimated_seconds(p, choice, chip) < estimated_seconds(p, best, chip)))
            best = choice;
    }
    return best;
}

std::vector<std::string_view> named_tiles(const ConvProblem& p, const conv::Chip& chip) {
    std::vector<std::pair<double, std::string_view>> fitting;
    for (const TileName& tile : tile_names()) {
        const std::string_view name = tile.name;
        const bool listed =
            std::ranges::find(fitting, name, [](const auto& row) { return row.second; }) != fitting.end();
        if (listed || (tile.in_parts && p.filter.k % 8 != 0)) continue;
        const ConvChoice choice = choice_of(p, chip, name.substr(0, name.find('@')), 1);
        if (choice.kernel != nullptr) fitting.emplace_back(course_with(p, chip, choice).seconds, name);
    }
    std::ranges::stable_sort(fitting, {}, [](const auto& row) { return row.first; });
    std::vector<std::string_view> names;
    for (const auto& [seconds, name] : fitting) names.push_back(name);
    return names;
}

ConvPlan plan_named(const ConvProblem& p, const conv::Chip& chip, std::string_view name) {
    const size_t at = name.find('@');
    const uint32_t parts =
        at == std::string_view::npos ? 1 : static_cast<uint32_t>(std::stoul(std::string(name.substr(at + 1))));
    return plan_of(p, chip, course_with(p, chip, choice_of(p, chip, name.substr(0, at), parts)));
}

}  // namespace

std::span<const conv::ConvMethod> methods() {
    static const conv::ConvMethod kMethods[] = {
        {"four-wave-gfx950",
         "implicit GEMM on gfx950's matrix units, frames read in place",
         four_wave_gates(),
         plan_four_wave,
         conv::Rounding::Once,
         {named_tiles, plan_named}},
        {"im2col-gfx950", "a matrix of all taps and its product on gfx950", im2col_gates(), plan_im2col},
    };
    return kMethods;
}

std::span<const conv::ConvModel> models() {
    static constexpr auto kBeside = [](const ConvProblem& problem, const conv::Chip& chip) {
        return plan_four_wave(problem, chip).seconds;
    };
    static const conv::ConvModel kModels[] = {
        {"winograd-time-gfx950", winograd_gates(), winograd_seconds, "four-wave-gfx950", kBeside}};
    return kModels;
}

std::span<const conv::KnownDevice> devices() {
    static constexpr conv::KnownDevice kDevices[] = {
        {"hip", "gfx950", "AMD Instinct MI355X", 288ULL << 30U, 256, 160 << 10U, 2.0e9, 8e12},
    };
    return kDevices;
}

ConvPlan plan_four_wave(const ConvProblem& problem, const conv::Chip& chip) {
    return plan_of(problem, chip, course_of(problem, chip, Splitting::WherePaying));
}

ConvPlan plan_product(const ConvProblem& problem, const conv::Chip& chip) {
    return plan_of(problem, chip, course_of(problem, chip, Splitting::Never));
}

}  // namespace kinetograph::gfx950
