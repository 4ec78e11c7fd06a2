// Times one convolution on a device, its tensors cold in every cache.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>

#include <string>

namespace kinetograph::cli {

struct ConvTimingOptions {
    std::string_view backend;  ///< empty: the best open candidate
    int repeats = 20;          ///< that count, after two that do not
};

struct ConvTiming {
    std::string backend;
    Samples launches;          ///< of one launch: the time of a row of them by their number, one sample a repeat
    std::int64_t in_turn = 0;  ///< launches in a row, each on tensors of its own
    bool replayed = false;     ///< the row was captured once and replayed
    std::uint64_t workspace_bytes = 0;
};

/// Random non-zero parameters and tensors. So many inputs and outputs take turns that they hold more than any cache,
/// 2 to 32 of each; the stream's own events time each row of launches, so a GPU's times are those on the GPU.
/// Errors: those of Convolution::create and of the device.
Result<ConvTiming> time_convolution(accel::Device& device, const conv::ConvProblem& problem,
                                    const ConvTimingOptions& options);

/// Bytes that the problem reads and writes at least: input, filter, residual and output once.
std::uint64_t least_traffic(const conv::ConvProblem& problem);

}  // namespace kinetograph::cli
