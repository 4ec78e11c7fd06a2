// StepList: a step as a value: its passes, in the order in which they run, with the convolutions that each launches.
// declare_step declares it; planners and benches read it, without a device.
#pragma once

#include <kinetograph/compute/vae/kept_sums.hpp>
#include <kinetograph/compute/vae/network_end.hpp>
#include <kinetograph/compute/vae/step_graph.hpp>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace kinetograph::vae {

/// Which frames of its values a pass works on: all, all but the last tail_frames, or these (network_end.hpp).
enum class Part : std::uint8_t { Whole, Head, Tail };

struct StepItem {
    std::size_t pass = 0;  ///< of StepList::passes
    Part part = Part::Whole;
    /// Of a convolution, with what is fused into it: one; one for each part of a time shuffle; or `runs`.
    std::vector<conv::ConvProblem> launches{};
    std::vector<SummedRun> runs{};  ///< of the convolution that keeps sums, which runs whole, each a launch
};

/// Items from one pass on.
struct StepItems {
    std::int64_t tail_frames = 0;  ///< of each pass's tail
    std::vector<StepItem> items{};
};

struct StepList {
    std::vector<nn::Pass> passes{};
    std::vector<nn::Extent> extents{};    ///< [nn::Value], of the picture
    std::vector<conv::Storage> stored{};  ///< [nn::Value]
    Summed summed{};
    bool one_step = false;              ///< NetworkDesc::one_step
    std::int64_t frames_of_latent = 1;  ///< that each latent frame but a clip's first makes

    /// The items of the passes from `begin` on, and before `end`. `in_parts`: the network's end runs in heads and
    /// tails. `heights`: [pass - begin], rows on which each computes; none: those of the picture.
    StepItems items(std::size_t begin, std::size_t end, bool in_parts,
                    std::span<const std::int64_t> heights = {}) const;
    /// The items of a step on the whole picture.
    StepItems items() const { return items(0, passes.size(), !one_step); }
    /// The pass's convolution on `frames` frames of the picture, before a time shuffle, with all that is fused into it.
    conv::ConvProblem problem_of(const nn::ConvPass& pass, std::int64_t frames) const;
};

/// `method_of`: the method that the dispatch takes for a convolution; empty if none. Errors: those of nn::fuse.
Result<StepList> list_step(const NetworkDesc& network, LatentSize size, StepKind kind,
                           const std::function<std::string_view(const conv::ConvProblem&)>& method_of);

}  // namespace kinetograph::vae
