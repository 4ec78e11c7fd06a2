// A convolution by a chip's plan: its kernels loaded, its parameters packed, its steps enqueued call by call.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::conv {

/// `method` is its name; `weights` must outlive pack(), which uploads them. Errors: Unsupported (this build lacks the
/// kernels), those of the device; of enqueue(): those of encoding a tensor map (an address that is not a multiple of
/// 16).
Result<std::unique_ptr<Convolution>> create_planned(accel::Device& device, const ConvProblem& problem, ConvPlan plan,
                                                    std::string_view method, Weights& weights);

/// The kernels of a plan. Errors: those of Kernels::get.
Result<std::vector<std::shared_ptr<accel::Kernel>>> load(const Kernels& kernels, std::span<const KernelName> names);

/// Enqueues what `steps` returns, in order, except launches without CTAs; `loaded` are the plan's kernels. `steps` is
/// called once, with what encodes tensor maps for the device. Errors: those of encoding a map; then nothing is
/// enqueued.
Result<void> enqueue_steps(accel::Stream& stream, std::string_view pass_name, const accel::Device& device,
                           std::span<const std::shared_ptr<accel::Kernel>> loaded,
                           const std::function<std::vector<ConvStep>(const EncodeMap&)>& steps);

}  // namespace kinetograph::conv
