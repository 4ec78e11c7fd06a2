#include <kinetograph/compute/conv/direct/convolution.hpp>
#include <kinetograph/compute/conv/direct/plane_winograd.hpp>
#include <kinetograph/compute/conv/direct/tile_kernels.hpp>
#include <kinetograph/compute/conv/direct/winograd.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/onednn/convolution.hpp>
#include <kinetograph/compute/conv/reference/convolution.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/kernels/conv/chips.hpp>
#include <kinetograph/kernels/conv/sub_pixel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <tuple>
#include <utility>

namespace kinetograph::conv {
namespace {

/// Whether some output frame has all its taps in the padding.
bool sees_only_padding(const ConvProblem& p) {
    for (std::int64_t t = 0; t < p.d_out(); ++t) {
        bool meets_input = false;
        for (std::int64_t q = 0; q < p.filter.q; ++q) {
            const std::int64_t frame = t * p.stride.d + q * p.dilation.d - p.pad.front;
            meets_input |= frame >= 0 && frame < p.d;
        }
        if (!meets_input) return true;
    }
    return false;
}

constexpr Gate<Subject> kOnCpu{"a CPU device", [](const Subject& s) { return s.chip.kind == "cpu"; },
                               [](const Subject& s) { return s.chip.kind; }};

bool has_feature(const Subject& subject, std::string_view feature) {
    return subject.chip.features.find(feature) != std::string::npos;
}

std::string features(const Subject& subject) { return subject.chip.features.empty() ? "none" : subject.chip.features; }

constexpr Gate<Subject> kF32OrBf16{
    "fp32 or bf16",
    [](const Subject& s) {
        return s.problem.input.element == Element::F32 || s.problem.input.element == Element::BF16;
    },
    [](const Subject& s) { return std::string(element_spelling(s.problem.input.element)); }};

constexpr Gate<Subject> kEvenChannels{
    "an even number of input channels in a group for bf16",
    [](const Subject& s) {
        return s.problem.input.element == Element::F32 || s.problem.c_in / s.problem.groups % 2 == 0;
    },
    [](const Subject& s) { return fmt::format("{}", s.problem.c_in / s.problem.groups); }};

// Below it oneDNN 2.6 convolves interleaved channels by a matrix product alone, which faults.
constexpr Gate<Subject> kAvx2{"AVX2", [](const Subject& s) { return has_feature(s, "avx2"); }, features};
constexpr Gate<Subject> kAvx512Bf16{
    "AVX512_BF16 for bf16",
    [](const Subject& s) { return s.problem.input.element == Element::F32 || has_feature(s, "avx512_bf16"); },
    features};

constexpr Gate<Subject> kBytesGates[] = {
    kOnCpu,
    {"an input of u8", [](const Subject& s) { return s.problem.multiplies_integers(); }, met_dtype},
    {"input channels a multiple of 4", [](const Subject& s) { return s.problem.c_in % 4 == 0; },
     [](const Subject& s) { return fmt::format("{}", s.problem.c_in); }},
    kNoUpsampling,
    kUngrouped,
};

constexpr Gate<Subject> kDirectGates[] = {
    kOnCpu,
    kF32OrBf16,
    {"3x3 taps of stride 1 and padding 1 on an input to upsample",
     [](const Subject& s) { return !s.problem.upsample || is_sub_pixel(s.problem); },
     [](const Subject& s) {
         const ConvProblem& p = s.problem;
         return fmt::format("{}x{}, stride {}, dilation {}, pad {},{},{},{}", p.filter.r, p.filter.s, met(p.stride),
                            met(p.dilation), p.pad.top, p.pad.bottom, p.pad.left, p.pad.right);
     }},
    kUnscaled,
    kAvx2,
    kUngrouped,
};

constexpr Gate<Subject> kDoubledGates[] = {
    kOnCpu,
    kF32OrBf16,
    {"an input to upsample", [](const Subject& s) { return s.problem.upsample; },
     [](const Subject&) { return std::string("one as it lies in memory"); }},
    kUnscaled,
    kAvx2,
    kUngrouped,
};

constexpr Gate<Subject> kWinogradGates[] = {
    kOnCpu,
    kF32OrBf16,
    kNoUpsampling,
    kUnscaled,
    kAvx2,
    kUngrouped,
    kStride1,
    kDilation1,
    {"three temporal taps", [](const Subject& s) { return s.problem.filter.q == 3; },
     [](const Subject& s) { return fmt::format("{}", s.problem.filter.q); }},
    kTwoFrames,
    // With fewer, transforming the frames costs more than the products that it saves.
    {"more than 4 output channels", [](const Subject& s) { return s.problem.filter.k > direct::kMaxNarrow; },
     [](const Subject& s) { return fmt::format("{}", s.problem.filter.k); }},
};

constexpr Gate<Subject> kPlaneWinogradGates[] = {
    kOnCpu,
    kF32OrBf16,
    kNoUpsampling,
    kUnscaled,
    kAvx2,
    kUngrouped,
    kStride1,
    kDilation1,
    {"3x3 taps in a plane", [](const Subject& s) { return s.problem.filter.r == 3 && s.problem.filter.s == 3; },
     [](const Subject& s) { return fmt::format("{}x{}", s.problem.filter.r, s.problem.filter.s); }},
    // With fewer, transforming the pixels costs more than the products that it saves.
    {"input channels a multiple of 16, and 16 output channels or more",
     [](const Subject& s) { return s.problem.c_in % 16 == 0 && s.problem.filter.k >= 16; },
     [](const Subject& s) { return fmt::format("{} and {}", s.problem.c_in, s.problem.filter.k); }},
    // With more, the transformed pixels of a few tiles leave a second-level cache, and filters are read for too few.
    {"up to 320 input channels, times temporal taps",
     [](const Subject& s) { return s.problem.c_in * s.problem.filter.q <= 320; },
     [](const Subject& s) { return fmt::format("{} times {}", s.problem.c_in, s.problem.filter.q); }},
    // Which multiply twice as many pixels a cycle.
    {"fp32, or a processor without products of bf16",
     [](const Subject& s) { return s.problem.input.element == Element::F32 || !has_feature(s, "avx512_bf16"); },
     features},
};

constexpr Gate<Subject> kMeetsInput{
    "every output frame to meet an input frame", [](const Subject& s) { return !sees_only_padding(s.problem); },
    [](const Subject& s) {
        const ConvProblem& p = s.problem;
        return fmt::format("{} frames, {} taps, pad {} before and {} after", p.d, p.filter.q, p.pad.front, p.pad.back);
    }};

/// Rows or columns from a filter's first tap to its last.
std::int64_t reach(std::int64_t taps, std::int64_t dilation) { return (taps - 1) * dilation + 1; }

// oneDNN 2.6's im2col writes out of bounds where a filter extends beyond the image on both sides.
constexpr Gate<Subject> kFitsImage{"a filter no larger than the image",
                                   [](const Subject& s) {
                                       const ConvProblem& p = s.problem;
                                       return reach(p.filter.r, p.dilation.h) <= p.h_seen() &&
                                              reach(p.filter.s, p.dilation.w) <= p.w_seen();
                                   },
                                   [](const Subject& s) {
                                       const ConvProblem& p = s.problem;
                                       return fmt::format("{}x{} on {}x{}", reach(p.filter.r, p.dilation.h),
                                                          reach(p.filter.s, p.dilation.w), p.h_seen(), p.w_seen());
                                   }};

// For small groups oneDNN falls back from generated code to a matrix product, which terminates the process.
constexpr Gate<Subject> kWholeVectors{"AVX-512 for groups of channels that are not a multiple of 8",
                                      [](const Subject& s) {
                                          const ConvProblem& p = s.problem;
                                          return has_feature(s, "avx512f") || p.groups == 1 ||
                                                 (p.c_in / p.groups % 8 == 0 && p.filter.k / p.groups % 8 == 0);
                                      },
                                      features};

constexpr Gate<Subject> kOneDnnGates[] = {
    kOnCpu,
    kF32OrBf16,
    kAvx2,
    kUnscaled,
    kMeetsInput,
    kFitsImage,
    // With AVX-512 alone oneDNN emulates the products, in 2.8 times the time of widened ones.
    kAvx512Bf16,
    kEvenChannels,  // oneDNN 2.6 reads past an odd last channel: seen with 17
    kWholeVectors,
};

constexpr Gate<Subject> kWidenedGates[] = {
    kOnCpu,
    kAvx2,
    kUnscaled,
    kMeetsInput,
    kFitsImage,
    {"bf16 activations", [](const Subject& s) { return s.problem.input.element == Element::BF16; },
     [](const Subject& s) { return std::string(element_spelling(s.problem.input.element)); }},
    kWholeVectors,
};

constexpr Gate<Subject> kReferenceGates[] = {
    kOnCpu,
    {"fp32 or bf16 frames to norm",
     [](const Subject& s) { return s.problem.norm == Norm::None || s.problem.output.element != Element::F16; },
     [](const Subject& s) { return std::string(element_spelling(s.problem.output.element)); }},
};

/// AMX: on 16 threads of a Xeon 1.3 to 8 times as fast as our loops, in each layer of a decoder.
bool multiplies_tiles(const Subject& s) {
    return s.problem.input.element == Element::BF16 && s.chip.features.find("amx_bf16") != std::string::npos;
}

constexpr Candidate kCpu[] = {
    {{.name = "winograd-planes-cpu",
      .summary = "F(2x2,3x3) in the planes of frames in our loops, all of it in float32",
      .gates = kPlaneWinogradGates,
      .plan = nullptr,
      .bytes = true},
     direct::create_plane_winograd},
    {{.name = "winograd-time-cpu",
      .summary = "F(2,3) along time in our loops, frames transformed row by row",
      .gates = kWinogradGates,
      .plan = nullptr,
      .rounding = Rounding::Operands,
      .bytes = true},
     direct::create_winograd},
    {{.name = "direct-cpu",
      .summary = "our loops in AVX-512 or AVX2, frames read in place; four 2x2 filters on an input to upsample",
      .gates = kDirectGates,
      .plan = nullptr,
      .bytes = true},
     direct::create},
    {{.name = "direct-bytes-cpu",
      .summary = "u8 times s8 in int32, exact on every processor: AVX-512 VNNI, AVX2 or plain loops",
      .gates = kBytesGates,
      .plan = nullptr,
      .bytes = true},
     direct::create},
    {{.name = "doubled-direct-cpu",
      .summary = "a pass doubles the input, then our loops",
      .gates = kDoubledGates,
      .plan = nullptr,
      .bytes = true},
     direct::create,
     true,
     false},
    {{.name = "onednn-cpu",
      .summary = "generated code in the problem's own dtype, frames read in place",
      .gates = kOneDnnGates,
      .plan = nullptr,
      .bytes = true},
     onednn::create,
     false,
     false,
     multiplies_tiles},
    {{.name = "onednn-f32-cpu",
      .summary = "bf16 widened to float32 frame by frame, then generated float32 code",
      .gates = kWidenedGates,
      .plan = nullptr,
      .bytes = true},
     onednn::create_widened,
     false,
     false},
    {{.name = "reference-cpu",
      .summary = "plain loops, sums in fp64",
      .gates = kReferenceGates,
      .plan = nullptr,
      .carries = true,
      .bytes = true},
     reference::create,
     false,
     true},
};

std::vector<Candidate> all_candidates() {
    std::vector<Candidate> all;
    for (const ChipKernels& chip : chips())
        for (const ConvMethod& method : chip.methods()) all.push_back({method});
    all.insert(all.end(), std::begin(kCpu), std::end(kCpu));
    return all;
}

}  // namespace

std::span<const Candidate> candidates() {
    static const std::vector<Candidate> all = all_candidates();
    return all;
}

namespace {

/// The problem with as many input frames as one output frame takes.
ConvProblem of_one_frame(ConvProblem problem) {
    const std::int64_t reach = problem.dilation.d * (problem.filter.q - 1) + 1;
    problem.n = 1;
    problem.d = std::max<std::int64_t>(1, reach - problem.pad.front - problem.pad.back);
    return problem;
}

bool allows(Sums sums, Rounding rounding) {
    return rounding == Rounding::Once || (sums == Sums::Fast && rounding != Rounding::Between);
}

constexpr Gate<Subject> kNoBytes{
    "an input and a norm of more than 8 bits, or of fp8",
    [](const Subject& s) { return !s.problem.multiplies_integers() && !s.problem.norms_to_bytes(); },
    [](const Subject&) { return std::string("bytes"); }};

constexpr Gate<Subject> kNothingCarried{"sums that begin and end with a call",
                                        [](const Subject& s) { return !s.problem.carried; },
                                        [](const Subject&) { return std::string("carried ones"); }};

/// Why the candidate is closed; "" if it is open.
std::string closed(const Candidate& candidate, const Subject& subject) {
    std::vector<Gate<Subject>> gates(candidate.gates.begin(), candidate.gates.end());
    if (!candidate.carries) gates.push_back(kNothingCarried);
    if (!candidate.bytes) gates.push_back(kNoBytes);
    return reasons(std::span<const Gate<Subject>>(gates), subject);
}

/// `seconds`: of the whole problem. A batch is ranked as a whole: no decoder splits it into steps.
double seconds_a_frame(const Candidate& candidate, const Chip& chip, const ConvProblem& problem, double seconds) {
    const ConvProblem frame = of_one_frame(problem);
    if (frame == problem) return seconds;
    if (problem.n > 1) return seconds / static_cast<double>(std::max<std::int64_t>(1, problem.frames_out()));
    if (frame.d_out() == 1 && closed(candidate, {frame, chip}).empty()) return candidate.plan(frame, chip).seconds;
    return seconds / static_cast<double>(std::max<std::int64_t>(1, problem.frames_out()));
}

}  // namespace

namespace {

/// Why a method with this plan is closed on the device; "" if it is not.
using Lacks = std::function<std::string(std::string_view method, const ConvProblem&, const ConvPlan&)>;

std::string lacks_nothing(std::string_view, const ConvProblem&, const ConvPlan&) { return ""; }

/// Kernels that this build has not, and those that were found to be wrong on the device.
Lacks lacks_on(const accel::DeviceInfo& device) {
    return [&device](std::string_view method, const ConvProblem& problem, const ConvPlan& plan) {
        for (const KernelName& kernel : plan.kernels)
            if (std::string missing = missing_image(device, kernel.image); !missing.empty()) return missing;
        return failed_check(device, method, problem, plan);
    };
}

/// Ranked by `plan`, which is the candidate's for a problem that passes its gates.
DispatchRow row_of(const Candidate& candidate, const Subject& subject, std::string reason,
                   std::shared_ptr<const ConvPlan> plan, const Lacks& lacks) {
    if (plan != nullptr) reason = lacks(candidate.name, subject.problem, *plan);
    DispatchRow row{.candidate = candidate.name, .reason = std::move(reason), .rounding = candidate.rounding};
    row.open = row.reason.empty();
    if (!row.open) return row;
    row.error = expected_error(row.rounding, subject.problem.coarser_operand());
    row.leads = candidate.leads != nullptr && candidate.leads(subject);
    if (plan == nullptr) return row;
    row.unrated = !subject.chip.rated;
    if (subject.chip.rated) {
        row.seconds = plan->seconds;
        row.seconds_a_frame = seconds_a_frame(candidate, subject.chip, subject.problem, plan->seconds);
    }
    row.plan = std::move(plan);
    return row;
}

std::vector<DispatchRow> explain(const Chip& chip, const ConvProblem& problem, Sums sums, std::string_view preferred,
                                 const Lacks& lacks) {
    const Subject subject{problem, chip};
    std::vector<DispatchRow> rows;
    for (const Candidate& candidate : candidates()) {
        std::string reason = closed(candidate, subject);
        const bool plans = reason.empty() && candidate.plan != nullptr;
        rows.push_back(row_of(candidate, subject, std::move(reason),
                              plans ? std::make_shared<const ConvPlan>(candidate.plan(problem, chip)) : nullptr,
                              lacks));
        rows.back().allowed = allows(sums, candidate.rounding) || candidate.name == preferred;
    }
    std::ranges::stable_sort(rows, {}, [&](const DispatchRow& row) {
        if (!row.open) return std::tuple(3, false, 0.0);
        return std::tuple(row.candidate == preferred ? 0 : row.allowed ? 1 : 2, !row.leads, row.seconds_a_frame);
    });
    return rows;
}

/// Whether `kernels` has the kernel. The entry "name@N" stands for "name@1", "name@2" and so on.
bool has_kernel(const std::vector<std::string_view>& kernels, std::string_view kernel) {
    const std::size_t at = kernel.find('@');
    if (at == std::string_view::npos) return std::ranges::find(kernels, kernel) != kernels.end();
    const std::string_view digits = kernel.substr(at + 1);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size() && number > 0 &&
           std::ranges::find(kernels, fmt::format("{}@N", kernel.substr(0, at))) != kernels.end();
}

/// The plan with that kernel; the candidate takes the problem. Errors: InvalidArgument (it has no such kernel for it).
Result<ConvPlan> plan_with(const Candidate& candidate, const Subject& subject, std::string_view kernel) {
    if (candidate.choice.kernels == nullptr)
        return fail(ErrorCode::InvalidArgument, "convolution {}: {} takes no kernel by name; \"{}\" was asked for",
                    subject.problem.to_string(), candidate.name, kernel);
    const std::vector<std::string_view> kernels = candidate.choice.kernels(subject.problem, subject.chip);
    if (!has_kernel(kernels, kernel))
        return fail(ErrorCode::InvalidArgument, "convolution {}: {} has no kernel \"{}\" for it; it has {}",
                    subject.problem.to_string(), candidate.name, kernel, fmt::join(kernels, ", "));
    return candidate.choice.plan(subject.problem, subject.chip, kernel);
}

Result<DispatchRow> explain_named(const Chip& chip, const ConvProblem& problem, std::string_view backend,
                                  const Lacks& lacks) {
    const std::string_view name = backend.substr(0, backend.find(':'));
    const std::string_view kernel = backend.substr(std::min(name.size() + 1, backend.size()));
    KG_TRY(const Candidate* candidate, find_candidate(name));
    const Subject subject{problem, chip};
    std::string reason = closed(*candidate, subject);
    std::shared_ptr<const ConvPlan> plan;
    if (reason.empty() && !kernel.empty()) {
        KG_TRY(auto made, plan_with(*candidate, subject, kernel));
        plan = std::make_shared<const ConvPlan>(std::move(made));
    } else if (reason.empty() && candidate->plan != nullptr) {
        plan = std::make_shared<const ConvPlan>(candidate->plan(problem, chip));
    }
    return row_of(*candidate, subject, std::move(reason), std::move(plan), lacks);
}

}  // namespace

Result<const Candidate*> find_candidate(std::string_view name) {
    const auto found = std::ranges::find(candidates(), name, &Candidate::name);
    if (found != candidates().end()) return &*found;
    std::vector<std::string_view> known;
    for (const Candidate& each : candidates()) known.push_back(each.name);
    return fail(ErrorCode::InvalidArgument, "convolution: no back end is called \"{}\"; there are {}", name,
                fmt::join(known, ", "));
}

std::vector<DispatchRow> explain(const Chip& chip, const ConvProblem& problem, Sums sums, std::string_view preferred) {
    return explain(chip, problem, sums, preferred, lacks_nothing);
}
std::vector<DispatchRow> explain(const accel::DeviceInfo& device, const ConvProblem& problem, Sums sums,
                                 std::string_view preferred) {
    return explain(chip_of(device), problem, sums, preferred, lacks_on(device));
}

Result<DispatchRow> explain_named(const Chip& chip, const ConvProblem& problem, std::string_view backend) {
    return explain_named(chip, problem, backend, lacks_nothing);
}
Result<DispatchRow> explain_named(const accel::DeviceInfo& device, const ConvProblem& problem,
                                  std::string_view backend) {
    return explain_named(chip_of(device), problem, backend, lacks_on(device));
}

std::vector<ModelRow> explain_models(const Chip& chip, const ConvProblem& problem) {
    std::vector<ModelRow> rows;
    for (const ChipKernels& folder : chips())
        for (const ConvModel& model : folder.models())
            if (reasons(model.gates, {problem, chip}).empty())
                rows.push_back(
                    {model.name, model.beside, model.seconds(problem, chip), model.seconds_beside(problem, chip)});
    return rows;
}

namespace {

std::string predicted(const DispatchRow& row) {
    const std::string error = row.error > 0 ? fmt::format(", error {:.1e}", row.error) : "";
    if (row.unrated) return ", no rates of this chip to predict by" + error;
    const std::string clusters =
        row.plan != nullptr && row.plan->clusters_at_once > 0
            ? fmt::format(", {} clusters of {} CTAs at once", row.plan->clusters_at_once, row.plan->cluster)
            : "";
    return row.seconds ? fmt::format(", {:.3f} ms predicted{}{}", 1e3 * *row.seconds, error, clusters) : error;
}

}  // namespace

std::string to_string(std::span<const DispatchRow> rows) {
    std::size_t width = 0;
    for (const DispatchRow& row : rows) width = std::max(width, row.candidate.size());
    std::string text;
    for (const DispatchRow& row : rows) {
        text += fmt::format("  {:<{}}  {}\n", row.candidate, width,
                            row.open ? "open" + predicted(row) : "closed: " + row.reason);
    }
    return text;
}

std::string to_string(std::span<const ModelRow> models) {
    std::string text = models.empty() ? "" : "models, without kernels:\n";
    for (const ModelRow& row : models)
        text += fmt::format("  {}  {:.3f} ms predicted, {} {:.3f} ms\n", row.model, 1e3 * row.seconds, row.beside,
                            1e3 * row.seconds_beside);
    return text;
}

}  // namespace kinetograph::conv
