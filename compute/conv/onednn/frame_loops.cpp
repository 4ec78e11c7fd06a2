#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/onednn/frame_loops.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>

namespace kinetograph::conv::onednn {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements that a thread takes at a time

KINETOGRAPH_CPU_CLONES void widen(const std::uint16_t* from, float* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = tensor::from_bf16(from[i]);
}

KINETOGRAPH_CPU_CLONES void narrow(const float* from, std::uint16_t* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = tensor::to_bf16(from[i]);
}

KINETOGRAPH_CPU_CLONES void add(const float* sums, const float* residual, float beta, float* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = sums[i] + beta * residual[i];
}

KINETOGRAPH_CPU_CLONES void add_narrow(const float* sums, const std::uint16_t* residual, float beta, std::uint16_t* to,
                                       std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = tensor::to_bf16(sums[i] + beta * tensor::from_bf16(residual[i]));
}

KINETOGRAPH_CPU_CLONES void scale_below_zero(float* values, float slope, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) values[i] = values[i] < 0 ? values[i] * slope : values[i];
}

/// body(first, count) for blocks of [0, elements), on all threads.
template <class Body>
void for_blocks(std::int64_t elements, const Body& body) {
#pragma omp parallel for schedule(static)
    for (std::int64_t first = 0; first < elements; first += kBlock) body(first, std::min(kBlock, elements - first));
}

}  // namespace

void widen_frame(const std::byte* from, float* to, std::int64_t elements) {
    const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
    for_blocks(elements, [&](std::int64_t first, std::int64_t count) { widen(bits + first, to + first, count); });
}

void finish_frame(const float* sums, const std::byte* residual, float beta, std::byte* to, std::int64_t elements,
                  tensor::DType dtype) {
    for_blocks(elements, [&](std::int64_t first, std::int64_t count) {
        const float* from = sums + first;
        if (dtype == tensor::DType::F32) {
            auto* out = reinterpret_cast<float*>(to) + first;
            if (residual != nullptr) {
                add(from, reinterpret_cast<const float*>(residual) + first, beta, out, count);
            } else if (out != from) {
                std::copy_n(from, count, out);
            }
        } else {
            auto* out = reinterpret_cast<std::uint16_t*>(to) + first;
            if (residual != nullptr) {
                add_narrow(from, reinterpret_cast<const std::uint16_t*>(residual) + first, beta, out, count);
            } else {
                narrow(from, out, count);
            }
        }
    });
}

void leaky_relu_frame(float* sums, float negative_slope, std::int64_t elements) {
    for_blocks(elements,
               [&](std::int64_t first, std::int64_t count) { scale_below_zero(sums + first, negative_slope, count); });
}

}  // namespace kinetograph::conv::onednn
