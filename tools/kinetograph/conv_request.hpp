// The options that describe one convolution: shapes, steps, padding, element type, epilogue.
#pragma once

#include <kinetograph/kernels/conv/problem.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace kinetograph::cli {

/// The two required options.
struct ProblemOptions {
    CLI::Option* input = nullptr;
    CLI::Option* filter = nullptr;
};

/// Adds --input, --filter, --stride, --dilation, --pad, --groups, --upsample, --alpha, --channel-scales, --residual,
/// --beta, --activation, --norm, --norm-activation and --dtype. `problem`, which is not validated, must outlive the
/// parse.
ProblemOptions add_conv_options(CLI::App& command, conv::ConvProblem& problem);

/// Adds --backend, a method's name and perhaps one of its kernels'; a method that there is not is bad usage. `backend`
/// must outlive the parse.
void add_backend_option(CLI::App& command, std::string& backend, const std::string& description);

/// Adds --backend, a method's name alone, which is taken for the convolutions that it is open to. As above.
void add_preferred_backend_option(CLI::App& command, std::string& backend);

}  // namespace kinetograph::cli
