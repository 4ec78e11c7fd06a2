// Times one convolution on a device, with its tensors cold in every cache.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>

#include <string>

namespace kinetograph::cli {

struct ConvTimingOptions {
    std::string_view backend;     ///< empty: the best open method
    int repeats = 20;             ///< counted repeats, after two that are not
    std::int64_t frame_step = 1;  ///< n: every n-th frame of the output's memory is written
    bool in_place = false;        ///< the output overwrites the residual, as in a decoder
};

struct ConvTiming {
    std::string backend;
    Samples launches;          ///< of one launch: the time of a row divided by its launches; one sample per repeat
    std::int64_t in_turn = 0;  ///< launches in a row, each on its own tensors
    bool replayed = false;     ///< the row was captured once and replayed
    std::uint64_t workspace_bytes = 0;
};

/// Uses random non-zero parameters and tensors. 2 to 32 sets of tensors take turns, together larger than any cache.
/// The stream's events time each row of launches, so a GPU's times are measured on the GPU. Errors: those of
/// Convolution::create and of the device.
Result<ConvTiming> time_convolution(accel::Device& device, const conv::ConvProblem& problem,
                                    const ConvTimingOptions& options);

/// The least traffic of the problem in bytes: input, filter, residual, output and normed output once each.
std::uint64_t least_traffic(const conv::ConvProblem& problem);

}  // namespace kinetograph::cli
