#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::nn {
namespace {

using tensor::DType;

constexpr std::int64_t kBlock = 16384;  // elements that a thread takes at a time

KINETOGRAPH_CPU_CLONES void clamp(const float* input, float* output, std::int64_t count, float low, float high) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        // Written so that a NaN fails both comparisons and stays.
        const float value = input[i];
        const float raised = value < low ? low : value;
        output[i] = raised > high ? high : raised;
    }
}

void unpack_pixel(const UnpackLatent& work, std::int64_t pixel) {
    for (std::int64_t c = 0; c < work.channels; ++c) {
        const float scale = work.scale ? (*work.scale)[c] : 1.0F;
        const float shift = work.shift ? (*work.shift)[c] : 0.0F;
        const float value = work.latent[c * work.pixels + pixel] * scale + shift;
        const std::int64_t index = pixel * work.channels + c;
        if (work.dtype == DType::F32) {
            reinterpret_cast<float*>(work.output)[index] = value;
        } else {
            reinterpret_cast<std::uint16_t*>(work.output)[index] = tensor::to_bf16(value);
        }
    }
}

bool fits(const std::shared_ptr<const std::vector<float>>& values, std::int64_t channels) {
    return values == nullptr || std::cmp_equal(values->size(), channels);
}

}  // namespace

Result<void> enqueue_unpack_latent(accel::Stream& stream, std::string_view pass_name, const UnpackLatent& work) {
    if (work.pixels < 1 || work.channels < 1 || !fits(work.scale, work.channels) || !fits(work.shift, work.channels)) {
        return fail(ErrorCode::InvalidArgument,
                    "pass \"{}\": a latent of {} pixels and {} channels with {} scales and {} shifts", pass_name,
                    work.pixels, work.channels, work.scale ? work.scale->size() : 0,
                    work.shift ? work.shift->size() : 0);
    }
    if (work.dtype != DType::F32 && work.dtype != DType::BF16) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": a latent unpacked to {}, wanted F32 or BF16", pass_name,
                    tensor::to_string(work.dtype));
    }
    stream.enqueue(pass_name, [work]() -> Result<void> {
#pragma omp parallel for schedule(static)
        for (std::int64_t pixel = 0; pixel < work.pixels; ++pixel) unpack_pixel(work, pixel);
        return {};
    });
    return {};
}

Result<void> enqueue_clamp(accel::Stream& stream, std::string_view pass_name, const ClampFrames& work) {
    if (work.elements < 1 || work.input.size() != work.output.size() || !(work.low <= work.high)) {
        return fail(ErrorCode::InvalidArgument,
                    "pass \"{}\": clamp of {} input to {} output frames of {} elements to [{}, {}]", pass_name,
                    work.input.size(), work.output.size(), work.elements, work.low, work.high);
    }
    stream.enqueue(pass_name,
                   [input = std::vector(work.input.begin(), work.input.end()),
                    output = std::vector(work.output.begin(), work.output.end()), elements = work.elements,
                    low = work.low, high = work.high]() -> Result<void> {
                       const std::int64_t blocks = (elements + kBlock - 1) / kBlock;
                       const std::int64_t tasks = blocks * static_cast<std::int64_t>(input.size());
#pragma omp parallel for schedule(static)
                       for (std::int64_t task = 0; task < tasks; ++task) {
                           const std::int64_t frame = task / blocks, first = task % blocks * kBlock;
                           clamp(reinterpret_cast<const float*>(input[frame]) + first,
                                 reinterpret_cast<float*>(output[frame]) + first, std::min(kBlock, elements - first),
                                 low, high);
                       }
                       return {};
                   });
    return {};
}

std::vector<float> to_f32(const std::byte* frame, std::int64_t elements, tensor::DType dtype) {
    std::vector<float> values(elements);
    if (dtype == DType::F32) {
        std::memcpy(values.data(), frame, values.size() * sizeof(float));
    } else {
        const auto* bits = reinterpret_cast<const std::uint16_t*>(frame);
        std::transform(bits, bits + elements, values.begin(), tensor::from_bf16);
    }
    return values;
}

}  // namespace kinetograph::nn
