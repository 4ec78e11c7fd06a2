// Soak: many further steps, and the resources that they leaked, if any.
#pragma once

#include <kinetograph/tools/kinetograph/hand_overs.hpp>
#include <kinetograph/tools/kinetograph/presented_decode.hpp>

#include <string>
#include <vector>

namespace kinetograph::cli {

struct Soak {
    std::int64_t steps = 0;
    double seconds = 0;
    nlohmann::ordered_json before, after;  ///< the state, figure by figure
    std::vector<std::string> changes;      ///< one sentence each: memory that grew, timelines with unexpected values
};

/// `steps` executions of hand-overs, or steps of a decoder. Errors: those of the subject.
Result<Soak> soak_through(HandOvers& subject, std::int64_t steps);
Result<Soak> soak_through(PresentedDecode& subject, std::int64_t steps);

std::string to_text(const Soak& soak);
nlohmann::ordered_json to_json(const Soak& soak);

}  // namespace kinetograph::cli
