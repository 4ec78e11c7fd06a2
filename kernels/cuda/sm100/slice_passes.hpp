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

/// sums (+)= slice. slice is bf16, as words of two. All addresses are 16-byte aligned.
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

/// 16 bytes, moved by one instruction.
struct alignas(16) FourFloats {
    float at[4];
};
struct alignas(16) FourWords {
    uint32_t at[4];
};

/// This thread's first element, divided by kPassValues.
KG_DEVICE uint64_t part_of_thread() { return uint64_t{isa::block_index().x} * kPassThreads + isa::thread_index(); }

KG_DEVICE void unpack_part(const FourWords& words, float (&values)[kPassValues]) {
    KG_UNROLL
    for (uint32_t i = 0; i < 4; ++i) isa::unpack_word<Element::BF16>(words.at[i], values + 2 * i);
}

KG_DEVICE void accumulate_slice(const AccumulateSliceParams& params) {
    const uint64_t part = part_of_thread();
    if (part * kPassValues >= params.values) return;
    float values[kPassValues];
    unpack_part(reinterpret_cast<const FourWords*>(params.slice)[part], values);
    auto* sums = reinterpret_cast<FourFloats*>(params.sums) + 2 * part;
    KG_UNROLL
    for (uint32_t half = 0; half < 2; ++half) {
        FourFloats four = params.first ? FourFloats{} : sums[half];
        KG_UNROLL
        for (uint32_t i = 0; i < 4; ++i) four.at[i] += values[half * 4 + i];
        sums[half] = four;
    }
}

template <class Epilogue>
KG_DEVICE void finish_slices(const FinishSlicesParams<Epilogue>& params) {
    const uint64_t part = part_of_thread(), first = part * kPassValues;
    if (first >= params.values) return;
    const auto pixel = static_cast<uint32_t>(first / params.c_out),
               channel = static_cast<uint32_t>(first % params.c_out);
    float residual[kPassValues] = {};
    if (params.source != nullptr) unpack_part(reinterpret_cast<const FourWords*>(params.source)[part], residual);
    const auto* sums = reinterpret_cast<const FourFloats*>(params.sums) + 2 * part;
    FourWords words;
    KG_UNROLL
    for (uint32_t half = 0; half < 2; ++half) {
        const FourFloats four = sums[half];
        float values[4];
        KG_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t place = half * 4 + i;
            const float bias = params.bias == nullptr ? 0.0f : params.bias[channel + place];
            values[i] = params.function(four.at[i] + bias, pixel, channel + place) + params.beta * residual[place];
        }
        words.at[2 * half] = isa::pack_word<Element::BF16>(values);
        words.at[2 * half + 1] = isa::pack_word<Element::BF16>(values + 2);
    }
    reinterpret_cast<FourWords*>(params.output)[part] = words;
}

}  // namespace kinetograph::sm100
