// Dispatch: the list of convolution methods, the gates of each, its predicted time, and why one was chosen.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/kernels/conv/plan.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::conv {

/// One method: open if all its gates hold. A chip's method makes a plan, run by create_planned(); a CPU method has
/// create. Its name is what ConvOptions::backend takes; some also take ":kernel".
struct Candidate : ConvMethod {
    /// Makes the convolution. If it fails with Unsupported (the library declines the problem), dispatch tries the next
    /// one.
    Result<std::unique_ptr<Convolution>> (*create)(accel::Device&, const ConvProblem&, Weights&) = nullptr;
    bool norms = true;      ///< norms its output; if not, a pass over the output is added
    bool upsamples = true;  ///< upsamples as it reads its input; if not, a pass that doubles the input is added
    /// Whether the processor has instructions by which it is faster than all others of the CPU; null: none has.
    bool (*leads)(const Subject&) = nullptr;
};

/// All candidates: the chips' methods, then the CPU's, best first. The last one, the reference, takes every valid
/// problem on a CPU except a norm of F16 frames.
std::span<const Candidate> candidates();
/// Errors: InvalidArgument (no candidate has that name; the message lists them).
Result<const Candidate*> find_candidate(std::string_view name);

/// One row of the explanation.
struct DispatchRow {
    std::string_view candidate;
    bool open = false;
    std::string reason = {};             ///< of a closed one: requirement and value of every gate that fails
    std::optional<double> seconds = {};  ///< that an open one's plan predicts; none without a model
    double seconds_a_frame =
        0;  ///< to rank by: of a single output frame if it takes one, else, and in batches, the mean
    Rounding rounding = Rounding::Once;
    double error = 0;      ///< expected (expected_error()) of an open one
    bool unrated = false;  ///< it has a plan, but no rates of the chip are known to predict its time by
    bool allowed = true;   ///< the sums that were asked for allow its rounding, or it is preferred
    std::shared_ptr<const ConvPlan> plan = {};  ///< of an open one that has one
    bool leads = false;                         ///< before all others that are as open and allowed
};

/// What dispatch would decide, best first; the first row is the choice, if it is open and allowed:
///
///   the candidate that `preferred` names, if it is open
///   the other open rows, first one that leads, then by predicted seconds a frame, in the list's order where they are
///   equal, there is no model or no rates; first those whose rounding `sums` allows, then the others, which are taken
///   only by name
///   the closed rows, in the list's order
///
/// Methods add in different orders, so their bits differ. Because rows are ranked by the time of a single frame, the
/// choice among Sums::Exact, and with it the bits of a frame, do not depend on how many frames a step takes. Batches (n
/// above 1) are ranked by the time of them all.
///
/// Of a chip, whether this build has its kernels or not; of a device, methods are closed whose kernels this build lacks
/// or a self-check (self_check.hpp) has found to be wrong there.
std::vector<DispatchRow> explain(const Chip& chip, const ConvProblem& problem, Sums sums = Sums::Exact,
                                 std::string_view preferred = {});
std::vector<DispatchRow> explain(const accel::DeviceInfo& device, const ConvProblem& problem, Sums sums = Sums::Exact,
                                 std::string_view preferred = {});

/// The row of the method that `backend` names: "candidate", or "candidate:kernel", by the plan with that kernel.
/// Errors: InvalidArgument (no such method; the method is open, but has no such kernel for the problem).
Result<DispatchRow> explain_named(const Chip& chip, const ConvProblem& problem, std::string_view backend);
Result<DispatchRow> explain_named(const accel::DeviceInfo& device, const ConvProblem& problem,
                                  std::string_view backend);

/// What a method without a kernel would take.
struct ModelRow {
    std::string_view model, beside;  ///< names: of the model, of the chip's method for the same problems
    double seconds = 0, seconds_beside = 0;
};
/// The models that cover the problem on the chip.
std::vector<ModelRow> explain_models(const Chip& chip, const ConvProblem& problem);

/// The rows as a table for a terminal.
std::string to_string(std::span<const DispatchRow> rows);
/// "models, without kernels:" and a line for each; "" if there are none.
std::string to_string(std::span<const ModelRow> models);

}  // namespace kinetograph::conv
