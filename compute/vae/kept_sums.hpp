// Sums that the last convolution of a network keeps from step to step in place of frames.
#pragma once

#include <kinetograph/compute/nn/fusion.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace kinetograph::vae {

/// The first frames that a causal convolution makes in a step need the last frames of the step before. A convolution of
/// few output channels keeps what those frames add to its sums instead, in float32, which takes less memory:
///
///   w0 w1 w2   taps in time        S0 = w0 x-2 + w1 x-1      out0 = S0 + w2 x0
///   x-2 x-1    the step before     S1 = w0 x-1               out1 = S1 + w1 x0 + w2 x1
///   x0 x1 ...  this step                                     out2 = w0 x0 + w1 x1 + w2 x2
///
/// A sum in two parts is rounded differently from one. So a step of several latent frames runs in groups, each of the
/// frames of one latent frame, and a frame's bits do not depend on the number of latent frames that a step takes. A
/// method that carries sums makes a group in one run; others in three.
struct SummedRun {
    enum class Kind : std::uint8_t {
        Group,  ///< a group's output frames, with the kept sums, and the sums that are kept for the next group
        Begun,  ///< output frames that the kept sums begin
        Whole,  ///< output frames from input frames alone: as many before `first` as the convolution has history
        Keep,   ///< the sums that these last input frames of a group begin, kept for the next group
    };
    Kind kind = Kind::Whole;
    std::int64_t first = 0, count = 0;  ///< frames of the step
    friend bool operator==(const SummedRun&, const SummedRun&) = default;
};

/// The convolution that keeps sums.
struct Summed {
    const nn::primitive::Conv* conv = nullptr;  ///< null: none
    bool in_groups = false;                     ///< its method carries sums
};

/// The runs of a step of `frames` frames, in order. A first group of fewer than `group` frames is a clip's first: it
/// follows zeros.
std::vector<SummedRun> summed_runs(std::int64_t frames, std::int64_t group, std::int64_t history, bool in_groups);

/// The convolution that a run computes. `whole`: that of all frames at once. Begun, Group: its residual are the kept
/// sums. Keep: `history` frames of sums; the convolution of the last frames and of zeros after them.
conv::ConvProblem summed_problem(conv::ConvProblem whole, const SummedRun& run, std::int64_t history);

/// The convolution of `passes` that keeps sums: the last pass, if it makes float32 frames and nothing else, its sums
/// take less memory than its frames, a latent frame makes at least twice the frames of its history (`extents`: of a
/// step of one latent frame that is not a clip's first), and dispatch (`method_of`) chooses the same method for each of
/// its runs as for the convolution in one piece.
Summed find_summed(std::span<const nn::Pass> passes, std::span<const nn::Extent> extents,
                   std::span<const conv::Storage> stored,
                   const std::function<std::string_view(const conv::ConvProblem&)>& method_of);

}  // namespace kinetograph::vae
