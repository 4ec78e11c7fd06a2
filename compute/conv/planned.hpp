// A convolution by a chip's plan: its kernels loaded, its parameters packed, its steps enqueued call by call.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::conv {

/// `method` is its name; `weights` must outlive pack(), which uploads them. Errors: Unsupported (this build lacks the
/// kernels), those of the device; of enqueue(): those of encoding a tensor map (an address that is not a multiple of
/// 16).
Result<std::unique_ptr<Convolution>> create_planned(accel::Device& device, const ConvProblem& problem, ConvPlan plan,
                                                    std::string_view method, Weights& weights);

/// Does nothing for a launch without CTAs.
void enqueue_launch(accel::Stream& stream, std::string_view pass_name, accel::Kernel& kernel, const ConvLaunch& launch);

}  // namespace kinetograph::conv
