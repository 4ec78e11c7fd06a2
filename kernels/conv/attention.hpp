#pragma once

#include <initializer_list>
#include <kinetograph/kernels/conv/plan.hpp>

/// Attention within a frame: the problem, and a chip's methods and plans for it, as plan.hpp has them for convolutions.
namespace kinetograph::conv {

/// softmax(q k^T / sqrt(channels)) v over the tokens of a frame: one head as wide as the channels, no mask. The
/// tokens x tokens matrix of scores is never stored whole.
struct AttentionProblem {
    std::int64_t tokens = 0;        ///< pixels of one frame, 1 to 1,048,576
    std::int64_t channels = 0;      ///< width of the one head
    Element dtype = Element::BF16;  ///< of qkv and output; softmax and sums are float32
    bool adds = false;  ///< the result is added to the output, and the RMS norm of the rounded sums is stored beside
    Activation norm_activation = Activation::None;  ///< of that norm
};

struct AttentionTensors {
    std::span<const std::byte* const>
        qkv;                             ///< frames [tokens, 3 * channels]: query, key, value of a token in this order
    std::span<std::byte* const> output;  ///< as many frames [tokens, channels]
    std::byte* workspace = nullptr;      ///< AttentionPlan::workspace_bytes, 256-byte aligned
    std::span<std::byte* const> normed{};  ///< as the output, if the problem adds
    const float* gamma = nullptr;          ///< [channels], of the norm, 16-byte aligned
};

struct AttentionPlan {
    std::vector<KernelName> kernels;  ///< indexed by ConvLaunch::kernel
    std::uint64_t workspace_bytes = 0;
    double seconds = 0;  ///< predicted, for one frame
    /// The launches of one call, to be enqueued in order in one stream; each waits for those before it.
    std::function<std::vector<ConvLaunch>(const AttentionTensors&, const EncodeMap&)> launches;
};

/// An implementation of attention for some chips, named <method>-<chip>. Of a chip's methods that take a problem, the
/// one whose plan predicts the fewest seconds runs; the first of equals.
struct AttentionMethod {
    std::string_view name;         ///< "mma-sm80"
    bool (*runs_on)(const Chip&);  ///< whether its kernels are for this chip
    /// "wants ..., met ..." for each condition that does not hold; "" if it takes the problem.
    std::string (*reasons)(const AttentionProblem&);
    AttentionPlan (*plan)(const AttentionProblem&, const Chip&);  ///< only if reasons() is empty
    bool adds = false;                                            ///< whether it takes problems that add
};

/// What must hold for a method to take a problem, and what was met instead.
struct Condition {
    bool holds = false;
    std::string_view wanted;
    std::string met;
};
/// "wants bf16 or fp16, met F32; ...": the conditions that do not hold; "" if all do.
std::string unmet(std::initializer_list<Condition> conditions);
Condition bf16_or_f16(const AttentionProblem& problem);

/// How a kernel's CTAs share a frame: each takes `queries` and goes over all keys, `keys` at a time.
struct AttentionPace {
    std::uint32_t queries = 0, keys = 0;
    double clocks = 0;           ///< that a CTA takes for one tile of keys
    std::uint32_t resident = 1;  ///< CTAs on a compute unit at a time
    std::uint32_t slices = 1;    ///< that the output channels are split into, one CTA each
};
/// Predicted seconds of one frame: waves of CTAs, each wave as long as one CTA's tiles of keys, plus the launch.
double attention_seconds(const AttentionPace& pace, const AttentionProblem& problem, const Chip& chip);

}  // namespace kinetograph::conv
