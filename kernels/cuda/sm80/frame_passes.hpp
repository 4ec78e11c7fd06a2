#pragma once

#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/pixel_order.hpp>
#include <kinetograph/kernels/cuda/host/pass_launch.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

/// A decoder's passes over single pixels or elements: of each the parameters, the kernel's only one by value, the shape
/// of its launch, and the kernel. Those that plans of every chip launch have the first two in host/pass_launch.hpp.
/// kPassThreads threads per CTA, frames along y (z for UpsampleKernel).
namespace kinetograph::sm80 {

template <Element kValue>
KG_DEVICE float load_element(const void* frame, size_t index) {
    const uint8_t* address = static_cast<const uint8_t*>(frame) + index * element_bytes(kValue);
    if constexpr (kValue == Element::F32) {
        return isa::load_global<float>(address);
    } else {
        float values[2];
        isa::unpack_word<kValue>(isa::load_global<uint16_t>(address), values);
        return values[0];
    }
}

template <Element kValue>
KG_DEVICE void store_element(void* frame, size_t index, float value) {
    uint8_t* address = static_cast<uint8_t*>(frame) + index * element_bytes(kValue);
    if constexpr (kValue == Element::F32) {
        isa::store_global(address, value);
    } else {
        const float values[2] = {value, 0};
        isa::store_global(address, static_cast<uint16_t>(isa::pack_word<kValue>(values)));
    }
}

/// This thread's index in its row of the grid.
KG_DEVICE uint32_t thread_of_row() { return isa::block_index().x * cuda::kPassThreads + isa::thread_index(); }

/// Each lane of a pixel takes 16 bytes of channels at a time if pixels are aligned multiples of 16 bytes, otherwise one
/// channel. It reads them twice, the second time from the L1, so there is no limit on channels. No other lane reads
/// what it writes, so a frame of kValues may be its own output. kStored: kValue or U8.
template <Element kValue, Element kStored = kValue>
struct RmsNormKernel {
    static constexpr uint32_t kWords = 4, kVector = kWords * isa::word_values(kValue);

    KG_DEVICE static void run(const cuda::RmsNormParams& params) {
        const void* input = params.frames.input[isa::block_index().y];
        void* output = params.frames.output[isa::block_index().y];
        if (params.channels % kVector == 0 && aligned(input) && aligned(output) && aligned(params.gamma) &&
            aligned(params.sum) && (kStored != Element::U8 || aligned(params.folds))) {
            norm<kVector>(params, input, output);
        } else {
            norm<1>(params, input, output);
        }
    }

  private:
    KG_DEVICE static bool aligned(const void* address) { return reinterpret_cast<size_t>(address) % 16 == 0; }

    template <uint32_t kCount>
    KG_DEVICE static void norm(const cuda::RmsNormParams& params, const void* input, void* output) {
        const uint32_t pixel =
            isa::block_index().x * (cuda::kPassThreads / cuda::kNormLanes) + isa::thread_index() / cuda::kNormLanes;
        const bool has = pixel < params.pixels;  // all lanes continue: the sums are exchanged within a warp
        const size_t first = has ? static_cast<size_t>(pixel) * params.channels : 0;
        const uint32_t lane = isa::thread_index() % cuda::kNormLanes, end = has ? params.channels : 0;
        float squares = 0;
        for (uint32_t c = lane * kCount; c < end; c += cuda::kNormLanes * kCount) {
            float values[kCount];
            load<kCount>(input, first + c, values);
            if (params.sum != nullptr) add<kCount>(params.sum, first + c, values);
            KG_UNROLL
            for (uint32_t i = 0; i < kCount; ++i) squares += values[i] * values[i];
        }
        KG_UNROLL
        for (uint32_t mask = cuda::kNormLanes / 2; mask > 0; mask /= 2) squares += isa::shuffle_xor(squares, mask);
        const float scale = isa::norm_scale(squares, params.sqrt_channels);
        for (uint32_t c = lane * kCount; c < end; c += cuda::kNormLanes * kCount) {
            float values[kCount], gamma[kCount];
            load<kCount>(params.sum != nullptr ? params.sum : input, first + c, values);
            load_gamma<kCount>(params.gamma + c, gamma);
            KG_UNROLL
            for (uint32_t i = 0; i < kCount; ++i) {
                values[i] *= scale * gamma[i];
                if (params.silu != 0) values[i] = isa::silu(values[i]);
            }
            if constexpr (kStored == Element::U8) {
                store_bytes<kCount>(params, output, first + c, c, values);
            } else {
                store<kCount>(output, first + c, values);
            }
        }
    }

    template <uint32_t kCount>
    KG_DEVICE static void load(const void* frame, size_t index, float (&values)[kCount]) {
        if constexpr (kCount == 1) {
            values[0] = load_element<kValue>(frame, index);
        } else {
            const auto words = isa::load_global<isa::Words<kWords>>(static_cast<const uint8_t*>(frame) +
                                                                    index * element_bytes(kValue));
            KG_UNROLL
            for (uint32_t i = 0; i < kWords; ++i)
                isa::unpack_word<kValue>(words.at[i], values + i * isa::word_values(kValue));
        }
    }

    template <uint32_t kCount>
    KG_DEVICE static void add(void* sum, size_t index, float (&values)[kCount]) {
        float before[kCount];
        load<kCount>(sum, index, before);
        KG_UNROLL
        for (uint32_t i = 0; i < kCount; ++i) values[i] += before[i];
        store<kCount>(sum, index, values);
        load<kCount>(sum, index, values);  // as rounded: what is normed is what is stored
    }

    template <uint32_t kCount>
    KG_DEVICE static void load_gamma(const float* gamma, float (&values)[kCount]) {
        if constexpr (kCount == 1) {
            values[0] = isa::load_global<float>(gamma);
        } else {
            KG_UNROLL
            for (uint32_t i = 0; i < kCount; i += kWords) {
                const auto words = isa::load_global<isa::Words<kWords>>(gamma + i);
                KG_UNROLL
                for (uint32_t j = 0; j < kWords; ++j) values[i + j] = isa::float_of(words.at[j]);
            }
        }
    }

    template <uint32_t kCount>
    KG_DEVICE static void store_bytes(const cuda::RmsNormParams& params, void* frame, size_t index, uint32_t channel,
                                      float (&values)[kCount]) {
        float folds[kCount];
        load_gamma<kCount>(params.folds + channel, folds);
        KG_UNROLL
        for (uint32_t i = 0; i < kCount; ++i) values[i] = values[i] * folds[i] + params.zero_point;
        uint8_t* address = static_cast<uint8_t*>(frame) + index;
        if constexpr (kCount == 1) {
            isa::store_global(address, static_cast<uint8_t>(isa::pack_bytes(values[0], 0)));
        } else {
            isa::Words<kCount / 4> words;
            KG_UNROLL
            for (uint32_t i = 0; i < kCount / 4; ++i)
                words.at[i] = isa::pack_bytes(values[4 * i], values[4 * i + 1]) |
                              static_cast<uint32_t>(isa::pack_bytes(values[4 * i + 2], values[4 * i + 3])) << 16;
            isa::store_global(address, words);
        }
    }

    template <uint32_t kCount>
    KG_DEVICE static void store(void* frame, size_t index, const float (&values)[kCount]) {
        if constexpr (kCount == 1) {
            store_element<kValue>(frame, index, values[0]);
        } else {
            isa::Words<kWords> words;
            KG_UNROLL
            for (uint32_t i = 0; i < kWords; ++i)
                words.at[i] = isa::pack_word<kValue>(values + i * isa::word_values(kValue));
            isa::store_global(static_cast<uint8_t*>(frame) + index * element_bytes(kValue), words);
        }
    }
};

/// out[i] = in[i] of up to kMaxKept frames, each thread reading its unit of all before it writes: an input may be the
/// output of a frame before it.
inline constexpr uint32_t kMaxKept = 4, kKeepUnit = 16;  ///< frames; bytes
struct KeepFramesParams {
    const void* input[kMaxKept];  ///< [units], aligned to them
    void* output[kMaxKept];
    uint32_t frames, units;
};

/// Grid: units.
struct KeepFramesKernel {
    KG_DEVICE static void run(const KeepFramesParams& params) {
        using Unit = isa::Words<kKeepUnit / 4>;
        const uint32_t unit = thread_of_row();
        if (unit >= params.units) return;
        Unit values[kMaxKept];
        KG_UNROLL
        for (uint32_t i = 0; i < kMaxKept; ++i)
            if (i < params.frames) values[i] = isa::load_global<Unit>(static_cast<const Unit*>(params.input[i]) + unit);
        KG_UNROLL
        for (uint32_t i = 0; i < kMaxKept; ++i)
            if (i < params.frames) isa::store_global(static_cast<Unit*>(params.output[i]) + unit, values[i]);
    }
};

/// A thread takes one unit of an input row. Grid: units, input rows, frames.
template <class Unit>
struct UpsampleKernel {
    KG_DEVICE static void run(const cuda::UpsampleParams& params) {
        const uint32_t unit = thread_of_row(), y = isa::block_index().y;
        if (unit >= params.row_units) return;
        const auto* input = static_cast<const Unit*>(params.frames.input[isa::block_index().z]);
        auto* output = static_cast<Unit*>(params.frames.output[isa::block_index().z]);
        const Unit value = isa::load_global<Unit>(input + static_cast<size_t>(y) * params.row_units + unit);
        const uint32_t x = unit / params.pixel_units, part = unit % params.pixel_units;
        Unit* to = output + static_cast<size_t>(y) * 4 * params.row_units + 2 * x * params.pixel_units + part;
        isa::store_global(to, value);
        isa::store_global(to + params.pixel_units, value);
        isa::store_global(to + 2 * params.row_units, value);
        isa::store_global(to + 2 * params.row_units + params.pixel_units, value);
    }
};

/// out[2 y + dy, 2 x + dx][c] = in[y, x][(4 c + place_in_block(order, dy, dx)) * channels_in / (4 channels_out)].
struct DepthToSpaceParams {
    cuda::FrameTable frames;  ///< [height, width, channels_in] to [2 height, 2 width, channels_out]
    uint32_t width;           ///< of the input
    uint32_t channels_in, channels_out;
    conv::PixelOrder order;
};

/// Elements of `element_bytes` that a thread of sm80_depth_to_space_<element_bytes> takes where pixels are whole
/// multiples of them, otherwise one.
constexpr uint32_t depth_to_space_vector(uint32_t element_bytes) { return 16 / element_bytes; }
/// width, height: of the input.
inline cuda::PassLaunch depth_to_space_launch(uint32_t width, uint32_t height, uint32_t channels_out,
                                              uint32_t element_bytes, uint32_t frames) {
    const uint32_t vector = depth_to_space_vector(element_bytes);
    const uint32_t each = channels_out % vector == 0 ? vector : 1;
    return {.grid = {conv::ceil_div(2 * width * channels_out / each, cuda::kPassThreads), 2 * height, frames},
            .threads = cuda::kPassThreads};
}

/// A thread takes 16 bytes of channels if output pixels are multiples of 16 bytes, otherwise one channel. Grid: threads
/// of an output row, output rows, frames.
template <class Unit>
struct DepthToSpaceKernel {
    static constexpr uint32_t kVector = depth_to_space_vector(sizeof(Unit));

    KG_DEVICE static void run(const DepthToSpaceParams& params) {
        const uint32_t y = isa::block_index().y;
        const auto* input = static_cast<const Unit*>(params.frames.input[isa::block_index().z]) +
                            static_cast<size_t>(y / 2) * params.width * params.channels_in;
        auto* output = static_cast<Unit*>(params.frames.output[isa::block_index().z]) +
                       static_cast<size_t>(y) * 2 * params.width * params.channels_out;
        if (params.channels_out % kVector == 0)
            make<kVector>(params, input, output, y % 2);
        else
            make<1>(params, input, output, y % 2);
    }

  private:
    template <uint32_t kCount>
    KG_DEVICE static void make(const DepthToSpaceParams& params, const Unit* input, Unit* output, uint32_t dy) {
        const uint32_t first = thread_of_row() * kCount;
        if (first >= 2 * params.width * params.channels_out) return;
        const uint32_t x = first / params.channels_out, c = first % params.channels_out;
        const Unit* pixel = input + static_cast<size_t>(x / 2) * params.channels_in;
        const uint32_t place = conv::place_in_block(params.order, dy, x % 2);
        const uint32_t shared_by = 4 * params.channels_out / params.channels_in;  // places that read one channel
        Unit values[kCount];
        KG_UNROLL
        for (uint32_t i = 0; i < kCount; ++i)
            values[i] = isa::load_global<Unit>(pixel + (4 * (c + i) + place) / shared_by);
        if constexpr (kCount == 1) {
            isa::store_global(output + first, values[0]);
        } else {
            isa::Words<4> words;
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i)
                words.at[i] =
                    sizeof(Unit) == 4 ? values[i] : values[2 * i % kCount] | values[(2 * i + 1) % kCount] << 16;
            isa::store_global(output + first, words);
        }
    }
};

/// out[pixel][c] = sum over i of latent[i][pixel] * map[i][c] + map[channels][c], rounded once.
struct UnpackLatentParams {
    cuda::FrameTable frames;  ///< [channels, pixels] to [pixels, channels]
    const float* map;         ///< [channels + 1, channels]; null: out is latent
    uint32_t pixels, channels;
    float soft_limit = 0;           ///< limit * tanh(value / limit) is stored; 0: the value
    Element latent = Element::F32;  ///< F32, F16 or BF16
};

/// Channels of a pixel that a thread of UnpackLatentKernel makes.
inline constexpr uint32_t kUnpackedChannels = 16;
inline cuda::PassLaunch unpack_latent_launch(uint32_t pixels, uint32_t channels, uint32_t frames) {
    return cuda::elements_launch(pixels * conv::ceil_div(channels, kUnpackedChannels), frames);
}

/// A thread makes kUnpackedChannels channels of a pixel, and the next thread those of the next pixel, so that
/// neighbouring threads read neighbouring values of each channel's plane. Latents may be in the host's memory: of up to
/// kUnpackedChannels channels each is read once, and kAtOnce of a pixel's are on their way together.
template <Element kValue>
struct UnpackLatentKernel {
    static constexpr uint32_t kAtOnce = 4;
    static_assert(kUnpackedChannels % kAtOnce == 0);
    using Latents = float[kAtOnce];

    KG_DEVICE static void run(const UnpackLatentParams& params) {
        const uint32_t thread = thread_of_row(), channels = params.channels, pixel = thread % params.pixels;
        const uint32_t first = thread / params.pixels * kUnpackedChannels;
        if (first >= channels) return;
        const uint32_t count = channels - first < kUnpackedChannels ? channels - first : kUnpackedChannels;
        float values[kUnpackedChannels] = {};
        if (params.map == nullptr) {
            KG_UNROLL
            for (uint32_t c = 0; c < kUnpackedChannels; c += kAtOnce) {
                Latents latents;
                load(params, pixel, first + c, first + count, latents);
                KG_UNROLL
                for (uint32_t i = 0; i < kAtOnce; ++i) values[c + i] = latents[i];
            }
        } else {
            apply_map(params, pixel, first, count, values);
        }
        void* output = params.frames.output[isa::block_index().y];
        KG_UNROLL
        for (uint32_t c = 0; c < kUnpackedChannels; ++c) {
            if (c >= count) continue;
            if (params.soft_limit != 0) values[c] = params.soft_limit * isa::tanh(values[c] / params.soft_limit);
            store_element<kValue>(output, static_cast<size_t>(pixel) * channels + first + c, values[c]);
        }
    }

  private:
    KG_DEVICE static void apply_map(const UnpackLatentParams& params, uint32_t pixel, uint32_t first, uint32_t count,
                                    float (&values)[kUnpackedChannels]) {
        const auto map = [&](uint32_t i, uint32_t c) {
            return c < count ? isa::load_global<float>(params.map + i * params.channels + first + c) : 0.0f;
        };
        KG_UNROLL
        for (uint32_t c = 0; c < kUnpackedChannels; ++c) values[c] = map(params.channels, c);
        for (uint32_t begin = 0; begin < params.channels; begin += kAtOnce) {
            Latents latents;
            load(params, pixel, begin, params.channels, latents);
            KG_UNROLL
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                if (begin + i >= params.channels) continue;
                isa::limit_loads_in_flight();  // of the map
                KG_UNROLL
                for (uint32_t c = 0; c < kUnpackedChannels; ++c) values[c] += latents[i] * map(begin + i, c);
            }
        }
    }

    /// Channels begin, begin + 1, ... of a pixel; zeros from `end` on.
    KG_DEVICE static void load(const UnpackLatentParams& params, uint32_t pixel, uint32_t begin, uint32_t end,
                               Latents& latents) {
        if (params.latent == Element::F16) return load_as<Element::F16>(params, pixel, begin, end, latents);
        if (params.latent == Element::BF16) return load_as<Element::BF16>(params, pixel, begin, end, latents);
        load_as<Element::F32>(params, pixel, begin, end, latents);
    }
    template <Element kLatent>
    KG_DEVICE static void load_as(const UnpackLatentParams& params, uint32_t pixel, uint32_t begin, uint32_t end,
                                  Latents& latents) {
        const size_t first = static_cast<size_t>(begin) * params.pixels + pixel;
        const void* frame =
            static_cast<const uint8_t*>(params.frames.input[isa::block_index().y]) + first * element_bytes(kLatent);
        KG_UNROLL
        for (uint32_t i = 0; i < kAtOnce; ++i)
            latents[i] = begin + i < end ? load_element<kLatent>(frame, i * params.pixels) : 0.0f;
    }
};

/// Frames limited to [-limit, limit] and converted, rounded once; NaN stays NaN.
struct StoreFloatParams {
    cuda::FrameTable frames;  ///< [elements] to [elements]
    uint32_t elements;
    float limit;
    uint32_t* not_finite = nullptr;  ///< set to 1 if an input is infinite or NaN; null: not checked
    Element output = Element::F32;   ///< F32 or F16
};

template <Element kValue>
struct StoreFloatKernel {
    KG_DEVICE static void run(const StoreFloatParams& params) {
        const uint32_t index = thread_of_row();
        if (index >= params.elements) return;
        const float value = load_element<kValue>(params.frames.input[isa::block_index().y], index);
        const bool finite = value - value == 0.0f;
        if (!finite && params.not_finite != nullptr) isa::store_global(params.not_finite, 1u);
        const float raised = value < -params.limit ? -params.limit : value;  // NaN fails both comparisons and stays
        const float limited = raised > params.limit ? params.limit : raised;
        void* output = params.frames.output[isa::block_index().y];
        if (params.output == Element::F16)
            store_element<Element::F16>(output, index, limited);
        else
            store_element<Element::F32>(output, index, limited);
    }
};

/// Pictures of three channels, nominal range [-1, 1], as opaque RGBA of 8 bits: rounded to nearest, halves up; NaN
/// becomes 0.
struct StorePictureParams {
    cuda::FrameTable frames;  ///< [pixels, 3] to [pixels, 4] bytes
    uint32_t pixels;
    uint32_t* not_finite = nullptr;  ///< set to 1 if an input is infinite or NaN; null: not checked
};

template <Element kValue>
struct StorePictureKernel {
    KG_DEVICE static void run(const StorePictureParams& params) {
        const uint32_t pixel = thread_of_row();
        if (pixel >= params.pixels) return;
        uint32_t rgba = 0xff000000u;
        bool finite = true;
        KG_UNROLL
        for (uint32_t c = 0; c < 3; ++c) {
            const size_t index = static_cast<size_t>(pixel) * 3 + c;
            const float value = load_element<kValue>(params.frames.input[isa::block_index().y], index);
            finite = finite && value - value == 0.0f;
            rgba |= unorm8(value) << (8 * c);
        }
        if (!finite && params.not_finite != nullptr) isa::store_global(params.not_finite, 1u);
        isa::store_global(static_cast<uint32_t*>(params.frames.output[isa::block_index().y]) + pixel, rgba);
    }

    KG_DEVICE static uint32_t unorm8(float value) {
        const float scaled = (value + 1.0f) * 127.5f;
        if (!(scaled > 0.0f)) return 0;
        const float half_up = (scaled < 255.0f ? scaled : 255.0f) + 0.5f;
        return static_cast<uint32_t>(half_up);
    }
};

/// sum (+)= slice: one step of q-slice-rounded-sm80, whose 2-D convolutions store each temporal tap's result in the
/// element's type. (The fused form needs no pass: it adds through ConvParams::addend.)
struct AddSliceParams {
    cuda::FrameTable frames;  ///< [elements] slices to fp32 [elements] sums
    uint32_t elements;
    uint32_t first;  ///< 1: the sum starts with this slice and overwrites the old contents
};

template <Element kValue>
struct AddSliceKernel {
    KG_DEVICE static void run(const AddSliceParams& params) {
        const uint32_t index = thread_of_row();
        if (index >= params.elements) return;
        void* sums = params.frames.output[isa::block_index().y];
        const float slice = load_element<kValue>(params.frames.input[isa::block_index().y], index);
        const float before = params.first != 0 ? 0.0f : load_element<Element::F32>(sums, index);
        store_element<Element::F32>(sums, index, before + slice);
    }
};

/// out = ReLU(SiLU(sum + bias) + beta * residual), rounded once: the last step of q-slice-rounded-sm80.
struct FinishSlicesParams {
    cuda::FrameTable frames;                     ///< fp32 [pixels, channels] to the same of the output's type
    const void* residual[cuda::kMaxPassFrames];  ///< as the output; null: none
    const float* bias;                           ///< [channels]; null: none
    uint32_t elements, channels;
    uint32_t silu;
    float beta;
    uint32_t relu = 0;
    float negative_slope = 0;  ///< of the ReLU
};
static_assert(sizeof(FinishSlicesParams) <= 4096);

template <Element kValue>
struct FinishSlicesKernel {
    KG_DEVICE static void run(const FinishSlicesParams& params) {
        const uint32_t index = thread_of_row(), frame = isa::block_index().y;
        if (index >= params.elements) return;
        float value = load_element<Element::F32>(params.frames.input[frame], index);
        if (params.bias != nullptr) value += isa::load_global<float>(params.bias + index % params.channels);
        if (params.silu != 0) value = isa::silu(value);
        if (params.residual[frame] != nullptr) {
            value += params.beta * load_element<kValue>(params.residual[frame], index);
        }
        if (params.relu != 0) value = isa::leaky_relu(value, params.negative_slope);
        store_element<kValue>(params.frames.output[frame], index, value);
    }
};

}  // namespace kinetograph::sm80
