#pragma once

#include <cstdint>

/// The parts of a convolution's epilogue as bits of a kernel's parameters, the same on every chip that has flags:
/// sums [+ addend] + bias -> SiLU -> + beta * residual -> ReLU -> round -> store [-> norm -> SiLU -> store].
namespace kinetograph::conv {

struct ConvProblem;

enum EpilogueFlags : std::uint32_t {
    kConvBias = 1,
    kConvSilu = 2,
    kConvResidual = 4,
    kConvOutput = 8,  ///< the rounded values are stored
    kConvNorm = 16,   ///< their RMS norm is stored; one tile holds all channels
    kConvNormSilu = 32,
    kConvFloat32 = 64,     ///< output, residual and normed are fp32
    kConvAddend = 128,     ///< fp32 frames are added to the sums first: set by methods of several launches alone
    kConvRelu = 256,       ///< leaky, with the params' negative_slope
    kConvNormBytes = 512,  ///< the norm is stored as U8
};

/// The flags that the problem asks for.
std::uint32_t epilogue_flags(const ConvProblem& problem);

}  // namespace kinetograph::conv
