// The subcommands of `kinetograph`, one source file each. main.cpp parses, then runs the one that was chosen.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <CLI/CLI.hpp>
#include <functional>

namespace kinetograph::cli {

/// What the chosen subcommand does once its arguments are understood. An Error ends the program with exit code 1.
using Action = std::function<Result<void>()>;

/// Each adds its subcommand to `app` and, when that is the one on the command line, sets `action`.
void add_view(CLI::App& app, Action& action);
void add_decode(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_weights(CLI::App& app, Action& action);
void add_conv(CLI::App& app, Action& action);
void add_graph(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action, const std::string& command_line);  ///< which its reports quote

/// All of them. Parsing opens no file and starts nothing; it throws CLI::ParseError and nothing else.
void add_commands(CLI::App& app, Action& action, const std::string& command_line);

}  // namespace kinetograph::cli
