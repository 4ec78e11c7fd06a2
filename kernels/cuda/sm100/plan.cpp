#include <kinetograph/kernels/cuda/sm100/plan.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/host/pass_launch.hpp>
#include <kinetograph/kernels/cuda/host/passes.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/gates.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>
#include <kinetograph/kernels/cuda/sm100/pack.hpp>
#include <kinetograph/kernels/cuda/sm100/winograd_model.hpp>

namespace kinetograph::sm100 {
namespace {

using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;

/// Frames of one launch.
struct Frames {
    std::span<const std::byte*const> input, residual;
    std::span<std::byte* const> output;

    /// The first of each: the addresses of dense tensors.
    Frames first() const {
        return {input.first(1), residual.first(std::min<size_t>(residual.size(), 1)), output.first(1)};
    }
};

/// The part of a request for an entry that follows from the problem.
EntryRequest request_of(const ConvProblem& problem, Activation activation, EntryFunction function) {
    return {.activation = activation,
            .source = problem.residual ? Source::Residual : Source::None,
            .function = problem.activation == conv::Activation::Silu ? EntryFunction::SiluInRegisters : function};
}

/// "conv2d_Frames2d_2sm_128b_n192@4" in two.
struct NamedKernel {
    std::string_view entry;
    uint32_t panel = 0;  ///< Conv2dGeometry::panel; 0: the model's choice

    explicit NamedKernel(std::string_view name) : entry(name.substr(0, name.find('@'))) {
        if (entry.size() < name.size())
            std::from_chars(name.data() + entry.size() + 1, name.data() + name.size(), panel);
    }
};

/// The entry called `kernel`, or the cheapest if that is empty; null if this form of activation has no such entry.
const Conv2dEntry* find(const ConvProblem& problem, Activation activation, const conv::Chip& chip,
                        std::string_view kernel) {
    const bool sums = kernel.starts_with("conv2d_channel_sums");
    EntryRequest request = request_of(problem, activation, sums ? EntryFunction::ChannelSums : EntryFunction::None);
    request.kernel = kernel;
    return choose_entry(problem, request, rates_of(chip));
}

const Conv2dEntry& choose(const ConvProblem& problem, Activation activation, const conv::Chip& chip) {
    const Conv2dEntry* entry = find(problem, activation, chip, {});
    assert(entry != nullptr);  // gates admit only what is built
    return *entry;
}

/// The entries that a caller may name.
void append_kernels(std::vector<std::string_view>& names, const ConvProblem& problem, Activation activation,
                    const conv::Chip& chip) {
    for (const EntryFunction function : {EntryFunction::None, EntryFunction::ChannelSums}) {
        if (function == EntryFunction::ChannelSums && problem.activation != conv::Activation::None) continue;
        for (const Conv2dEntry* entry :
             entries_for(problem, request_of(problem, activation, function), rates_of(chip))) {
            names.emplace_back(entry->name);
            if (problem.filter.k > int64_t{entry->config.mma.n} * entry->config.cluster.y)
                names.emplace_back(entry->walked);
        }
    }
}

/// An entry and the width of the panels in which its tiles are walked; 0: the model's choice.
struct WalkedEntry {
    const Conv2dEntry* entry;
    uint32_t panel = 0;

    uint32_t panel_of(const ConvProblem& problem, const ChipRates& rates) const {
        return panel != 0 ? panel : estimate(entry->config, problem, rates).panel;
    }
};

ConvStep launch(const WalkedEntry& walked, uint32_t kernel, const ConvProblem& problem, const Frames& frames,
                const conv::ParameterAddresses& parameters, const ConvTensors& tensors, const ChipRates& rates,
                const conv::EncodeMap& encode) {
    const Conv2dEntry& entry = *walked.entry;
    const auto input = map_addresses(frames.input), residual = map_addresses(frames.residual);
    const auto output = map_addresses(frames.output);
    return entry_launch(entry, kernel,
                        plan_launch(entry.config, problem,
                                    {.activation = input,
                                     .filter = const_cast<std::byte*>(parameters.filter),
                                     .output = output,
                                     .source = residual,
                                     .panel = walked.panel_of(problem, rates)}),
                        {.bias = parameters.bias,
                         .scales = parameters.scales,
                         .alpha = problem.product_scale(),
                         .beta = problem.residual ? problem.beta : 0,
                         .channel_sums = reinterpret_cast<float*>(tensors.workspace)},
                        encode);
}

/// The norm as a last pass; its kernel is the plan's last.
void add_norm(ConvPlan& plan, const ConvProblem& problem, const conv::Chip& chip) {
    if (problem.norm == conv::Norm::None) return;
    plan.kernels.push_back(cuda::norm_kernel(problem));
    plan.seconds += cuda::norm_seconds(problem, chip);
    plan.steps = [bare = std::move(plan.steps), problem, kernel = static_cast<uint32_t>(plan.kernels.size() - 1)](
                     const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                     const conv::EncodeMap& encode) {
        // An output that only the norm reads is normalised in place.
        ConvTensors convolved = tensors;
        if (problem.norm == conv::Norm::Instead) convolved.output = tensors.normed;
        std::vector<ConvStep> steps = bare(convolved, parameters, encode);
        cuda::append_norm(steps, kernel, problem, parameters, convolved.output, tensors.normed);
        return steps;
    };
}

/// The problem on the image that the taps see.
ConvProblem as_seen(ConvProblem problem) {
    problem.h = problem.h_seen();
    problem.w = problem.w_seen();
    problem.upsample = false;
    return problem;
}

/// Frames doubled into the workspace, before the plan's own steps; the pass is the plan's last kernel.
void add_upsampling(ConvPlan& plan, const ConvProblem& problem, const conv::Chip& chip) {
    const auto pixel_bytes = static_cast<uint32_t>(problem.c_in) * element_bytes(problem.input.element);
    const uint32_t unit = cuda::upsample_unit(pixel_bytes);
    const auto room = conv::workspace_part(plan.workspace_bytes);
    const uint64_t frame_bytes = as_seen(problem).input_frame_bytes();
    const auto frames = static_cast<uint64_t>(problem.frames_in());
    plan.kernels.push_back({"sm80_upsample_" + std::to_string(unit), "frame_passes"});
    plan.workspace_bytes = room + frames * frame_bytes;
    plan.seconds +=
        conv::kLaunchSeconds + cuda::traffic_seconds(1.25 * static_cast<double>(frames * frame_bytes), chip);
    plan.steps = [seen = std::move(plan.steps), problem, room, frame_bytes, pixel_units = pixel_bytes / unit,
                  kernel = static_cast<uint32_t>(plan.kernels.size() - 1)](const ConvTensors& tensors,
                                                                           const conv::ParameterAddresses& parameters,
                                                                           const conv::EncodeMap& encode) {
        std::vector<std::byte*> doubled;
        for (size_t i = 0; i < tensors.input.size(); ++i) doubled.push_back(tensors.workspace + room + i * frame_bytes);
        std::vector<ConvStep> steps;
        const uint32_t row_units = static_cast<uint32_t>(problem.w) * pixel_units;
        cuda::append_pass(
            steps, kernel, cuda::UpsampleParams{.frames = {}, .row_units = row_units, .pixel_units = pixel_units},
            tensors.input, doubled,
            [&](uint32_t count) { return cuda::upsample_launch(row_units, static_cast<uint32_t>(problem.h), count); });
        const std::vector<const std::byte*> input(doubled.begin(), doubled.end());
        ConvTensors rest = tensors;
        rest.input = input;
        std::ranges::copy(seen(rest, parameters, encode), std::back_inserter(steps));
        return steps;
    };
}

/// The plan that `kPlan` makes (with the named kernel if one is given), after a pass that doubles the frames and before
/// one that norms the output if the problem has these.
template <auto kPlan, class... Kernel>
ConvPlan completed(const ConvProblem& problem, const conv::Chip& chip, Kernel... kernel) {
    const ConvProblem seen = as_seen(problem);
    ConvPlan plan = kPlan(seen, chip, kernel...);
    add_norm(plan, seen, chip);
    if (problem.upsample) add_upsampling(plan, problem, chip);
    return plan;
}

template <auto kKernels>
std::vector<std::string_view> kernels_of_seen(const ConvProblem& problem, const conv::Chip& chip) {
    return kKernels(as_seen(problem), chip);
}
template <auto kKernels, auto kPlanWith>
constexpr conv::KernelChoice kChoice{kernels_of_seen<kKernels>, completed<kPlanWith, std::string_view>};

}  // namespace

std::span<const conv::ConvMethod> methods() {
    static const conv::ConvMethod kMethods[] = {
        {"implicit-gemm-sm100",
         "implicit GEMM of halos on SM100's tensor memory: frames in place, upsampled or normed on the way",
         implicit_gemm_gates(),
         plan_implicit_gemm,
         conv::Rounding::Once,
         {halo_kernels, plan_implicit_gemm_with}},
        {"conv2d-sm100", "implicit GEMM of images on SM100's tensor memory", conv2d_gates(), completed<plan_conv2d>,
         conv::Rounding::Once, kChoice<conv2d_kernels, plan_conv2d_with>},
        {"conv3d-sm100", "causal implicit GEMM in one launch on SM100's tensor memory", conv3d_gates(),
         completed<plan_conv3d>, conv::Rounding::Once, kChoice<conv3d_kernels, plan_conv3d_with>},
        {"q-slice-sm100", "a 2-D implicit GEMM a temporal tap on SM100, its epilogue adding fp32 sums", q_slice_gates(),
         completed<plan_q_slice>, conv::Rounding::Once, kChoice<q_slice_kernels, plan_q_slice_with>},
        {"q-slice-rounded-sm100", "a 2-D implicit GEMM a temporal tap on SM100, its bf16 results added by a pass",
         q_slice_gates(), completed<plan_rounded_q_slice>, conv::Rounding::Between,
         kChoice<rounded_q_slice_kernels, plan_rounded_q_slice_with>},
        {"im2col-sm100", "a matrix of all taps and its product on SM100's tensor memory", im2col_gates(),
         completed<plan_im2col>, conv::Rounding::Once, kChoice<im2col_kernels, plan_im2col_with>},
    };
    return kMethods;
}

std::span<const conv::ConvModel> models() {
    static constexpr auto kSeconds = [](const ConvProblem& problem, const conv::Chip& chip) {
        return winograd_seconds(problem, chip);
    };
    static constexpr auto kBeside = [](const ConvProblem& problem, const conv::Chip& chip) {
        return plan_implicit_gemm(problem, chip).seconds;
    };
    static const conv::ConvModel kModels[] = {
        {"winograd-time-sm100", winograd_gates(), kSeconds, "implicit-gemm-sm100", kBeside}};
    return kModels;
}

std::span<const conv::KnownDevice> devices() {
    static constexpr conv::KnownDevice kDevices[] = {
        {"cuda", "sm_100", "NVIDIA B200", 180ULL << 30U, 148, 227 << 10U, 1.86e9, 8e12},
    };
    return kDevices;
}

namespace {

/// Says what a plan counts on if the kernel's CTAs form clusters.
void state_clusters(ConvPlan& plan, const Conv2dConfig& config, const ChipRates& rates) {
    if (config.cluster.size() == 1) return;
    plan.cluster = config.cluster.size();
    plan.clusters_at_once = rates.clusters_at_once(plan.cluster);
}

/// A call's frames as images.
ConvProblem images_of(ConvProblem problem) {
    problem.n *= problem.d;
    problem.d = 1;
    return problem;
}

ConvPlan plan_images(const ConvProblem& problem, const conv::Chip& chip, const WalkedEntry& walked) {
    const Conv2dEntry& entry = *walked.entry;
    const ChipRates rates = rates_of(chip);
    ConvPlan plan;
    plan.kernels = {kernel_name(entry)};
    state_clusters(plan, entry.config, rates);
    plan.seconds = conv::kLaunchSeconds + estimate(entry.config, images_of(problem), rates).seconds;
    if (entry.function == EntryFunction::ChannelSums)
        plan.workspace_bytes = static_cast<uint64_t>(problem.filter.k) * sizeof(float);
    plan.packing = filter_packing(problem);
    plan.steps = [walked, rates, problem](const ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                                          const conv::EncodeMap& encode) {
        std::vector<ConvStep> steps;
        Frames left{tensors.input, tensors.residual, tensors.output};
        while (!left.input.empty()) {
            size_t count = adjoining(left.input, problem.input_frame_bytes());
            count = std::min(count, adjoining(left.output, problem.output_frame_bytes()));
            if (problem.residual) count = std::min(count, adjoining(left.residual, problem.output_frame_bytes()));
            ConvProblem images = images_of(problem);
            images.n = static_cast<int64_t>(count);
            steps.push_back(launch(walked, 0, images, left.first(), parameters, tensors, rates, encode));
            left = {left.input.subspan(count), problem.residual ? left.residual.subspan(count) : left.residual,
                    left.output.subspan(count)};
        }
        return steps;
    };
    return plan;
}

/// A window takes frames at any addresses, a volume contiguous ones; the volume's entry may be null.
ConvPlan plan_volume(const ConvProblem& problem, const conv::Chip& chip, const WalkedEntry& window,
                     const WalkedEntry& volume) {
    const ChipRates rates = rates_of(chip);
    ConvPlan plan;
    plan.kernels = {kernel_name(*window.entry)};
    state_clusters(plan, window.entry->config, rates);
    if (volume.entry != nullptr) plan.kernels.push_back(kernel_name(*volume.entry));
    plan.seconds = conv::kLaunchSeconds + estimate(window.entry->config, problem, rates).seconds;
    plan.packing = filter_packing(problem);
    plan.steps = [window, volume, rates, problem](const ConvTensors& tensors,
                                                  const conv::ParameterAddresses& parameters,
                                                  const conv::EncodeMap& encode) {
        const Frames frames{tensors.input, tensors.residual, tensors.output};
        const bool dense = volume.entry != nullptr && all_adjoin(frames.input, problem.input_frame_bytes()) &&
                           all_adjoin(frames.output, problem.output_frame_bytes()) &&
                           all_adjoin(frames.residual, problem.output_frame_bytes());
        std::vector<ConvStep> steps;
        steps.push_back(dense ? launch(volume, 1, problem, frames.first(), parameters, tensors, rates, encode)
                              : launch(window, 0, problem, frames, parameters, tensors, rates, encode));
        return steps;
    };
    return plan;
}

/// Whether the corners of a rank-5 map reach all taps.
bool fits_volume(const ConvProblem& problem) { return conv::reasons(gates(Activation::Volume3d), problem).empty(); }

}  // namespace

ConvPlan plan_conv2d(const ConvProblem& problem, const conv::Chip& chip) {
    return plan_images(problem, chip, {&choose(images_of(problem), Activation::Frames2d, chip)});
}

std::vector<std::string_view> conv2d_kernels(const ConvProblem& problem, const conv::Chip& chip) {
    std::vector<std::string_view> names;
    append_kernels(names, images_of(problem), Activation::Frames2d, chip);
    return names;
}

ConvPlan plan_conv2d_with(const ConvProblem& problem, const conv::Chip& chip, std::string_view kernel) {
    const NamedKernel name(kernel);
    return plan_images(problem, chip, {find(images_of(problem), Activation::Frames2d, chip, name.entry), name.panel});
}

ConvPlan plan_conv3d(const ConvProblem& problem, const conv::Chip& chip) {
    return plan_volume(problem, chip, {&choose(problem, Activation::Window3d, chip)},
                       {fits_volume(problem) ? &choose(problem, Activation::Volume3d, chip) : nullptr});
}

std::vector<std::string_view> conv3d_kernels(const ConvProblem& problem, const conv::Chip& chip) {
    std::vector<std::string_view> names;
    append_kernels(names, problem, Activation::Window3d, chip);
    if (fits_volume(problem)) append_kernels(names, problem, Activation::Volume3d, chip);
    return names;
}

ConvPlan plan_conv3d_with(const ConvProblem& problem, const conv::Chip& chip, std::string_view kernel) {
    const NamedKernel name(kernel);
    const Conv2dEntry* window = find(problem, Activation::Window3d, chip, name.entry);
    if (window != nullptr) return plan_volume(problem, chip, {window, name.panel}, {nullptr});
    return plan_volume(problem, chip, {&choose(problem, Activation::Window3d, chip)},
                       {find(problem, Activation::Volume3d, chip, name.entry), name.panel});
}

}  // namespace kinetograph::sm100
