// The options that say one convolution: shapes, steps, padding, element type, epilogue.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <string>

namespace kinetograph::cli {

struct ConvRequest {
    std::array<std::int64_t, 5> input{};                // N,D,H,W,C
    std::array<std::int64_t, 4> filter{};               // K,Q,R,S
    std::array<std::int64_t, 3> stride{1, 1, 1};        // d,h,w
    std::array<std::int64_t, 3> dilation{1, 1, 1};      // d,h,w
    std::array<std::int64_t, 6> pad{0, 0, 0, 0, 0, 0};  // front,back,top,bottom,left,right
    std::int64_t groups = 1;
    bool upsample = false;
    bool residual = false;
    conv::Activation activation = conv::Activation::None;
    tensor::DType dtype = tensor::DType::BF16;

    conv::ConvProblem problem() const;  ///< not validated
};

/// The two options without which there is no problem.
struct ProblemOptions {
    CLI::Option* input = nullptr;
    CLI::Option* filter = nullptr;
};

/// Adds --input, --filter, --stride, --dilation, --pad, --groups, --upsample, --residual, --activation and --dtype.
/// `request` outlives the parse.
ProblemOptions add_conv_options(CLI::App& command, ConvRequest& request);

/// Adds --backend; a name that no candidate has is bad usage. `backend` outlives the parse.
void add_backend_option(CLI::App& command, std::string& backend, const std::string& description);

}  // namespace kinetograph::cli
