#include <kinetograph/compute/conv/doubled_before.hpp>
#include <kinetograph/compute/nn/cpu_operators.hpp>

namespace kinetograph::nn {

conv::OpMethod upsample_on_cpu() {
    using Problem = conv::UpsampleProblem;
    return conv::OpMethodOf<Problem>{
        "upsample-cpu", is_cpu, kF32OrBf16<Problem, &Problem::input>, [](const Problem& p, const conv::Chip&) {
            return plan_on_cpu([p](const conv::OpTensors& tensors) {
                conv::double_frames(tensors.input, tensors.output, p.height, p.width,
                                    static_cast<std::size_t>(p.channels) * element_bytes(p.input.element));
            });
        }};
}

}  // namespace kinetograph::nn
