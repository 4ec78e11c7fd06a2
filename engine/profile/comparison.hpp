// Captures of passes, and what changed between two of them.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kinetograph::profile {

/// One pass as a capture keeps it: mean, percentiles, maximum, total and deviation are of all calls but the first.
struct PassSummary {
    std::string name, track;
    std::uint64_t calls = 0;  ///< including the first one
    Nanoseconds first{}, last{}, mean{}, p50{}, p95{}, p99{}, max{};
    double total = 0.0;      ///< of all calls but the first, nanoseconds
    double deviation = 0.0;  ///< of one call, nanoseconds
    double share = 0.0;
    double operations = 0.0;  ///< of one call; 0: not known
    std::uint64_t bytes = 0;
    double of_peak_operations = 0.0, of_peak_bandwidth = 0.0, of_roofline = 0.0;  ///< as PassRates; 0: not known
    std::string kernel{};
};

struct Capture {
    std::string label;
    std::vector<PassSummary> passes;
};

/// What ran between two captures of one profile: calls, mean and deviation of every pass that ran. `first` is copied
/// from `later`; percentiles and the maximum are not known and are 0.
Capture since(const Capture& earlier, const Capture& later);

/// One pass in two captures. A null side means that the pass is not in that capture; in one made by since(), that it
/// did not run.
struct PassChange {
    const PassSummary* before = nullptr;
    const PassSummary* after = nullptr;
    /// Difference of the means. For a pass on one side only: its mean there, negative if that is `before`.
    Nanoseconds change{};
    double ratio = 1.0;  ///< after over before, means
    /// The probability of a difference at least as large if nothing had changed (p-value): Welch's test, Student's
    /// distribution with Welch and Satterthwaite's degrees of freedom. 1 with fewer than two later calls on a side.
    double chance = 1.0;
    bool is_on_both_sides() const { return before != nullptr && after != nullptr; }
    bool is_significant() const { return chance < 0.01; }
};

/// Every pass of either, the largest absolute `change` first. The rows refer to the captures.
std::vector<PassChange> compare(const Capture& before, const Capture& after);

}  // namespace kinetograph::profile
