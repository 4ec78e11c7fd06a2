#include <kinetograph/kernels/conv/epilogue_flags.hpp>

#include <kinetograph/kernels/conv/problem.hpp>

namespace kinetograph::conv {

std::uint32_t epilogue_flags(const ConvProblem& problem) {
    std::uint32_t flags = 0;
    if (problem.bias) flags |= kConvBias;
    if (problem.activation == Activation::Silu) flags |= kConvSilu;
    if (problem.activation == Activation::Relu) flags |= kConvRelu;
    if (problem.residual) flags |= kConvResidual;
    if (problem.norm != Norm::Instead) flags |= kConvOutput;
    if (problem.norm != Norm::None) flags |= kConvNorm;
    if (problem.norm_activation == Activation::Silu) flags |= kConvNormSilu;
    if (problem.output.element == Element::F32) flags |= kConvFloat32;
    if (problem.norms_to_bytes()) flags |= kConvNormBytes;
    return flags;
}

}  // namespace kinetograph::conv
