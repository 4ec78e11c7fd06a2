// Whether a method computes what it should on the processor or GPU at hand.
#pragma once

#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/engine/base/clock.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace kinetograph::conv {

/// What is wrong with the sums of a CPU method for inputs of that element, F32, BF16 or U8; "" if a small problem, with
/// a residual and an activation after it, agrees with the fp64 loops, or if the method takes no such inputs.
std::string compare_with_reference(const Candidate& candidate, Element element);

/// The same of one of candidates() for all elements that it takes, computed on the first call for its name: a few
/// milliseconds.
const std::string& self_check(const Candidate& candidate);

/// How long a small problem may run on a GPU.
inline constexpr Nanoseconds kSelfCheckPatience = std::chrono::seconds(10);

/// Checks the kernels of the problem's plan on a CUDA or HIP device, each when it is first wanted there: the problem
/// with few pixels and frames, as itself but for those, against the fp64 loops. A decoder's twenty kernels take some
/// milliseconds each. Outcomes are kept for the device, its driver and the kernel's code (checked_kernels.hpp), so that
/// later processes read a file. Nothing is checked while KINETOGRAPH_SELF_CHECK is "off".
///
/// Errors: Unsupported (a kernel is wrong, now or by an earlier check: another method has to be taken), DeviceLost (it
/// ended neither in `patience` nor with a result: later processes do not run it), what the device says.
Result<void> self_check(accel::Device& device, const Candidate& candidate, const ConvProblem& problem,
                        const ConvPlan& plan, Nanoseconds patience = kSelfCheckPatience);

/// What the checks of convolutions and of operators share: runs `try_kernel` once for the device, its driver and the
/// code of `image`, and keeps what it returns, which is what was wrong with the results, "" if nothing. The patience is
/// `try_kernel`'s, by wait_within(). Errors: as self_check().
Result<void> check_once(accel::Device& device, const std::string& kernel, std::string_view image,
                        const std::function<Result<std::string>()>& try_kernel);
/// Relative L2: ||got - wanted|| / ||wanted||, of as many values.
double relative_error(std::span<const double> got, std::span<const double> wanted);
/// Synchronizes the stream, for at most `patience` on a GPU. Errors: also DeviceLost; the stream is then given up.
Result<void> wait_within(accel::Device& device, std::unique_ptr<accel::Stream>& stream, Nanoseconds patience);

/// explain() of the device, once the kernels of every open method have been checked. Errors: as self_check(), except
/// Unsupported, which closes a row.
Result<std::vector<DispatchRow>> explain_checked(accel::Device& device, const ConvProblem& problem, Sums sums);

/// Why earlier checks close the method with that plan on the device; "" if they do not.
std::string failed_check(const accel::DeviceInfo& device, std::string_view method, const ConvProblem& problem,
                         const ConvPlan& plan);

/// A line for people: how many kernels agree on the device, and which are closed; "" where none are checked.
std::string self_check_text(const accel::DeviceInfo& device);

}  // namespace kinetograph::conv
