#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <kinetograph/kernels/host_model/launch.hpp>
#include <string>

/// Runs kernels for tests: a correct one under several schedules, a wrong one until the model stops it.
namespace kinetograph::isa {

using host_model::Launch;
using host_model::Outcome;

inline constexpr uint64_t kSchedules = 6;  // twice each of late, early and mixed landing

inline void expect_runs(
    Launch launch, const std::function<void()>& kernel, const std::function<void()>& judge = [] {}) {
    for (launch.seed = 0; launch.seed < kSchedules; ++launch.seed) {
        const Outcome outcome = host_model::run(launch, kernel);
        ASSERT_EQ(outcome.fault.value_or(""), "") << "seed " << launch.seed;
        judge();
        if (testing::Test::HasFailure()) FAIL() << "seed " << launch.seed;
    }
}

/// The kernel is stopped under every schedule, and the message contains `sentence`.
inline void expect_fault(Launch launch, const std::string& sentence, const std::function<void()>& kernel) {
    for (launch.seed = 0; launch.seed < kSchedules; ++launch.seed) {
        const std::string fault = host_model::run(launch, kernel).fault.value_or("no fault");
        EXPECT_NE(fault.find(sentence), std::string::npos) << "seed " << launch.seed << ": " << fault;
    }
}

/// For faults that only some orders of events reveal.
inline void expect_fault_in_some_schedule(Launch launch, const std::string& sentence,
                                          const std::function<void()>& kernel) {
    std::string faults;
    for (launch.seed = 0; launch.seed < 8 * kSchedules; ++launch.seed) {
        const std::string fault = host_model::run(launch, kernel).fault.value_or("no fault");
        if (fault.find(sentence) != std::string::npos) return;
        faults += "\n" + fault;
    }
    FAIL() << "never '" << sentence << "' but" << faults;
}

}  // namespace kinetograph::isa
