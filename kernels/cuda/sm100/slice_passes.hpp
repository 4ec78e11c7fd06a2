#pragma once

#include <kinetograph/kernels/cuda/sm100/epilogue_functions.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

/// Element-wise passes of the Q-slice convolution. One thread takes 8 neighbouring channels; grid.x is
/// slice_pass_blocks, 256 threads.
namespace kinetograph::sm100 {

inline constexpr uint32_t kPassThreads = 256, kPassValues = 8;

/// Blocks for `values` elements, a multiple of 8.
KG_HOST_DEVICE uint32_t slice_pass_blocks(uint64_t values) {
    return static_cast<uint32_t>((values / kPassValues + kPassThreads - 1) / kPassThreads);
}

/// sums (+)= slice. slice is bf16, as words of two.
struct AccumulateSliceParams {
    float* sums;
    const uint32_t* slice;
    uint64_t values;
    bool first;
};
/// output = function(sums + bias) + beta * source, in bf16.
template <class Epilogue>
struct FinishSlicesParams {
    const float* sums;
    const float* bias;       ///< [c_out] or null
    const uint32_t* source;  ///< bf16 or null
    uint32_t* output;
    uint64_t values;
    uint32_t c_out;
    float beta;
    Epilogue function;
};

/// First of this thread's elements.
KG_DEVICE uint64_t first_of_thread() {
    return (uint64_t{isa::block_index().x} * kPassThreads + isa::thread_index()) * kPassValues;
}

KG_DEVICE void accumulate_slice(const AccumulateSliceParams& params) {
    const uint64_t first = first_of_thread();
    if (first >= params.values) return;
    KG_UNROLL
    for (uint32_t i = 0; i < kPassValues; i += 2) {
        float pair[2];
        isa::unpack_word<isa::Value::BFloat16>(params.slice[(first + i) / 2], pair);
        float* sums = params.sums + first + i;
        sums[0] = params.first ? pair[0] : sums[0] + pair[0];
        sums[1] = params.first ? pair[1] : sums[1] + pair[1];
    }
}

template <class Epilogue>
KG_DEVICE void finish_slices(const FinishSlicesParams<Epilogue>& params) {
    const uint64_t first = first_of_thread();
    if (first >= params.values) return;
    const auto pixel = static_cast<uint32_t>(first / params.c_out),
               channel = static_cast<uint32_t>(first % params.c_out);
    KG_UNROLL
    for (uint32_t i = 0; i < kPassValues; i += 2) {
        float pair[2];
        KG_UNROLL
        for (uint32_t j = 0; j < 2; ++j) {
            const float bias = params.bias == nullptr ? 0.0f : params.bias[channel + i + j];
            pair[j] = params.function(params.sums[first + i + j] + bias, pixel, channel + i + j);
        }
        if (params.source != nullptr) {
            float residual[2];
            isa::unpack_word<isa::Value::BFloat16>(params.source[(first + i) / 2], residual);
            pair[0] += params.beta * residual[0];
            pair[1] += params.beta * residual[1];
        }
        params.output[(first + i) / 2] = isa::pack_word<isa::Value::BFloat16>(pair);
    }
}

}  // namespace kinetograph::sm100
