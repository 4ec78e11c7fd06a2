// A pass over any number of frames, as launches over as many as one launch takes.
#pragma once

#include <kinetograph/compute/conv/hip/kernels.hpp>

#include <algorithm>
#include <span>

namespace kinetograph::conv::hip {

/// Launches `problem` over as many frames at a time as one launch takes. `params(problem, frames)` returns the
/// parameters of a launch. Errors: InvalidArgument (a refused problem), those of Kernels::get.
template <class Problem, class MakeParams>
Result<void> launch_in_parts(const Kernels& kernels, accel::Stream& stream, std::string_view pass_name, Problem problem,
                             std::span<const std::byte* const> input, std::span<std::byte* const> output,
                             const MakeParams& params) {
    for (std::size_t first = 0; first < input.size(); first += gfx950::kMostFrames) {
        const std::size_t count = std::min<std::size_t>(gfx950::kMostFrames, input.size() - first);
        problem.frames = static_cast<std::int64_t>(count);
        if (const auto refused = refusal(problem))
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": {}", pass_name, *refused);
        auto kernel = BoundKernel::create(kernels, launch_shape(problem));
        if (!kernel) return fail(std::move(kernel.error()), pass_name);
        kernel->launch(stream, pass_name,
                       params(problem, gfx950::frame_table(input.subspan(first, count), output.subspan(first, count))));
    }
    return {};
}

}  // namespace kinetograph::conv::hip
