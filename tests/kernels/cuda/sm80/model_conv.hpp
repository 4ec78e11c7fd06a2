#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_kernel.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_tiles.hpp>
#include <kinetograph/kernels/host_model/launch.hpp>

#include <kinetograph/tests/kernels/cuda/model_schedules.hpp>
#include <kinetograph/tests/kernels/cuda/same_padding.hpp>

#include "conv_case.hpp"

/// Runs the convolution on the host model under several schedules and judges every one.
namespace kinetograph::sm80 {

using host_model::kSchedules;

inline host_model::Launch model_launch(const ConvLaunch& launch, uint64_t seed) {
    return {.grid = {launch.grid[0], launch.grid[1], 1},
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .seed = seed};
}

/// The fault that stopped the run, or "".
template <ConvConfig kConfig, ConvFault kFault = ConvFault::None>
std::string run_once(const std::vector<ConvLaunch>& launches, uint64_t seed) {
    for (const ConvLaunch& launch : launches) {
        const auto outcome =
            host_model::run(model_launch(launch, seed), [&launch] { ConvKernel<kConfig, kFault>::run(launch.params); });
        if (outcome.fault) return *outcome.fault;
        if (outcome.bank_conflicts != 0) return std::to_string(outcome.bank_conflicts) + " bank conflicts";
    }
    return "";
}

/// The same for a kernel by its name.
std::string run_kernel(std::string_view kernel, const std::vector<ConvLaunch>& launches, uint64_t seed);

/// Agreement with the fp64 reference under every schedule, or what is wrong. `kernel`: empty for the chosen tile.
std::string disagreement(const ConvCase& conv, std::string_view kernel = "", uint64_t schedules = kSchedules);

/// A 2-D convolution with "same" padding.
inline ConvShape same2d(int64_t n, int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t r, int64_t s) {
    return same_padding<ConvShape>(n, h, w, c_in, c_out, r, s);
}

/// A causal 3-D convolution: d frames with q - 1 frames of zeros before them.
inline ConvShape causal3d(int64_t d, int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t q, int64_t r) {
    ConvShape shape = same2d(1, h, w, c_in, c_out, r, r);
    shape.d = d;
    shape.q = q;
    shape.pad_front.d = q - 1;
    return shape;
}

}  // namespace kinetograph::sm80
