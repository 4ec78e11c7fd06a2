#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/doubled_before.hpp>
#include <kinetograph/compute/conv/norm_after.hpp>
#include <kinetograph/compute/conv/planned.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/compute/conv/validate.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace kinetograph::conv {
namespace {

Result<void> check_parameters(const ConvProblem& problem, const ConvParameters& parameters) {
    const auto filter = static_cast<std::uint64_t>(problem.filter_elements());
    if (parameters.filter.size() != filter) {
        return fail(ErrorCode::InvalidArgument, "convolution {}: filter has {} elements, wanted {}",
                    problem.to_string(), parameters.filter.size(), filter);
    }
    const std::uint64_t bias = problem.bias ? static_cast<std::uint64_t>(problem.filter.k) : 0;
    if (parameters.bias.size() != bias) {
        return fail(ErrorCode::InvalidArgument, "convolution {}: bias has {} elements, wanted {}", problem.to_string(),
                    parameters.bias.size(), bias);
    }
    const std::uint64_t scales = problem.channel_scales ? static_cast<std::uint64_t>(problem.filter.k) : 0;
    if (parameters.scales.size() != scales) {
        return fail(ErrorCode::InvalidArgument, "convolution {}: there are {} channel scales, wanted {}",
                    problem.to_string(), parameters.scales.size(), scales);
    }
    const std::uint64_t gamma = problem.norm == Norm::None ? 0 : static_cast<std::uint64_t>(problem.filter.k);
    if (parameters.gamma.size() != gamma) {
        return fail(ErrorCode::InvalidArgument, "convolution {}: gamma has {} elements, wanted {}", problem.to_string(),
                    parameters.gamma.size(), gamma);
    }
    const std::uint64_t folds = problem.norms_to_bytes() ? static_cast<std::uint64_t>(problem.filter.k) : 0;
    if (parameters.folds.size() != folds) {
        return fail(ErrorCode::InvalidArgument, "convolution {}: there are {} folds, wanted {}", problem.to_string(),
                    parameters.folds.size(), folds);
    }
    return {};
}

/// The sentence of an Unsupported: what is open is not allowed.
Error nothing_open(const ConvProblem& problem, std::vector<DispatchRow> rows) {
    for (DispatchRow& row : rows) {
        if (!row.open) continue;
        row.open = false;
        row.reason = row.rounding == Rounding::Between ? "it rounds between its sums: by name only"
                                                       : "its sums are not exact: for fast sums, or by name";
    }
    std::string list = to_string(rows);
    list.pop_back();  // the final newline: the sentence of an error has none
    return {ErrorCode::Unsupported, fmt::format("convolution {}: no back end is open:\n{}", problem.to_string(), list)};
}

/// The predicted time and the runner-up. Rows are best first.
std::string reason_of(std::span<const DispatchRow> rows, const DispatchRow& taken) {
    std::string text = taken.seconds ? fmt::format("{:.1f} us predicted", 1e6 * *taken.seconds) : "first of the open";
    const auto next = std::ranges::find_if(rows, [&](const DispatchRow& row) { return row.open && &row > &taken; });
    if (next == rows.end()) return text + "; the only one that is open";
    text += fmt::format("; next {}", next->candidate);
    if (next->seconds) text += fmt::format(" at {:.1f} us", 1e6 * *next->seconds);
    return text;
}

/// The rows that create() tries, best first: all of dispatch's, or one, if the method is given by name or by `part_of`.
Result<std::vector<DispatchRow>> open_rows(const accel::DeviceInfo& device, const ConvProblem& problem,
                                           const ConvOptions& options) {
    if (!options.preferred.empty()) KG_CHECK(find_candidate(options.preferred));
    std::string_view backend = options.backend;
    if (backend.empty() && options.part_of != nullptr && *options.part_of != problem) {
        const std::vector<DispatchRow> whole = explain(device, *options.part_of, options.sums, options.preferred);
        if (!whole.front().open || !whole.front().allowed) return fail(nothing_open(*options.part_of, whole));
        backend = whole.front().candidate;
    }
    if (backend.empty()) return explain(device, problem, options.sums, options.preferred);
    KG_TRY(auto row, explain_named(device, problem, backend));
    return std::vector<DispatchRow>{std::move(row)};
}

/// Adds a pass that doubles the input if the method does not. Errors: also Unsupported (self_check() found it wrong).
Result<std::unique_ptr<Convolution>> create_on_input(const Candidate& candidate, accel::Device& device,
                                                     const ConvProblem& problem, Weights& weights) {
    if (const std::string& wrong = self_check(candidate); !wrong.empty())
        return fail(ErrorCode::Unsupported, "{}", wrong);
    if (!problem.upsample || candidate.upsamples) return candidate.create(device, problem, weights);
    const ConvProblem doubled = on_doubled_input(problem);
    KG_CHECK(validate(doubled));
    KG_TRY(auto made, candidate.create(device, doubled, weights));
    return create_doubled_before(problem, std::move(made), candidate.name);
}

/// The row's candidate; adds a pass of RMS norm if the method does not norm its output.
Result<std::unique_ptr<Convolution>> create_from(const DispatchRow& row, accel::Device& device,
                                                 const ConvProblem& problem, Weights& weights) {
    KG_TRY(const Candidate* found, find_candidate(row.candidate));
    const Candidate& candidate = *found;
    if (const auto& filter = weights.filter_on_device()) {
        if (row.plan == nullptr || row.plan->pack_on_device == nullptr)
            return fail(ErrorCode::Unsupported, "{} packs filters on the host: give it the filter in host memory",
                        candidate.name);
        const Element own = problem.weight.element;
        if (filter->element != Element::F32 && (filter->element != own || element_bytes(own) != 2))
            return fail(ErrorCode::InvalidArgument, "convolution {}: the filter in device memory is {}, wanted F32{}",
                        problem.to_string(), tensor::to_string(filter->element),
                        element_bytes(own) == 2 ? fmt::format(" or {}", tensor::to_string(own)) : "");
    }
    if (row.plan != nullptr) {
        KG_CHECK(self_check(device, candidate, problem, *row.plan));
        return create_planned(device, problem, *row.plan, candidate.name, weights);
    }
    if (problem.norm == Norm::None || candidate.norms) return create_on_input(candidate, device, problem, weights);
    ConvProblem bare = problem;
    bare.norm = Norm::None;
    bare.normed = bare.output;
    KG_TRY(auto made, create_on_input(candidate, device, bare, weights));
    return create_norm_after(problem, std::move(made), weights.norm());
}

}  // namespace

Result<std::unique_ptr<Convolution>> Convolution::create(accel::Device& device, const ConvProblem& problem,
                                                         const ConvParameters& parameters, const ConvOptions& options) {
    KG_CHECK(validate(problem));
    KG_CHECK(check_parameters(problem, parameters));
    const auto copy = [](std::span<const float> values) { return std::vector<float>(values.begin(), values.end()); };
    Weights weights(HostParameters{copy(parameters.filter), copy(parameters.bias), copy(parameters.gamma),
                                   copy(parameters.scales), copy(parameters.folds)});
    return create(device, problem, weights, options);
}

Result<std::unique_ptr<Convolution>> Convolution::create(accel::Device& device, const ConvProblem& problem,
                                                         Weights& weights, const ConvOptions& options) {
    KG_CHECK(validate(problem));
    KG_TRY(auto rows, open_rows(device.info(), problem, options));
    std::string declined;
    for (DispatchRow& row : rows) {
        if (!row.open || !row.allowed) continue;
        auto made = create_from(row, device, problem, weights);
        if (made) (*made)->reason_ = (options.backend.empty() ? reason_of(rows, row) : "asked for by name") + declined;
        if (made && options.packing == Packing::Now) KG_CHECK((*made)->pack());
        if (made || made.error().code != ErrorCode::Unsupported) return made;
        row.open = false;
        row.reason = made.error().message;
        declined += fmt::format("; {}: {}", row.candidate, row.reason);
    }
    return fail(nothing_open(problem, rows));
}

Result<void> Convolution::enqueue(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors) const {
    const auto inputs = static_cast<std::uint64_t>(problem_.n * problem_.d);
    const auto frames = static_cast<std::uint64_t>(problem_.n * problem_.d_out());
    const std::uint64_t outputs = problem_.norm == Norm::Instead ? 0 : frames;
    const auto residuals = static_cast<std::uint64_t>(problem_.residual_frames());
    const std::uint64_t normed = problem_.norm == Norm::None ? 0 : frames;
    if (tensors.input.size() != inputs || tensors.output.size() != outputs || tensors.residual.size() != residuals ||
        tensors.normed.size() != normed) {
        return fail(
            ErrorCode::InvalidArgument,
            "pass \"{}\": {} input, {} output, {} residual and {} normed frames given, wanted {}, {}, {} and {} "
            "for {}",
            pass_name, tensors.input.size(), tensors.output.size(), tensors.residual.size(), tensors.normed.size(),
            inputs, outputs, residuals, normed, problem_.to_string());
    }
    if (workspace_bytes() > 0 && tensors.workspace == nullptr) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": no workspace given, wanted {} bytes", pass_name,
                    workspace_bytes());
    }
    return enqueue_checked(stream, pass_name, tensors);
}

}  // namespace kinetograph::conv
