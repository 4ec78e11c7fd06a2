// conv_run: one convolution on random data, checked against the fp64 reference and timed, for `kinetograph conv`.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/filter_layout.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace kinetograph::conv {

struct ConvRunOptions {
    std::string_view backend = {};  ///< empty: the best open method
    Sums sums = Sums::Exact;        ///< which summation methods the best one may use
    int repeats = 10;               ///< timed runs after an untimed one, at least 1
    std::uint64_t seed = 1;
    std::span<const float> filter = {};  ///< empty: random numbers
    FilterLayout filter_layout = FilterLayout::KCQRS;
    bool filter_on_device = false;  ///< uploaded as float32 and packed there
};

struct ConvRun {
    double relative_l2 = 0;    ///< ||output - reference|| / ||reference||; of the normed output if only that is stored
    double max_abs_error = 0;  ///< infinite when an element was never written or is not finite
    std::optional<double> normed_relative_l2;  ///< of the normed output, against the norm of the rounded reference
    double max_abs_reference = 0;              ///< largest |reference|
    double seconds_median = 0;                 ///< of the timed runs
    double tflops = 0;                         ///< problem.flops() / seconds_median / 1e12
    std::uint64_t workspace_bytes = 0;
    std::string backend;
};

/// Draws random inputs and parameters (rounded to the problem's dtype), fills the outputs with NaN, runs the
/// convolution, and compares its output with fp64 sums over the same rounded numbers, and its normed output with the
/// RMS norm of these sums in fp64. Errors: those of in_parameter_order, Convolution::create and the device.
Result<ConvRun> run_problem(accel::Device& device, const ConvProblem& problem, const ConvRunOptions& options = {});

}  // namespace kinetograph::conv
