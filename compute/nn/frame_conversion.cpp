#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/nn/cpu_operators.hpp>
#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace kinetograph::nn {
namespace {

constexpr std::int64_t kBlock = 16384;  // elements that a thread takes at a time

/// Written so that a NaN fails both comparisons and stays.
inline float clamped(float value, float limit) {
    const float raised = value < -limit ? -limit : value;
    return raised > limit ? limit : raised;
}

/// 1 for an infinity and for NaN.
inline std::uint32_t not_finite(float value) {
    constexpr std::uint32_t kExponent = 0x7F800000U;
    return (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
}

template <class Stored>
[[gnu::always_inline]] inline float widened(Stored value) {
    if constexpr (std::is_same_v<Stored, float>)
        return value;
    else
        return tensor::from_bf16(value);
}

/// Returns whether a value is not finite.
template <class Stored>
[[gnu::always_inline]] inline bool store_loop(const Stored* input, float* output, std::int64_t count, float limit) {
    std::uint32_t bad = 0;
#pragma omp simd reduction(| : bad)
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = widened(input[i]);
        bad |= not_finite(value);
        output[i] = clamped(value, limit);
    }
    return bad != 0;
}

template <class Stored>
bool store(const Stored* input, float* output, std::int64_t count, float limit) {
    return conv::CpuClones<store_loop<Stored>>()(input, output, count, limit);
}

template <class Stored>
[[gnu::always_inline]] inline bool store_halves_loop(const Stored* input, std::uint16_t* halves, std::int64_t count,
                                                     float limit) {
    std::uint32_t bad = 0;
#pragma omp simd reduction(| : bad)
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = widened(input[i]);
        bad |= not_finite(value);
        halves[i] = tensor::to_f16(clamped(value, limit));
    }
    return bad != 0;
}

template <class Stored>
bool store(const Stored* input, std::uint16_t* halves, std::int64_t count, float limit) {
    return conv::CpuClones<store_halves_loop<Stored>>()(input, halves, count, limit);
}

/// Elements [first, first + count) of one frame. Returns whether a value is not finite.
template <class Stored>
bool store_part(const conv::StoreFloatProblem& p, const std::byte* input, std::byte* output, std::int64_t first,
                std::int64_t count) {
    const Stored* const from = reinterpret_cast<const Stored*>(input) + first;
    if (p.output.element == Element::F16)
        return store(from, reinterpret_cast<std::uint16_t*>(output) + first, count, p.limit);
    return store(from, reinterpret_cast<float*>(output) + first, count, p.limit);
}

[[gnu::always_inline]] inline std::uint8_t unorm8(float value) {
    const float half_up = (value + 1.0F) * 127.5F + 0.5F;  // what truncation then rounds
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::min(255.0F, std::max(0.0F, half_up))));  // 0 of NaN
}

/// True if a value is not finite. Values become bytes in a loop over all of them, and only then pixels of four.
template <class Stored>
[[gnu::always_inline]] inline bool store_pixels_loop(const Stored* rgb, std::uint8_t* rgba, std::int64_t pixels) {
    constexpr std::int64_t kPixels = 64;
    std::uint32_t bad = 0;
    for (std::int64_t first = 0; first < pixels; first += kPixels) {
        std::uint8_t bytes[3 * kPixels];
        const std::int64_t count = std::min(kPixels, pixels - first);
        const Stored* const from = rgb + 3 * first;
#pragma omp simd reduction(| : bad)
        for (std::int64_t i = 0; i < 3 * count; ++i) {
            const float value = widened(from[i]);
            bad |= not_finite(value);
            bytes[i] = unorm8(value);
        }
        std::uint8_t* const to = rgba + 4 * first;
        for (std::int64_t pixel = 0; pixel < count; ++pixel) {
            const std::uint8_t* const one = bytes + 3 * pixel;
            const std::uint32_t word = one[0] | one[1] << 8U | one[2] << 16U | 0xFF000000U;
            std::memcpy(to + 4 * pixel, &word, sizeof word);
        }
    }
    return bad != 0;
}

template <class Stored>
bool store_pixels(const std::byte* input, std::byte* output, std::int64_t pixels) {
    return conv::CpuClones<store_pixels_loop<Stored>>()(reinterpret_cast<const Stored*>(input),
                                                        reinterpret_cast<std::uint8_t*>(output), pixels);
}

/// Calls `store(frame, first, count)` for blocks of all frames, each of `each` items; flags what returns true.
template <class Store>
void store_blocks(const conv::OpTensors& tensors, std::int64_t each, const Store& store) {
    const std::int64_t blocks = (each + kBlock - 1) / kBlock;
    const std::int64_t tasks = blocks * static_cast<std::int64_t>(tensors.input.size());
    for_tasks(tasks, [&](std::int64_t task, int) {
        const std::int64_t first = task % blocks * kBlock;
        const bool bad = store(static_cast<std::size_t>(task / blocks), first, std::min(kBlock, each - first));
        if (bad && tensors.not_finite != nullptr)
            std::atomic_ref(*tensors.not_finite).store(1, std::memory_order_relaxed);
    });
}

float latent_value(Element element, const std::byte* latent, std::int64_t index) {
    if (element == Element::F32) return reinterpret_cast<const float*>(latent)[index];
    const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(latent)[index];
    return element == Element::F16 ? tensor::from_f16(bits) : tensor::from_bf16(bits);
}

void unpack_pixel(const conv::UnpackLatentProblem& p, const std::byte* latent, std::byte* output, const float* map,
                  std::int64_t pixel) {
    for (std::int64_t c = 0; c < p.channels; ++c) {
        float value = 0;
        if (map == nullptr) {
            value = latent_value(p.input.element, latent, c * p.pixels + pixel);
        } else {
            value = map[p.channels * p.channels + c];
            for (std::int64_t i = 0; i < p.channels; ++i)
                value += latent_value(p.input.element, latent, i * p.pixels + pixel) * map[i * p.channels + c];
        }
        if (p.soft_limit != 0) value = p.soft_limit * std::tanh(value / p.soft_limit);
        const std::int64_t index = pixel * p.channels + c;
        if (p.output.element == Element::F32) {
            reinterpret_cast<float*>(output)[index] = value;
        } else {
            reinterpret_cast<std::uint16_t*>(output)[index] = tensor::to_bf16(value);
        }
    }
}

}  // namespace

std::uint8_t to_unorm8(float value) { return unorm8(value); }

conv::OpMethod unpack_latent_on_cpu() {
    using Problem = conv::UnpackLatentProblem;
    return conv::OpMethodOf<Problem>{
        "unpack-latent-cpu", is_cpu, kF32OrBf16<Problem, &Problem::output>, [](const Problem& p, const conv::Chip&) {
            return plan_on_cpu([p](const conv::OpTensors& tensors) {
                for (std::size_t i = 0; i < tensors.input.size(); ++i)
                    for_blocks(p.pixels, kBlock / p.channels + 1, [&](std::int64_t first, std::int64_t count) {
                        for (std::int64_t pixel = first; pixel < first + count; ++pixel)
                            unpack_pixel(p, tensors.input[i], tensors.output[i], tensors.parameters, pixel);
                    });
            });
        }};
}

conv::OpMethod store_float_on_cpu() {
    using Problem = conv::StoreFloatProblem;
    return conv::OpMethodOf<Problem>{
        "store-float-cpu", is_cpu, kF32OrBf16<Problem, &Problem::input>, [](const Problem& p, const conv::Chip&) {
            const auto store = p.input.element == Element::F32 ? store_part<float> : store_part<std::uint16_t>;
            return plan_on_cpu([p, store](const conv::OpTensors& tensors) {
                store_blocks(tensors, p.elements, [&](std::size_t frame, std::int64_t first, std::int64_t count) {
                    return store(p, tensors.input[frame], tensors.output[frame], first, count);
                });
            });
        }};
}

conv::OpMethod store_picture_on_cpu() {
    using Problem = conv::StorePictureProblem;
    return conv::OpMethodOf<Problem>{
        "store-picture-cpu", is_cpu, kF32OrBf16<Problem, &Problem::input>, [](const Problem& p, const conv::Chip&) {
            const auto store = p.input.element == Element::F32 ? store_pixels<float> : store_pixels<std::uint16_t>;
            const std::int64_t pixel_bytes = 3 * std::int64_t{element_bytes(p.input.element)};
            return plan_on_cpu([p, store, pixel_bytes](const conv::OpTensors& tensors) {
                store_blocks(tensors, p.pixels, [&](std::size_t frame, std::int64_t first, std::int64_t count) {
                    return store(tensors.input[frame] + first * pixel_bytes, tensors.output[frame] + first * 4, count);
                });
            });
        }};
}

}  // namespace kinetograph::nn
