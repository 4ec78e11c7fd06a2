// Dispatch: the ordered list of convolution back ends, the gates before each, and why one was taken.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::conv {

/// What gates look at: the problem and the device that shall run it.
struct DispatchSubject {
    const ConvProblem& problem;
    const accel::DeviceInfo& device;
};

/// One condition of a candidate, as a person reads it.
template <class Subject>
struct Gate {
    std::string_view requirement;          ///< "groups 1": what must hold
    bool (*holds)(const Subject&);         ///<
    std::string (*value)(const Subject&);  ///< "groups 4": what was met
};

/// One back end: open when all its gates hold.
struct Candidate {
    std::string_view name;     ///< what ConvOptions::backend takes
    std::string_view summary;  ///< one line for people
    std::span<const Gate<DispatchSubject>> gates;
    /// Makes the convolution. Unsupported from here is a decline too: a library's own refusal.
    Result<std::unique_ptr<Convolution>> (*create)(accel::Device&, const ConvProblem&, const ConvParameters&);
    bool norms = false;  ///< norms its output while it is in the cache; the others get a pass over it
};

/// All candidates, best first. Every problem that validates is open to the last one.
std::span<const Candidate> candidates();

/// One row of the explanation.
struct DispatchRow {
    std::string_view candidate;
    bool open = false;
    std::string reason;  ///< of a closed one: requirement and value of every gate that fails
};

/// What dispatch would decide, row by row in the list's order; the first open row is the choice.
std::vector<DispatchRow> explain(const accel::DeviceInfo& device, const ConvProblem& problem);
/// The rows as a table for a terminal.
std::string to_string(std::span<const DispatchRow> rows);

}  // namespace kinetograph::conv
