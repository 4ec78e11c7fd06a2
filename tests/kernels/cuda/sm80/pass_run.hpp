#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <kinetograph/kernels/cuda/host/pass_launch.hpp>
#include <kinetograph/kernels/host_model/launch.hpp>
#include <random>

#include "conv_case.hpp"

namespace kinetograph::sm80 {

/// The fault that stopped the run, or "".
inline std::string run_pass(const cuda::PassLaunch& launch, const std::function<void()>& kernel, uint64_t seed) {
    if (launch.empty()) return "";
    const auto outcome = host_model::run({.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                                          .threads = launch.threads,
                                          .shared_bytes = launch.shared_bytes,
                                          .seed = seed},
                                         kernel);
    if (outcome.bank_conflicts != 0) return std::to_string(outcome.bank_conflicts) + " bank conflicts";
    return outcome.fault.value_or("");
}

inline cuda::FrameTable table_of(const Frames& input, Frames& output) {
    cuda::FrameTable table{};
    for (size_t i = 0; i < input.size(); ++i) {
        table.input[i] = input.frame(i);
        table.output[i] = output.frame(i);
    }
    return table;
}

/// `count` normal numbers in each frame, rounded to the type.
inline Frames random_frames(int64_t frames, int64_t count, Element value, uint32_t seed) {
    Frames made(frames, count * element_bytes(value), seed);
    std::mt19937 dice(seed);
    std::normal_distribution<double> normal;
    for (size_t frame = 0; frame < made.size(); ++frame) {
        for (size_t i = 0; i < static_cast<size_t>(count); ++i) store_value(value, made.frame(frame), i, normal(dice));
    }
    return made;
}

/// One rounding to bf16 (8 significant bits) or fp16 (11), with a margin for the fp32 arithmetic before it; fp32:
/// 2^-20.
inline double allowed_error(Element value, double expected) {
    const int bits = value == Element::BF16 ? 8 : value == Element::F16 ? 11 : 20;
    return std::ldexp(std::abs(expected), -bits) * 1.01 + 2e-6;
}

}  // namespace kinetograph::sm80
