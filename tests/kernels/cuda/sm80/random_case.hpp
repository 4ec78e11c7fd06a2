#pragma once

#include <array>

#include "conv_case.hpp"

/// Random convolutions for the host model, within what one chip's kernels take.
namespace kinetograph::sm80 {

struct RandomRange {
    std::vector<int64_t> h, w, c_in, k;
    std::vector<std::array<int64_t, 2>> taps;  ///< rows, columns
    bool steps = false;  ///< also strides and dilations other than 1, and upsampling with any taps and padding
    bool types = false;  ///< also fp16, fp32 outputs and fp32 addends
};

/// Shapes, taps, padding, history, upsampling, epilogue and numbers, all drawn from `seed`. The problem may be empty.
ConvCase random_case(uint32_t seed, const RandomRange& range);

/// The same with three taps in time on two input frames or more, at most 1 + `frames`, without upsampling.
ConvCase random_case_in_time(uint32_t seed, const RandomRange& range, uint32_t frames);

}  // namespace kinetograph::sm80
