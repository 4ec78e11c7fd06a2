#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_config.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_problem.hpp>
#include <span>
#include <string>
#include <string_view>

/// What the SM100 kernels accept, as lists that a person can read and a program can print. Pure functions of the shape.
namespace kinetograph::sm100 {

/// One condition: what must hold, and the value that was found.
struct Conv2dGate {
    std::string_view requirement;                     ///< "groups 1"
    bool (*holds)(const Conv2dProblemShape&);         ///<
    std::string (*value)(const Conv2dProblemShape&);  ///< "groups 4"
};

/// Implicit GEMM on single frames (any n and d with one temporal tap), on a dense volume through the rank-5 map, and on
/// frames that lie anywhere.
std::span<const Conv2dGate> gates(Activation activation);
/// The 3-D convolution as q 2-D ones (qslice_conv3d.hpp).
std::span<const Conv2dGate> qslice_gates();

/// The gates that `shape` fails, as "requirement (value); ..."; "" if all are open. Declined shapes are left to im2col
/// and a matrix product.
std::string declined(std::span<const Conv2dGate> gates, const Conv2dProblemShape& shape);

}  // namespace kinetograph::sm100
