#include <kinetograph/compute/conv/row_norm.hpp>
#include <kinetograph/compute/nn/cpu_operators.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>

namespace kinetograph::nn {
namespace {

using conv::NormProblem;

constexpr std::int64_t kBlockElements = 16384;  // that a thread takes at a time; in and out fit its first-level cache

void add(const std::byte* input, std::byte* sum, std::int64_t elements, Element element) {
    if (element == Element::F32) {
        const auto* const from = reinterpret_cast<const float*>(input);
        auto* const to = reinterpret_cast<float*>(sum);
#pragma omp simd
        for (std::int64_t i = 0; i < elements; ++i) to[i] += from[i];
    } else {
        const auto* const from = reinterpret_cast<const std::uint16_t*>(input);
        auto* const to = reinterpret_cast<std::uint16_t*>(sum);
#pragma omp simd
        for (std::int64_t i = 0; i < elements; ++i)
            to[i] = tensor::to_bf16(tensor::from_bf16(to[i]) + tensor::from_bf16(from[i]));
    }
}

void run(const NormProblem& p, const conv::OpTensors& tensors) {
    const Element element = p.input.element;
    const std::int64_t block = std::max<std::int64_t>(1, kBlockElements / p.channels);
    const std::int64_t blocks = (p.pixels + block - 1) / block;
    const std::int64_t tasks = blocks * static_cast<std::int64_t>(tensors.input.size());
    for_tasks(tasks, [&](std::int64_t task, int) {
        const std::int64_t frame = task / blocks, first = task % blocks * block;
        const auto offset = static_cast<std::uint64_t>(first * p.channels) * element_bytes(element);
        const std::int64_t pixels = std::min(block, p.pixels - first);
        const std::byte* input = tensors.input[frame] + offset;
        if (p.adds) {
            add(input, tensors.sum[frame] + offset, pixels * p.channels, element);
            input = tensors.sum[frame] + offset;
        }
        conv::rms_norm_pixels(input, tensors.output[frame] + offset, tensors.parameters, pixels, p.channels, element,
                              p.activation);
    });
}

}  // namespace

conv::OpMethod norm_on_cpu() {
    return conv::OpMethodOf<NormProblem>{
        "norm-cpu", is_cpu, kF32OrBf16<NormProblem, &NormProblem::input>, [](const NormProblem& p, const conv::Chip&) {
            return plan_on_cpu([p](const conv::OpTensors& tensors) { run(p, tensors); });
        }};
}

}  // namespace kinetograph::nn
