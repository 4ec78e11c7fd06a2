#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

namespace kinetograph::nn {
namespace {

using tensor::DType;

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

template <class Element>
float widened(Element value) {
    if constexpr (std::is_same_v<Element, float>)
        return value;
    else
        return tensor::from_bf16(value);
}

/// Returns whether a value is not finite.
template <class Element>
[[gnu::always_inline]] inline bool store_loop(const Element* input, float* output, std::int64_t count, float limit) {
    std::uint32_t bad = 0;
#pragma omp simd reduction(| : bad)
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = widened(input[i]);
        bad |= not_finite(value);
        output[i] = clamped(value, limit);
    }
    return bad != 0;
}

template <class Element>
bool store(const Element* input, float* output, std::int64_t count, float limit) {
    return conv::CpuClones<store_loop<Element>>()(input, output, count, limit);
}

template <class Element>
bool store(const Element* input, std::uint16_t* halves, std::int64_t count, float limit) {
    std::uint32_t bad = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = widened(input[i]);
        bad |= not_finite(value);
        halves[i] = tensor::to_f16(clamped(value, limit));
    }
    return bad != 0;
}

/// Elements [first, first + count) of one frame. Returns whether a value is not finite.
template <class Element>
bool store_part(const StoreFloat& work, std::size_t frame, std::int64_t first, std::int64_t count) {
    const Element* const from = reinterpret_cast<const Element*>(work.input[frame]) + first;
    std::byte* const to = stored_frame(work, frame);
    if (work.output_dtype == DType::F16)
        return store(from, reinterpret_cast<std::uint16_t*>(to) + first, count, work.limit);
    return store(from, reinterpret_cast<float*>(to) + first, count, work.limit);
}

/// True if a value is not finite.
template <class Element>
bool store_pixels(const std::byte* input, std::byte* output, std::int64_t pixels) {
    const auto* rgb = reinterpret_cast<const Element*>(input);
    auto* rgba = reinterpret_cast<std::uint8_t*>(output);
    float residue = 0;  // of finite values 0, else NaN
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        for (std::int64_t c = 0; c < 3; ++c) {
            const float value = widened(rgb[3 * pixel + c]);
            residue += value - value;
            rgba[4 * pixel + c] = to_unorm8(value);
        }
        rgba[4 * pixel + 3] = 255;
    }
    return residue != 0;
}

float latent_value(const UnpackLatent& work, std::int64_t index) {
    if (work.latent_dtype == DType::F32) return reinterpret_cast<const float*>(work.latent)[index];
    const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(work.latent)[index];
    return work.latent_dtype == DType::F16 ? tensor::from_f16(bits) : tensor::from_bf16(bits);
}

void unpack_pixel(const UnpackLatent& work, std::int64_t pixel) {
    for (std::int64_t c = 0; c < work.channels; ++c) {
        float value = 0;
        if (work.map == nullptr) {
            value = latent_value(work, c * work.pixels + pixel);
        } else {
            value = work.map[work.channels * work.channels + c];
            for (std::int64_t i = 0; i < work.channels; ++i)
                value += latent_value(work, i * work.pixels + pixel) * work.map[i * work.channels + c];
        }
        if (work.soft_limit != 0) value = work.soft_limit * std::tanh(value / work.soft_limit);
        const std::int64_t index = pixel * work.channels + c;
        if (work.dtype == DType::F32) {
            reinterpret_cast<float*>(work.output)[index] = value;
        } else {
            reinterpret_cast<std::uint16_t*>(work.output)[index] = tensor::to_bf16(value);
        }
    }
}

}  // namespace

std::uint8_t to_unorm8(float value) {
    const float half_up = (value + 1.0F) * 127.5F + 0.5F;  // what truncation then rounds to nearest
    if (!(half_up > 0.0F)) return 0;                       // NaN too
    return static_cast<std::uint8_t>(std::min(half_up, 255.0F));
}

Result<void> check_latent_dtype(std::string_view pass_name, DType dtype) {
    if (dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16) return {};
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": latents of {}, wanted F32, F16 or BF16", pass_name,
                tensor::to_string(dtype));
}

Result<void> enqueue_unpack_latent(accel::Stream& stream, std::string_view pass_name, const UnpackLatent& work) {
    if (work.pixels < 1 || work.channels < 1) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": a latent of {} pixels and {} channels", pass_name,
                    work.pixels, work.channels);
    }
    if (work.dtype != DType::F32 && work.dtype != DType::BF16) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": a latent unpacked to {}, wanted F32 or BF16", pass_name,
                    tensor::to_string(work.dtype));
    }
    KG_CHECK(check_latent_dtype(pass_name, work.latent_dtype));
    stream.enqueue(pass_name, [work]() -> Result<void> {
#pragma omp parallel for schedule(static)
        for (std::int64_t pixel = 0; pixel < work.pixels; ++pixel) unpack_pixel(work, pixel);
        return {};
    });
    return {};
}

std::byte* stored_frame(const StoreFloat& work, std::size_t index) {
    return work.output + index * static_cast<std::size_t>(work.elements) * tensor::bytes_per_element(work.output_dtype);
}

Result<void> check_stored_dtype(std::string_view pass_name, DType dtype) {
    if (dtype == DType::F32 || dtype == DType::F16) return {};
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": frames stored as {}, wanted F32 or F16", pass_name,
                tensor::to_string(dtype));
}

Result<void> enqueue_store_float(accel::Stream& stream, std::string_view pass_name, const StoreFloat& work) {
    if (work.elements < 1 || work.output == nullptr || !(work.limit >= 0)) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} frames of {} elements stored within [-{}, {}] at {}",
                    pass_name, work.input.size(), work.elements, work.limit, work.limit,
                    static_cast<const void*>(work.output));
    }
    if (work.dtype != DType::F32 && work.dtype != DType::BF16) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": frames of {}, wanted F32 or BF16", pass_name,
                    tensor::to_string(work.dtype));
    }
    KG_CHECK(check_stored_dtype(pass_name, work.output_dtype));
    stream.enqueue(pass_name, [input = std::vector(work.input.begin(), work.input.end()), work]() -> Result<void> {
        StoreFloat copied = work;
        copied.input = input;
        const auto store = copied.dtype == DType::F32 ? store_part<float> : store_part<std::uint16_t>;
        const std::int64_t blocks = (copied.elements + kBlock - 1) / kBlock;
        const std::int64_t tasks = blocks * static_cast<std::int64_t>(input.size());
#pragma omp parallel for schedule(static)
        for (std::int64_t task = 0; task < tasks; ++task) {
            const std::int64_t first = task % blocks * kBlock;
            const bool bad = store(copied, static_cast<std::size_t>(task / blocks), first,
                                   std::min(kBlock, copied.elements - first));
            if (bad && copied.not_finite != nullptr)
                std::atomic_ref(*copied.not_finite).store(1, std::memory_order_relaxed);
        }
        return {};
    });
    return {};
}

Result<void> enqueue_store_picture(accel::Stream& stream, std::string_view pass_name, const StorePicture& work) {
    if (work.pixels < 1 || work.input.size() != work.output.size()) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} frames of {} pixels stored as {} pictures", pass_name,
                    work.input.size(), work.pixels, work.output.size());
    }
    if (work.dtype != DType::F32 && work.dtype != DType::BF16) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": pictures of {}, wanted F32 or BF16", pass_name,
                    tensor::to_string(work.dtype));
    }
    stream.enqueue(pass_name,
                   [input = std::vector(work.input.begin(), work.input.end()),
                    output = std::vector(work.output.begin(), work.output.end()), pixels = work.pixels,
                    dtype = work.dtype, flag = work.not_finite]() -> Result<void> {
                       const std::int64_t blocks = (pixels + kBlock - 1) / kBlock;
                       const std::int64_t tasks = blocks * static_cast<std::int64_t>(input.size());
#pragma omp parallel for schedule(static)
                       for (std::int64_t task = 0; task < tasks; ++task) {
                           const std::int64_t first = task % blocks * kBlock, count = std::min(kBlock, pixels - first);
                           const auto frame = static_cast<std::size_t>(task / blocks);
                           const auto element = static_cast<std::int64_t>(tensor::bytes_per_element(dtype));
                           const std::byte* from = input[frame] + first * 3 * element;
                           const auto store = dtype == DType::F32 ? store_pixels<float> : store_pixels<std::uint16_t>;
                           const bool bad = store(from, output[frame] + first * 4, count);
                           if (bad && flag != nullptr) std::atomic_ref(*flag).store(1, std::memory_order_relaxed);
                       }
                       return {};
                   });
    return {};
}

}  // namespace kinetograph::nn
