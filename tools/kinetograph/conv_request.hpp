// The options that say one convolution: shapes, steps, padding, element type, epilogue.
#pragma once

#include <kinetograph/kernels/conv/problem.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace kinetograph::cli {

/// The two options without which there is no problem.
struct ProblemOptions {
    CLI::Option* input = nullptr;
    CLI::Option* filter = nullptr;
};

/// Adds --input, --filter, --stride, --dilation, --pad, --groups, --upsample, --alpha, --residual, --beta, --activation
/// and --dtype. `problem`, which is not validated, outlives the parse.
ProblemOptions add_conv_options(CLI::App& command, conv::ConvProblem& problem);

/// Adds --backend; a name that no candidate has is bad usage. `backend` outlives the parse.
void add_backend_option(CLI::App& command, std::string& backend, const std::string& description);

}  // namespace kinetograph::cli
