// Soak: many steps more, and what they left behind that they should not have.
#pragma once

#include <kinetograph/tools/kinetograph/hand_overs.hpp>
#include <kinetograph/tools/kinetograph/presented_decode.hpp>

#include <string>
#include <vector>

namespace kinetograph::cli {

struct Soak {
    std::int64_t steps = 0;
    double seconds = 0;
    nlohmann::ordered_json before, after;  ///< the state, value by value
    std::vector<std::string> changes;      ///< one sentence each: memory that grew, timelines that are elsewhere
};

/// `steps` executions of hand-overs, or steps of a decoder. Errors: those of the subject.
Result<Soak> soak_through(HandOvers& subject, std::int64_t steps);
Result<Soak> soak_through(PresentedDecode& subject, std::int64_t steps);

std::string to_text(const Soak& soak);
nlohmann::ordered_json to_json(const Soak& soak);

}  // namespace kinetograph::cli
