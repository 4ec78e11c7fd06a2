#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/fast_exp.hpp>
#include <kinetograph/compute/nn/rms_norm.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::nn {
namespace {

using tensor::DType;

constexpr std::int64_t kBlockElements = 16384;  // a thread's bite: input and output stay in its first-level cache

inline float load(const float* values, std::int64_t i) { return values[i]; }
inline float load(const std::uint16_t* values, std::int64_t i) { return tensor::from_bf16(values[i]); }
inline void store(float* values, std::int64_t i, float value) { values[i] = value; }
inline void store(std::uint16_t* values, std::int64_t i, float value) { values[i] = tensor::to_bf16(value); }

template <class T>
[[gnu::always_inline]] inline void norm_pixels(const T* input, T* output, const float* gamma, std::int64_t pixels,
                                               std::int64_t channels, bool silu) {
    const float root = std::sqrt(static_cast<float>(channels));
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const T* in = input + pixel * channels;
        T* out = output + pixel * channels;
        float squares = 0;
#pragma omp simd reduction(+ : squares)
        for (std::int64_t c = 0; c < channels; ++c) squares += load(in, c) * load(in, c);
        const float scale = root / std::max(std::sqrt(squares), 1e-12F);
        if (silu) {
#pragma omp simd
            for (std::int64_t c = 0; c < channels; ++c) store(out, c, conv::fast_silu(load(in, c) * scale * gamma[c]));
        } else {
#pragma omp simd
            for (std::int64_t c = 0; c < channels; ++c) store(out, c, load(in, c) * scale * gamma[c]);
        }
    }
}

KINETOGRAPH_CPU_CLONES void norm_f32(const float* input, float* output, const float* gamma, std::int64_t pixels,
                                     std::int64_t channels, bool silu) {
    norm_pixels(input, output, gamma, pixels, channels, silu);
}

KINETOGRAPH_CPU_CLONES void norm_bf16(const std::uint16_t* input, std::uint16_t* output, const float* gamma,
                                      std::int64_t pixels, std::int64_t channels, bool silu) {
    norm_pixels(input, output, gamma, pixels, channels, silu);
}

Result<void> check(std::string_view pass_name, const RmsNorm& work) {
    if (work.pixels < 1 || work.channels < 1 || work.input.size() != work.output.size()) {
        return fail(ErrorCode::InvalidArgument,
                    "pass \"{}\": RMS norm of {} input and {} output frames of {} pixels, {} channels", pass_name,
                    work.input.size(), work.output.size(), work.pixels, work.channels);
    }
    if (work.gamma == nullptr || std::cmp_not_equal(work.gamma->size(), work.channels)) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": gamma has {} elements, wanted {}", pass_name,
                    work.gamma == nullptr ? 0 : work.gamma->size(), work.channels);
    }
    if (work.dtype != DType::F32 && work.dtype != DType::BF16) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": RMS norm of {}, wanted F32 or BF16", pass_name,
                    tensor::to_string(work.dtype));
    }
    return {};
}

struct Bound {
    std::vector<const std::byte*> input;
    std::vector<std::byte*> output;
    std::int64_t pixels, channels;
    std::shared_ptr<const std::vector<float>> gamma;
    DType dtype;
    bool silu;
};

void run(const Bound& work) {
    const std::int64_t block = std::max<std::int64_t>(1, kBlockElements / work.channels);
    const std::int64_t blocks = (work.pixels + block - 1) / block;
    const std::int64_t tasks = blocks * static_cast<std::int64_t>(work.input.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t task = 0; task < tasks; ++task) {
        const std::int64_t frame = task / blocks, first = task % blocks * block;
        const std::int64_t count = std::min(block, work.pixels - first), offset = first * work.channels;
        if (work.dtype == DType::F32) {
            norm_f32(reinterpret_cast<const float*>(work.input[frame]) + offset,
                     reinterpret_cast<float*>(work.output[frame]) + offset, work.gamma->data(), count, work.channels,
                     work.silu);
        } else {
            norm_bf16(reinterpret_cast<const std::uint16_t*>(work.input[frame]) + offset,
                      reinterpret_cast<std::uint16_t*>(work.output[frame]) + offset, work.gamma->data(), count,
                      work.channels, work.silu);
        }
    }
}

}  // namespace

Result<void> enqueue_rms_norm(accel::Stream& stream, std::string_view pass_name, const RmsNorm& work) {
    if (auto valid = check(pass_name, work); !valid) return valid;
    stream.enqueue(pass_name,
                   [bound = Bound{{work.input.begin(), work.input.end()},
                                  {work.output.begin(), work.output.end()},
                                  work.pixels,
                                  work.channels,
                                  work.gamma,
                                  work.dtype,
                                  work.activation == Activation::Silu}]() -> Result<void> {
                       run(bound);
                       return {};
                   });
    return {};
}

}  // namespace kinetograph::nn
