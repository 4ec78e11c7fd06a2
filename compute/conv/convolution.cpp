#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/norm_after.hpp>
#include <kinetograph/compute/conv/validate.hpp>

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
    const std::uint64_t gamma = problem.norm == Norm::None ? 0 : static_cast<std::uint64_t>(problem.filter.k);
    if (parameters.gamma.size() != gamma) {
        return fail(ErrorCode::InvalidArgument, "convolution {}: gamma has {} elements, wanted {}", problem.to_string(),
                    parameters.gamma.size(), gamma);
    }
    return {};
}

Error nothing_open(const ConvProblem& problem, const std::vector<DispatchRow>& rows) {
    std::string list = to_string(rows);
    list.pop_back();  // its last line's end: sentences have none
    return {ErrorCode::Unsupported, fmt::format("convolution {}: no back end is open:\n{}", problem.to_string(), list)};
}

/// Only the row of `backend`; InvalidArgument when there is none.
Result<DispatchRow> row_of(std::string_view backend, const std::vector<DispatchRow>& rows) {
    std::string known;
    for (const DispatchRow& row : rows) {
        if (row.candidate == backend) return row;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", row.candidate);
    }
    return fail(ErrorCode::InvalidArgument, "convolution: no back end is called \"{}\"; there are {}", backend, known);
}

/// A candidate that does not norm its own output gets a pass over it.
Result<std::unique_ptr<Convolution>> create_from(const Candidate& candidate, accel::Device& device,
                                                 const ConvProblem& problem, const ConvParameters& parameters) {
    if (problem.norm == Norm::None || candidate.norms) return candidate.create(device, problem, parameters);
    ConvProblem bare = problem;
    bare.norm = Norm::None;
    auto made = candidate.create(device, bare, {parameters.filter, parameters.bias});
    if (!made) return made;
    return create_norm_after(problem, std::move(*made), parameters.gamma);
}

}  // namespace

Result<std::unique_ptr<Convolution>> Convolution::create(accel::Device& device, const ConvProblem& problem,
                                                         const ConvParameters& parameters, const ConvOptions& options) {
    KG_CHECK(conv::validate(problem));
    KG_CHECK(check_parameters(problem, parameters));

    std::vector<DispatchRow> rows = explain(device.info(), problem);
    if (!options.backend.empty()) {
        KG_TRY(auto row, row_of(options.backend, rows));
        rows = {row};
    }
    for (DispatchRow& row : rows) {
        if (!row.open) continue;
        const auto candidate = std::find_if(candidates().begin(), candidates().end(),
                                            [&](const Candidate& c) { return c.name == row.candidate; });
        auto made = create_from(*candidate, device, problem, parameters);
        if (made || made.error().code != ErrorCode::Unsupported) return made;
        row.open = false;
        row.reason = made.error().message;
    }
    return fail(nothing_open(problem, rows));
}

std::unique_ptr<Convolution> Convolution::with_frames(std::int64_t) const { return nullptr; }

Result<void> Convolution::enqueue(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors) const {
    const auto inputs = static_cast<std::uint64_t>(problem_.n * problem_.d);
    const auto frames = static_cast<std::uint64_t>(problem_.n * problem_.d_out());
    const std::uint64_t outputs = problem_.norm == Norm::Instead ? 0 : frames;
    const std::uint64_t residuals = problem_.residual ? frames : 0;
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
