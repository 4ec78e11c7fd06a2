#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_faults.hpp>
#include <kinetograph/kernels/cuda/sm90/volume_params.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/packed_math.hpp>
#include <kinetograph/kernels/isa/shared_memory.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

/// The passes before and after the matrix products of winograd-volume-sm90. Along each axis F(2,3) computes
///
///   operands    d0 - d2         d1 + d2                d2 - d1                d1 - d3
///   filters     g0              (g0 + g1 + g2) / 2     (g0 - g1 + g2) / 2     g2
///   results     y0 = m0 + m1 + m2                      y1 = m1 - m2 - m3
///
/// of which position 16 t + 4 y + x is the t-th along time, the y-th along rows and the x-th along columns. A thread
/// takes four channels of a cell. Frames are bf16, operands and products fp16, whose three more bits pay for three
/// transforms. Lavin and Gray 2016, arXiv 1509.09308.
namespace kinetograph::sm90 {

inline constexpr uint32_t kVolumeChannels = 4;   ///< of a thread
inline constexpr uint32_t kVolumeThreads = 256;  ///< of either pass's CTA

/// A cell's place in the picture: its first pixel.
struct CellPlace {
    int32_t y, x;
};
KG_DEVICE CellPlace place_of(const VolumeCells& cells, uint32_t cell) {
    const uint32_t at = cells.first + cell;
    return {static_cast<int32_t>(at / cells.columns * 2), static_cast<int32_t>(at % cells.columns * 2)};
}

/// Grid: threads of cells times groups of channels.
template <ConvFault kFault = ConvFault::None>
struct VolumeInputKernel {
    KG_DEVICE static void run(const VolumeInputParams& params) {
        const uint32_t unit = isa::block_index().x * kVolumeThreads + isa::thread_index();
        const uint32_t groups = params.c_in / kVolumeChannels, cell = unit / groups;
        if (cell >= params.cells.count) return;
        const uint32_t channel = unit % groups * kVolumeChannels;
        const CellPlace place = place_of(params.cells, cell);
        const int32_t top = place.y - params.pad_top, left = place.x - params.pad_left;
        auto* operands = static_cast<uint16_t*>(params.operands) + static_cast<size_t>(cell) * params.c_in + channel;
        const size_t step = static_cast<size_t>(params.cells.stride) * params.c_in;  // from position to position
        const auto store = [&](uint32_t position, const Values& value) {
            isa::store_global(operands + position * step, value);
        };
        Values second[16], third[16], other[16];
        transform(params, 1, top, left, channel, second);
        transform(params, 2, top, left, channel, third);
        KG_UNROLL
        for (uint32_t i = 0; i < 16; ++i) store(16 + i, add(second[i], third[i]));
        KG_UNROLL
        for (uint32_t i = 0; i < 16; ++i)
            store(32 + i, kFault == ConvFault::WrongTransformSign ? subtract(second[i], third[i])
                                                                  : subtract(third[i], second[i]));
        transform(params, 0, top, left, channel, other);
        KG_UNROLL
        for (uint32_t i = 0; i < 16; ++i) store(i, subtract(other[i], third[i]));
        transform(params, 3, top, left, channel, other);
        KG_UNROLL
        for (uint32_t i = 0; i < 16; ++i) store(48 + i, subtract(second[i], other[i]));
    }

  private:
    using Values = isa::Words<kVolumeChannels / 2>;  ///< in fp16

    KG_DEVICE static Values add(const Values& a, const Values& b) {
        return {{isa::add_values<Element::F16>(a.at[0], b.at[0]), isa::add_values<Element::F16>(a.at[1], b.at[1])}};
    }
    KG_DEVICE static Values subtract(const Values& a, const Values& b) {
        return {{isa::subtract_values<Element::F16>(a.at[0], b.at[0]),
                 isa::subtract_values<Element::F16>(a.at[1], b.at[1])}};
    }

    /// The 4 x 4 pixels of one frame from (top, left) on, transformed along rows and columns.
    KG_DEVICE static void transform(const VolumeInputParams& params, uint32_t frame, int32_t top, int32_t left,
                                    uint32_t channel, Values (&values)[16]) {
        const auto* input = static_cast<const uint16_t*>(params.input[frame]);
        KG_UNROLL
        for (uint32_t i = 0; i < 16; ++i) {
            const int32_t y = top + static_cast<int32_t>(i / 4), x = left + static_cast<int32_t>(i % 4);
            const bool inside = input != nullptr && y >= 0 && x >= 0 && y < static_cast<int32_t>(params.h) &&
                                x < static_cast<int32_t>(params.w);
            values[i] = {};
            if (inside)
                values[i] = isa::load_global<Values>(
                    input + (static_cast<size_t>(y) * params.w + static_cast<size_t>(x)) * params.c_in + channel);
        }
        KG_UNROLL
        for (Values& value : values) {
            KG_UNROLL
            for (uint32_t& word : value.at) {
                float numbers[2];
                isa::unpack_word<Element::BF16>(word, numbers);
                word = isa::pack_word<Element::F16>(numbers);
            }
        }
        KG_UNROLL
        for (uint32_t x = 0; x < 4; ++x) along<4>(values + x);
        KG_UNROLL
        for (uint32_t y = 0; y < 4; ++y) along<1>(values + 4 * y);
    }

    template <uint32_t kStep>
    KG_DEVICE static void along(Values* d) {
        const Values d1 = d[kStep], d2 = d[2 * kStep];
        d[0] = subtract(d[0], d2);
        d[kStep] = add(d1, d2);
        d[2 * kStep] = subtract(d2, d1);
        d[3 * kStep] = subtract(d1, d[3 * kStep]);
    }
};

struct VolumeOutputSmem {
    float squares[8][kVolumeThreads / 32];  ///< [pixel of the cell][warp]
};

/// Threads of the output pass that share a cell: whole warps, one thread for every four channels.
KG_HOST_DEVICE uint32_t cell_threads(uint32_t k) {
    return (k + 32 * kVolumeChannels - 1) / (32 * kVolumeChannels) * 32;
}
/// Cells of a CTA of the output pass.
KG_HOST_DEVICE uint32_t cells_together(uint32_t k) { return kVolumeThreads / cell_threads(k); }

/// Grid: cells_together() cells a CTA.
template <ConvFault kFault = ConvFault::None>
struct VolumeOutputKernel {
    KG_DEVICE static void run(const VolumeOutputParams& params) {
        const auto [cell, channel, exists] = share(params);
        Values pixels[8] = {};
        if (exists) {
            add_products(params, cell, channel, pixels);
            const float scale = isa::load_global<float>(params.scale);
            Values bias = {};
            if (has(params, conv::kConvBias)) bias = isa::load_global<Values>(params.bias + channel);
            KG_UNROLL
            for (uint32_t pixel = 0; pixel < 8; ++pixel)
                finish(params, cell, channel, pixel, scale, bias, pixels[pixel]);
        }
        if (has(params, conv::kConvNorm)) norm(params, pixels);  // by all threads: they add up squares together
    }

  private:
    struct alignas(16) Values {
        float at[kVolumeChannels];
    };
    using Stored = isa::Words<kVolumeChannels / 2>;

    /// A thread's cell and its first channel there; some threads of a CTA may have none.
    struct Share {
        uint32_t cell, channel;
        bool exists;
    };
    KG_DEVICE static Share share(const VolumeOutputParams& params) {
        const uint32_t threads = cell_threads(params.k), together = cells_together(params.k);
        const uint32_t thread = isa::recomputed(isa::thread_index()), group = thread / threads;
        const uint32_t cell = isa::block_index().x * together + group, channel = thread % threads * kVolumeChannels;
        return {cell, channel, group < together && cell < params.cells.count && channel < params.k};
    }

    KG_DEVICE static bool has(const VolumeOutputParams& params, uint32_t flag) { return (params.flags & flag) != 0; }

    template <Element kValue>
    KG_DEVICE static Values unpacked(const Stored& stored) {
        Values values;
        isa::unpack_word<kValue>(stored.at[0], values.at);
        isa::unpack_word<kValue>(stored.at[1], values.at + 2);
        return values;
    }
    KG_DEVICE static Stored packed(const Values& values) {
        return {{isa::pack_word<Element::BF16>(values.at), isa::pack_word<Element::BF16>(values.at + 2)}};
    }

    /// Pixel 4 t + 2 y + x is that of frame t.
    KG_DEVICE static void add_products(const VolumeOutputParams& params, uint32_t cell, uint32_t channel,
                                       Values (&pixels)[8]) {
        const auto* products =
            static_cast<const uint16_t*>(params.products) + static_cast<size_t>(cell) * params.k + channel;
        const size_t step = static_cast<size_t>(params.cells.stride) * params.k;
        KG_UNROLL
        for (uint32_t row = 0; row < 16; ++row) {  // 4 t + y
            if (row % 4 == 0) isa::limit_loads_in_flight();
            Values m[4];
            KG_UNROLL
            for (uint32_t x = 0; x < 4; ++x)
                m[x] = unpacked<Element::F16>(isa::load_global<Stored>(products + (4 * row + x) * step));
            KG_UNROLL
            for (uint32_t c = 0; c < kVolumeChannels; ++c) {
                const float sums[2] = {m[0].at[c] + m[1].at[c] + m[2].at[c], m[1].at[c] - m[2].at[c] - m[3].at[c]};
                KG_UNROLL
                for (uint32_t pixel = 0; pixel < 8; ++pixel)
                    pixels[pixel].at[c] +=
                        weight(pixel / 4, row / 4) * weight(pixel / 2 % 2, row % 4) * sums[pixel % 2];
            }
        }
    }
    /// Of product `at` in result `of` of F(2,3): 0, 1 or -1.
    KG_DEVICE static constexpr float weight(uint32_t of, uint32_t at) {
        if (of == 0) return at < 3 ? 1.0f : 0.0f;
        return at == 0 ? 0.0f : at == 1 ? 1.0f : -1.0f;
    }

    /// Where a pixel's channels lie in its frame; false outside the picture.
    KG_DEVICE static bool find(const VolumeOutputParams& params, uint32_t cell, uint32_t channel, uint32_t pixel,
                               size_t& index) {
        const CellPlace place = place_of(params.cells, cell);
        const uint32_t y = static_cast<uint32_t>(place.y) + pixel / 2 % 2;
        const uint32_t x = static_cast<uint32_t>(place.x) + pixel % 2;
        index = (static_cast<size_t>(y) * params.w + x) * params.k + channel;
        return y < params.h && x < params.w;
    }

    /// The rounded result of a sum, which is stored with kConvOutput.
    KG_DEVICE static void finish(const VolumeOutputParams& params, uint32_t cell, uint32_t channel, uint32_t pixel,
                                 float scale, const Values& bias, Values& value) {
        size_t index = 0;
        if (!find(params, cell, channel, pixel, index)) return;
        Values residual = {};
        if (has(params, conv::kConvResidual))
            residual = unpacked<Element::BF16>(
                isa::load_global<Stored>(static_cast<const uint16_t*>(params.residual[pixel / 4]) + index));
        KG_UNROLL
        for (uint32_t c = 0; c < kVolumeChannels; ++c) {
            float& v = value.at[c];
            v = v * scale + bias.at[c];
            if (has(params, conv::kConvSilu)) v = isa::silu(v);
            v += params.beta * residual.at[c];
            if (has(params, conv::kConvRelu)) v = isa::leaky_relu(v, params.negative_slope);
        }
        const Stored rounded = packed(value);
        if (has(params, conv::kConvOutput))
            isa::store_global(static_cast<uint16_t*>(params.output[pixel / 4]) + index, rounded);
        value = unpacked<Element::BF16>(rounded);  // the norm is that of the stored values
    }

    KG_DEVICE static void norm(const VolumeOutputParams& params, const Values (&pixels)[8]) {
        auto& smem = isa::shared_as<VolumeOutputSmem>();
        const uint32_t warp = isa::warp_index(), warps = cell_threads(params.k) / 32, first = warp / warps * warps;
        KG_UNROLL
        for (uint32_t pixel = 0; pixel < 8; ++pixel) {
            float sum = 0;
            KG_UNROLL
            for (const float value : pixels[pixel].at) sum += value * value;
            KG_UNROLL
            for (uint32_t mask = 16; mask > 0; mask /= 2) sum += isa::shuffle_xor(sum, mask);
            if (isa::lane_index() == 0) isa::store_shared(&smem.squares[pixel][warp], sum);
        }
        if constexpr (kFault != ConvFault::NoStagingBarrier) isa::sync_cta();
        const auto [cell, channel, exists] = share(params);
        if (!exists) return;
        const Values gamma = isa::load_global<Values>(params.gamma + channel);
        KG_UNROLL
        for (uint32_t pixel = 0; pixel < 8; ++pixel) {
            size_t index = 0;
            if (!find(params, cell, channel, pixel, index)) continue;
            float sum = 0;
            for (uint32_t i = first; i < first + warps; ++i) sum += isa::load_shared(&smem.squares[pixel][i]);
            const float scale = isa::norm_scale(sum, params.sqrt_k);
            Values value;
            KG_UNROLL
            for (uint32_t c = 0; c < kVolumeChannels; ++c) {
                value.at[c] = pixels[pixel].at[c] * scale * gamma.at[c];
                if (has(params, conv::kConvNormSilu)) value.at[c] = isa::silu(value.at[c]);
            }
            isa::store_global(static_cast<uint16_t*>(params.normed[pixel / 4]) + index, packed(value));
        }
    }
};

}  // namespace kinetograph::sm90
