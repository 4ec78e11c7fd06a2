#pragma once

#include <kinetograph/kernels/conv/gate.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_config.hpp>

/// The gates of this folder's methods.
namespace kinetograph::sm100 {

std::span<const conv::Gate> implicit_gemm_gates();
/// The last one never holds, because there is no kernel: it reports what the model predicts.
std::span<const conv::Gate> winograd_gates();
std::span<const conv::Gate> conv2d_gates();
std::span<const conv::Gate> conv3d_gates();
std::span<const conv::Gate> q_slice_gates();
std::span<const conv::Gate> im2col_gates();

/// One condition: what must hold, and the value that was found.
struct Conv2dGate {
    std::string_view requirement;  ///< "groups 1"
    bool (*holds)(const conv::ConvProblem&);
    std::string (*value)(const conv::ConvProblem&);  ///< "groups 4"
};

/// Implicit GEMM on single frames (any n and d with one temporal tap), on a dense volume through the rank-5 map, and on
/// frames that lie anywhere.
std::span<const Conv2dGate> gates(Activation activation);
/// The 3-D convolution as q 2-D ones (qslice_conv3d.hpp).
std::span<const Conv2dGate> qslice_gates();

/// The gates that `problem` fails, as "requirement (value); ..."; "" if all are open. Declined problems are left to
/// im2col and a matrix product.
std::string declined(std::span<const Conv2dGate> gates, const conv::ConvProblem& problem);

}  // namespace kinetograph::sm100
