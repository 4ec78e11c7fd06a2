// Runs a subcommand for its JSON.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace kinetograph::test {

/// The output of `arguments` with `--json -`; the test fails unless the exit code is 0.
inline nlohmann::json run_json(std::vector<std::string> arguments, const ProgramOptions& options = {}) {
    arguments.insert(arguments.end(), {"--json", "-"});
    const auto result = run_program(arguments, options);
    EXPECT_EQ(result.exit_code, 0) << result.messages;
    return nlohmann::json::parse(result.out);
}

}  // namespace kinetograph::test
