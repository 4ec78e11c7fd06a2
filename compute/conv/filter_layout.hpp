// Filters as other programs store them, in the order that Convolution::create() takes.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

#include <span>
#include <vector>

namespace kinetograph::conv {

/// Axes from the slowest to the fastest: K (also called F) output channels, C input channels of a group; taps: Q in
/// time, R rows, S columns.
enum class FilterLayout : std::uint8_t {
    KCQRS,  ///< PyTorch's, and ConvParameters'
    KQRSC,  ///< channels last
    RSCF,   ///< TensorFlow's and MAX's for images: one temporal tap
    QRSCF,  ///< the same for volumes
};

/// The problem's filter as an array of that layout.
tensor::Shape filter_shape(const ConvProblem& problem, FilterLayout layout);

/// The filter in ConvParameters' order. Errors: InvalidArgument (a number of elements that is not the problem's; more
/// than one temporal tap in RSCF).
Result<std::vector<float>> in_parameter_order(const ConvProblem& problem, FilterLayout layout,
                                              std::span<const float> filter);

}  // namespace kinetograph::conv
