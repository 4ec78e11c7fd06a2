#pragma once

#include <initializer_list>
#include <kinetograph/kernels/conv/plan.hpp>

/// Attention within a frame as a chip's methods and their plans, like convolutions.
namespace kinetograph::conv {

/// softmax(q k^T / sqrt(channels)) v over the tokens of a frame: one head as wide as the channels, no mask. The
/// matrix of tokens by tokens never exists as a whole.
struct AttentionProblem {
    std::int64_t tokens = 0;        ///< pixels of one frame, 1 to 1,048,576
    std::int64_t channels = 0;      ///< width of the one head
    Element dtype = Element::BF16;  ///< of what is stored; softmax and sums in float32
};

struct AttentionTensors {
    std::span<const std::byte* const>
        qkv;                             ///< frames [tokens, 3 * channels]: query, key, value of a token in this order
    std::span<std::byte* const> output;  ///< as many frames [tokens, channels]
    std::byte* workspace = nullptr;      ///< the plan's, 256-byte aligned
};

struct AttentionPlan {
    std::vector<KernelName> kernels;  ///< that the launches run, by index
    std::uint64_t workspace_bytes = 0;
    double seconds = 0;  ///< predicted, of a frame
    /// The launches of one call, to be enqueued in order in one stream; each waits for those before it.
    std::function<std::vector<ConvLaunch>(const AttentionTensors&, const EncodeMap&)> launches;
};

/// A way to attend on some chips, named <method>-<chip>. Of those on a chip that have no reason against a problem, the
/// plan of the fewest seconds runs, the first of equals.
struct AttentionMethod {
    std::string_view name;         ///< "mma-sm80"
    bool (*runs_on)(const Chip&);  ///< the chip is one of those that its kernels are for
    /// "wants ..., met ..." for each condition that does not hold; "" if it takes the problem.
    std::string (*reasons)(const AttentionProblem&);
    AttentionPlan (*plan)(const AttentionProblem&, const Chip&);  ///< of a problem without reasons against it
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
    double clocks = 0;           ///< of a CTA for a tile of keys
    std::uint32_t resident = 1;  ///< CTAs on a compute unit at a time
    std::uint32_t slices = 1;    ///< of the channels, each a CTA
};
/// Seconds of one frame: waves of CTAs.
double attention_seconds(const AttentionPace& pace, const AttentionProblem& problem, const Chip& chip);

}  // namespace kinetograph::conv
