// The subcommands of `kinetograph`, one source file each. main.cpp parses, then runs the chosen one.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <CLI/CLI.hpp>
#include <functional>

namespace kinetograph::cli {

/// The chosen subcommand's work, after parsing. An Error ends the program with exit code 1.
using Action = std::function<Result<void>()>;

/// Each adds its subcommand to `app` and, if it is on the command line, sets `action`.
void add_view(CLI::App& app, Action& action);
void add_decode(CLI::App& app, Action& action);
void add_encode(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_families(CLI::App& app, Action& action);
void add_weights(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_conv(CLI::App& app, Action& action);
void add_graph(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action, const std::string& command_line);  ///< quoted by its reports

/// Adds all subcommands. Parsing opens no file and starts nothing; it throws only CLI::ParseError.
void add_commands(CLI::App& app, Action& action, const std::string& command_line);

}  // namespace kinetograph::cli
