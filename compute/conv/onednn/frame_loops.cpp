#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/epilogue.hpp>
#include <kinetograph/compute/conv/onednn/frame_loops.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <array>

namespace kinetograph::conv::onednn {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements that a thread takes at a time

[[gnu::always_inline]] inline void widen_loop(const std::uint16_t* from, float* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = tensor::from_bf16(from[i]);
}
constexpr CpuClones<widen_loop> widen;

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

void copy_frame(const float* from, float* to, std::int64_t elements) {
    for_blocks(elements, [&](std::int64_t first, std::int64_t count) { std::copy_n(from + first, count, to + first); });
}

void finish_frame(const ConvProblem& problem, const float* sums, const std::byte* residual, std::byte* to) {
    // The bias is in the sums, so that a block is one pixel with as many channels as it has elements.
    static constexpr std::array<float, kBlock> kNoBias{};
    const auto element = static_cast<std::int64_t>(element_bytes(problem.output.element));
    const auto finish = problem.output.element == Element::F32 ? finish_f32 : finish_bf16;
    const bool adds_residual = residual != nullptr && problem.beta != 0;
    for_blocks(problem.pixels_out() * problem.filter.k, [&](std::int64_t first, std::int64_t count) {
        finish({.sums = sums + first,
                .pixels = 1,
                .channels = count,
                .bias = kNoBias.data(),
                .residual = adds_residual ? residual + first * element : nullptr,
                .output = to + first * element,
                .beta = problem.beta,
                .activation = problem.activation,
                .negative_slope = problem.negative_slope});
    });
}

}  // namespace kinetograph::conv::onednn
