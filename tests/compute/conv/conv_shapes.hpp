// Shapes of convolutions, from one place for tests and benchmarks.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kinetograph::conv {

/// The layout of frames in memory.
enum class FrameLayout : std::uint8_t {
    Dense,       ///< one after another
    Ring,        ///< one after another from slot `seam` on, wrapping around after the last
    EveryOther,  ///< a gap of one frame after each, as when two convolutions interleave their outputs
    Scattered,   ///< in random order, with gaps
};

struct ConvShape {
    ConvProblem problem;
    FrameLayout input = FrameLayout::Dense;
    std::int64_t seam = 0;  ///< of a ring: the slot of frame 0; slots before it hold the last frames
    FrameLayout output = FrameLayout::Dense;
    bool in_place = false;  ///< the output overwrites the residual
};

/// `count` small, difficult problems: sides of 1, ragged sides, 1 to 100 channels, temporal and spatial strides and
/// dilations, groups, uneven padding, all epilogues, norms, rings with every seam. Element types are left at F32.
std::vector<ConvShape> awkward_shapes(std::uint64_t seed, int count);

/// One causal 3x3x3 convolution as a decoder runs it (two kept frames, four new ones), with the seam at every position
/// from 0 (none) to 5.
std::vector<ConvShape> ring_shapes();

/// `shapes` with their input doubled (upsampled 2x2), without groups. Every other one is as in a decoder, for which the
/// sub-pixel form is open.
std::vector<ConvShape> doubled(std::vector<ConvShape> shapes);

/// A layer of the Wan 2.1 decoder at 1280x704 that is bound by arithmetic: 192 channels, two kept frames, four new
/// ones.
ConvProblem wan21_layer();

struct NamedProblem {
    std::string name;
    ConvProblem problem;
};

/// The convolutions of a Wan 2.1 decoder of width `dim` at `width` x `height` output pixels, in a step of four frames.
std::vector<NamedProblem> decoder_problems(std::int64_t dim, std::int64_t height, std::int64_t width,
                                           tensor::DType dtype);

}  // namespace kinetograph::conv
