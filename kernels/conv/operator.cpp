#include <kinetograph/kernels/conv/operator.hpp>

namespace kinetograph::conv {

std::vector<ConvStep> copies_of_kept(const KeepFramesProblem& problem, const OpTensors& tensors) {
    std::vector<ConvStep> steps;
    for (std::size_t i = 0; i < tensors.output.size(); ++i)
        steps.emplace_back(ConvCopy{tensors.output[i], source_of_kept(tensors, i), problem.frame_bytes()});
    return steps;
}

}  // namespace kinetograph::conv
