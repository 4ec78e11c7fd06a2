// Dispatch: the list of convolution methods, the gates before each, what each would take, and why one was taken.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/kernels/conv/plan.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::conv {

/// One method: open when all its gates hold. A chip's is a plan, run by create_planned(); the CPU's are created.
struct Candidate {
    std::string_view name;     ///< <method>-<chip>: what ConvOptions::backend takes, and of some a kernel's after ':'
    std::string_view summary;  ///< one line for people
    std::span<const Gate> gates;
    ConvPlan (*plan)(const ConvProblem&, const Chip&) = nullptr;
    /// Makes the convolution. Unsupported from here is a decline too: a library's own refusal.
    Result<std::unique_ptr<Convolution>> (*create)(accel::Device&, const ConvProblem&, Weights&) = nullptr;
    bool norms = true;      ///< norms its output; others get a pass over it
    bool upsamples = true;  ///< reads an input to upsample as it lies; others get a pass that doubles it
    Rounding rounding = Rounding::Once;
    KernelChoice choice = {};
};

/// All candidates: the chips' methods, then the CPU's, best first. Every problem that validates is open to the last
/// one.
std::span<const Candidate> candidates();

/// One row of the explanation.
struct DispatchRow {
    std::string_view candidate;
    bool open = false;
    std::string reason = {};             ///< of a closed one: requirement and value of every gate that fails
    std::optional<double> seconds = {};  ///< that an open one's plan predicts; none without a model
    double seconds_a_frame = 0;          ///< that rank it: of one output frame alone where it takes one, else the mean
    Rounding rounding = Rounding::Once;
    double error = 0;  ///< expected (expected_error()) of an open one
};

/// What dispatch would decide: the open rows first, by predicted seconds a frame (in the list's order where they are
/// equal or there is no model; after them those whose rounding `sums` does not allow), then the closed ones in the
/// list's order. The first row is the choice, if it is open. Methods add in different orders: ranked by a frame alone,
/// the choice among Sums::Exact and so the bits of a frame do not depend on how many frames a step takes. The candidate
/// that `preferred` names goes first where it is open.
std::vector<DispatchRow> explain(const Chip& chip, const ConvProblem& problem, Sums sums = Sums::Exact,
                                 std::string_view preferred = {});
std::vector<DispatchRow> explain(const accel::DeviceInfo& device, const ConvProblem& problem, Sums sums = Sums::Exact,
                                 std::string_view preferred = {});
/// The rows as a table for a terminal.
std::string to_string(std::span<const DispatchRow> rows);

}  // namespace kinetograph::conv
