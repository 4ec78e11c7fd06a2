// Problems and parameters in the words of the SM100 kernels.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/problem.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_gates.hpp>

#include <optional>
#include <span>
#include <vector>

namespace kinetograph::conv::cuda {

/// bf16, fp16 or fp8 (e4m3); nothing for other types.
std::optional<Element> sm100_element_of(tensor::DType dtype);

/// Shapes only: the epilogue and upsampling are gates of their own. `problem.dtype` is one that sm100_element_of()
/// knows.
sm100::Conv2dProblemShape sm100_shape(const ConvProblem& problem);

/// The kernel's gates that the problem fails, "" for none or a dtype that no kernel of SM100's multiplies.
std::string declined_by_sm100(std::span<const sm100::Conv2dGate> gates, const ConvProblem& problem);

/// [k][c][q][r][s] to [k][q][r][s][c] of problem.dtype, each number rounded once; c = c_in / groups.
std::vector<std::byte> sm100_filter(const ConvProblem& problem, std::span<const float> filter);

}  // namespace kinetograph::conv::cuda
