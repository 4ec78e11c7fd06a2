#pragma once

#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm100/conv2d_fprop.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_presets.hpp>

#include <kinetograph/tests/kernels/cuda/model_schedules.hpp>

#include "conv_case.hpp"
#if KG_HOST_MODEL
#include "run_on_model.hpp"
#else
#include "run_on_device.cuh"
#endif

/// Runs the SM100 convolution under several schedules and checks each result: on the host model, or, compiled by nvcc,
/// on a GPU.
namespace kinetograph::sm100 {

using host_model::kSchedules;

/// Addresses of `count` equal parts of `bytes`.
inline std::vector<void*> parts(uint8_t* bytes, size_t size, size_t count) {
    std::vector<void*> addresses(count);
    for (size_t i = 0; i < count; ++i) addresses[i] = bytes + size / count * i;
    return addresses;
}

/// The launch of `numbers` into `output`, one address per tensor or per frame as the config requires.
template <Conv2dConfig kConfig>
Conv2dLaunch launch_of(ConvNumbers& numbers, Guarded& output) {
    const ConvProblem& shape = numbers.conv().shape;
    const bool window = kConfig.activation == Activation::Window3d;
    const auto frames = [&](int64_t each) { return static_cast<size_t>(window ? shape.n * each : 1); };
    const auto activation = parts(numbers.activation.data(), numbers.activation.size(), frames(shape.d));
    const auto stored = parts(output.data(), output.size(), frames(shape.d_out()));
    const auto source = parts(numbers.source.data(), numbers.source.size(), frames(shape.d_out()));
    return plan_launch(kConfig, shape,
                       {.activation = activation,
                        .filter = numbers.filter.data(),
                        .output = stored,
                        .source = source,
                        .panel = numbers.conv().panel});
}

/// Agreement with the fp64 reference under every schedule.
template <Conv2dConfig kConfig, class Epilogue = NoEpilogue>
void expect_agrees(ConvCase conv, const Epilogue& function = {}) {
    conv.shape.input = kConfig.element;
    conv.shape.weight = kConfig.filter_element;
    conv.output = kConfig.output;
    conv.source_value = kConfig.source_value;
    conv.source = kConfig.source != Source::None;
    conv.source_is_sum = kConfig.source == Source::Accumulate;
    conv.rounds_before_function = Epilogue::kForm == EpilogueForm::AfterSharedMemory;
    ConvNumbers numbers(conv);
    Guarded output(numbers.output_bytes());
    const Conv2dLaunch launch = launch_of<kConfig>(numbers, output);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        output.poison();
        const std::string fault = run_once<kConfig>(
            launch,
            Conv2dEpilogueArguments<Epilogue>{.bias = numbers.bias.empty() ? nullptr : numbers.bias.data(),
                                              .scales = numbers.scales.empty() ? nullptr : numbers.scales.data(),
                                              .alpha = conv.alpha,
                                              .beta = conv.beta,
                                              .function = function},
            seed);
        ASSERT_EQ(fault, "") << "seed " << seed;
        ASSERT_EQ(numbers.judge(output), "") << "seed " << seed;
    }
}

/// A 2-D convolution of n images [h, w, c_in] with "same" padding; for an even filter the larger half comes last.
inline ConvProblem same2d(int64_t n, int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t r, int64_t s) {
    return {.n = n,
            .h = h,
            .w = w,
            .c_in = c_in,
            .filter = {c_out, 1, r, s},
            .stride = {},
            .dilation = {},
            .pad = {.top = (r - 1) / 2, .bottom = r / 2, .left = (s - 1) / 2, .right = s / 2}};
}

}  // namespace kinetograph::sm100
