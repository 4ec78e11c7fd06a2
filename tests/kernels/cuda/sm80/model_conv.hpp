#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_kernel.hpp>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/host_model/launch.hpp>

#include <kinetograph/tests/kernels/cuda/model_schedules.hpp>

#include "conv_case.hpp"

/// Runs the convolution on the host model under several schedules and checks each result.
namespace kinetograph::sm80 {

using conv::ConvLaunch;
using host_model::kSchedules;

inline host_model::Launch model_launch(const ConvLaunch& launch, uint64_t seed) {
    return {.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .seed = seed};
}

/// The fault that stopped the run, or "".
template <ConvConfig kConfig, ConvFault kFault = ConvFault::None>
std::string run_once(const std::vector<ConvLaunch>& launches, uint64_t seed) {
    for (const ConvLaunch& launch : launches) {
        const auto params = launch.arguments.as<ConvParams>();
        const auto outcome =
            host_model::run(model_launch(launch, seed), [&params] { ConvKernel<kConfig, kFault>::run(params); });
        if (outcome.fault) return *outcome.fault;
        if (outcome.bank_conflicts != 0) return std::to_string(outcome.bank_conflicts) + " bank conflicts";
    }
    return "";
}

/// The same for a kernel by its name.
std::string run_kernel(std::string_view kernel, const std::vector<ConvLaunch>& launches, uint64_t seed);

/// Agreement with the fp64 reference under every schedule, or what is wrong. `kernel`: empty for the chosen tile.
std::string disagreement(const ConvCase& conv, std::string_view kernel = "", uint64_t schedules = kSchedules);

/// A chip of `sms` SMs with that much shared memory per CTA and the rates of an H200.
inline conv::Chip chip_of_sms(uint32_t sms, uint32_t shared_bytes) {
    return {.kind = "cuda",
            .architecture = "sm_90",
            .features = {},
            .compute_units = sms,
            .shared_bytes_per_block = shared_bytes,
            .clocks_per_second = 1.8e9,
            .memory_bytes_per_second = 4.8e12};
}

/// A 2-D convolution with "same" padding; for an even filter the larger half comes last.
inline ConvProblem same2d(int64_t n, int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t r, int64_t s) {
    ConvProblem p;
    p.n = n;
    p.h = h;
    p.w = w;
    p.c_in = c_in;
    p.filter = {c_out, 1, r, s};
    p.pad = {0, 0, (r - 1) / 2, r / 2, (s - 1) / 2, s / 2};
    return p;
}

/// A causal 3-D convolution: d frames with q - 1 frames of zeros before them.
inline ConvProblem causal3d(int64_t d, int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t q, int64_t r) {
    ConvProblem p = same2d(1, h, w, c_in, c_out, r, r);
    p.d = d;
    p.filter.q = q;
    p.pad.front = q - 1;
    return p;
}

}  // namespace kinetograph::sm80
