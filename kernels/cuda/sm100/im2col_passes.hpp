#pragma once

#include <kinetograph/kernels/cuda/sm100/epilogue_functions.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

/// The passes around a matrix product that make it any convolution: one writes the rows of A, the other turns sums into
/// outputs. One thread takes 16 bytes of a row of A, or one sum; grid.x is im2col_blocks of their number, 256 threads.
namespace kinetograph::sm100 {

inline constexpr uint32_t kIm2colThreads = 256;

KG_HOST_DEVICE uint32_t im2col_blocks(uint64_t threads) {
    return static_cast<uint32_t>((threads + kIm2colThreads - 1) / kIm2colThreads);
}
KG_DEVICE uint64_t index_of_thread() { return uint64_t{isa::block_index().x} * kIm2colThreads + isa::thread_index(); }

/// Any convolution, as the layer describes it.
struct Im2colGeometry {
    uint32_t d, h, w, c_in;               ///< activation [n, d, h, w, c_in]
    uint32_t d_out, h_out, w_out, c_out;  ///< output [n, d_out, h_out, w_out, c_out]
    uint32_t q, r, s;
    uint32_t stride_d, stride_h, stride_w;
    uint32_t dilation_d, dilation_h, dilation_w;
    uint32_t pad_d, pad_h, pad_w;  ///< zeros in front
    uint32_t group_channels, group_filters;
};

/// matrix[row][k], k = (q, r, s, channel of the group); zeros where the filter leaves the input and after the last k.
struct GatherParams {
    const void* activation;
    void* matrix;        ///< [rows][k_padded] of the element, 16-byte aligned
    uint64_t first_row;  ///< output pixel of matrix row 0
    uint64_t rows;
    uint32_t k, k_padded;
    uint32_t first_channel;  ///< of the group
    Im2colGeometry geometry;
};

/// `Bits` holds one element: uint16_t or uint8_t.
template <class Bits>
struct alignas(16) GatheredPart {
    static constexpr uint32_t kElements = 16 / sizeof(Bits);
    Bits at[kElements];
};

template <class Bits>
KG_DEVICE void gather_rows(const GatherParams& params) {
    using Part = GatheredPart<Bits>;
    const Im2colGeometry& g = params.geometry;
    const uint32_t parts = params.k_padded / Part::kElements;  // of a row
    const uint64_t index = index_of_thread();
    if (index >= params.rows * parts) return;
    const uint64_t pixel = params.first_row + index / parts;
    uint32_t k = static_cast<uint32_t>(index % parts) * Part::kElements;

    const auto w = static_cast<uint32_t>(pixel % g.w_out), h = static_cast<uint32_t>(pixel / g.w_out % g.h_out);
    const uint64_t frame = pixel / (uint64_t{g.w_out} * g.h_out);
    const auto d = static_cast<uint32_t>(frame % g.d_out);
    const uint64_t n = frame / g.d_out;
    uint32_t channel = k % g.group_channels, tap = k / g.group_channels;
    Part part;
    KG_UNROLL
    for (uint32_t i = 0; i < Part::kElements; ++i, ++k) {
        const uint32_t s = tap % g.s, r = tap / g.s % g.r, q = tap / (g.s * g.r);
        // Unsigned: a position before the first one becomes very large.
        const uint32_t in_d = d * g.stride_d + q * g.dilation_d - g.pad_d;
        const uint32_t in_h = h * g.stride_h + r * g.dilation_h - g.pad_h;
        const uint32_t in_w = w * g.stride_w + s * g.dilation_w - g.pad_w;
        const bool inside = k < params.k && in_d < g.d && in_h < g.h && in_w < g.w;
        const uint64_t place = (((n * g.d + in_d) * g.h + in_h) * g.w + in_w) * g.c_in + params.first_channel + channel;
        part.at[i] = inside ? static_cast<const Bits*>(params.activation)[place] : Bits{0};
        if (++channel == g.group_channels) {
            channel = 0;
            ++tap;
        }
    }
    static_cast<Part*>(params.matrix)[index] = part;
}

/// output = function(alpha * scale * sums + bias) + beta * source, for the filters of one group.
template <class Epilogue>
struct BringHomeParams {
    const float* sums;  ///< [rows][padded_filters]
    uint32_t padded_filters;
    uint64_t first_row, rows;
    uint32_t first_filter;  ///< of the group
    uint32_t group_filters, c_out;
    const float *bias, *scales;  ///< [c_out] or null
    const void* source;          ///< [pixels][c_out] of the output's type, or null
    void* output;                ///< [pixels][c_out]
    float alpha, beta;
    Epilogue function;
};

template <Element kValue>
KG_DEVICE float load_one(const void* values, uint64_t index) {
    if constexpr (kValue == Element::F32) return static_cast<const float*>(values)[index];
    float pair[2];
    isa::unpack_word<kValue>(static_cast<const uint16_t*>(values)[index], pair);
    return pair[0];
}
template <Element kValue>
KG_DEVICE void store_one(void* values, uint64_t index, float value) {
    if constexpr (kValue == Element::F32) {
        static_cast<float*>(values)[index] = value;
    } else {
        const float pair[2] = {value, 0.0f};
        static_cast<uint16_t*>(values)[index] = static_cast<uint16_t>(isa::pack_word<kValue>(pair));
    }
}

template <Element kValue, class Epilogue>
KG_DEVICE void bring_home(const BringHomeParams<Epilogue>& params) {
    const uint64_t index = index_of_thread();
    if (index >= params.rows * params.group_filters) return;
    const uint64_t row = index / params.group_filters, pixel = params.first_row + row;
    const auto filter = static_cast<uint32_t>(index % params.group_filters), channel = params.first_filter + filter;
    const float bias = params.bias == nullptr ? 0.0f : params.bias[channel];
    const float scale = params.scales == nullptr ? params.alpha : params.alpha * params.scales[channel];
    float value = scale * params.sums[row * params.padded_filters + filter] + bias;
    if constexpr (Epilogue::kForm == EpilogueForm::InRegisters || Epilogue::kForm == EpilogueForm::AfterSharedMemory)
        value = params.function(value, static_cast<uint32_t>(pixel), channel);
    const uint64_t place = pixel * params.c_out + channel;
    if (params.source != nullptr) value += params.beta * load_one<kValue>(params.source, place);
    store_one<kValue>(params.output, place, value);
    if constexpr (Epilogue::kForm == EpilogueForm::AfterStore)
        params.function(load_one<kValue>(params.output, place), static_cast<uint32_t>(pixel), channel);
}

}  // namespace kinetograph::sm100
