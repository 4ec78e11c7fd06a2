// The options that describe one convolution: shapes, steps, padding, element type, epilogue.
#pragma once

#include <kinetograph/kernels/conv/problem.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace kinetograph::cli {

/// The two options that each command makes required, or dependent on others.
struct ProblemOptions {
    CLI::Option* input = nullptr;
    CLI::Option* filter = nullptr;
};

/// Adds --input, --filter, --stride, --dilation, --pad, --groups, --upsample, --alpha, --channel-scales, --residual,
/// --beta, --activation, --norm, --norm-activation, --dtype, --filter-dtype and --output-dtype. `problem`, which is not
/// validated, must outlive the parse.
ProblemOptions add_conv_options(CLI::App& command, conv::ConvProblem& problem);

/// Adds --backend: the name of a method, optionally with one of its kernels; an unknown method is bad usage. `backend`
/// must outlive the parse.
void add_backend_option(CLI::App& command, std::string& backend, const std::string& description);

/// Adds --backend: the name of a method alone, used for every convolution that it is open to. Otherwise as above.
void add_preferred_backend_option(CLI::App& command, std::string& backend);

}  // namespace kinetograph::cli
