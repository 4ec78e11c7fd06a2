#include <kinetograph/compute/conv/epilogue.hpp>
#include <kinetograph/compute/conv/onednn/frame_loops.hpp>
#include <kinetograph/compute/conv/widen.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>
#include <array>

namespace kinetograph::conv::onednn {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements that a thread takes at a time

}  // namespace

void widen_frame(const std::byte* from, float* to, std::int64_t elements) {
    for_blocks(elements, kBlock,
               [&](std::int64_t first, std::int64_t count) { widen(from + 2 * first, to + first, count); });
}

void copy_frame(const float* from, float* to, std::int64_t elements) {
    for_blocks(elements, kBlock,
               [&](std::int64_t first, std::int64_t count) { std::copy_n(from + first, count, to + first); });
}

void finish_frame(const ConvProblem& problem, const float* sums, const std::byte* residual, std::byte* to) {
    // The bias is in the sums, so that a block is one pixel with as many channels as it has elements.
    static constexpr std::array<float, kBlock> kNoBias{};
    const auto element = static_cast<std::int64_t>(element_bytes(problem.output.element));
    const auto finish = problem.output.element == Element::F32 ? finish_f32 : finish_bf16;
    const bool adds_residual = residual != nullptr && problem.beta != 0;
    for_blocks(problem.pixels_out() * problem.filter.k, kBlock, [&](std::int64_t first, std::int64_t count) {
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
