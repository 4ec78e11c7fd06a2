#include <kinetograph/compute/nn/cpu_operators.hpp>

namespace kinetograph::nn {

conv::OpMethod keep_frames_on_cpu() {
    return conv::OpMethodOf<conv::KeepFramesProblem>{
        "keep-frames-cpu", is_cpu, {}, [](const conv::KeepFramesProblem& problem, const conv::Chip&) {
            return conv::OpPlan{.steps = [problem](const conv::OpTensors& tensors, const conv::EncodeMap&) {
                return conv::copies_of_kept(problem, tensors);
            }};
        }};
}

}  // namespace kinetograph::nn
