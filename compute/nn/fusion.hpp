// Fusion: the passes that the primitives of a network become. A convolution's pass includes neighbouring primitives (an
// activation, a sum, a norm), so that less goes through memory.
#pragma once

#include <kinetograph/compute/nn/network.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace kinetograph::nn {

/// A norm and the activation after it.
struct FusedNorm {
    const primitive::Norm* norm = nullptr;
    conv::Activation activation = conv::Activation::None;
    Value output = 0;
};

struct ConvPass {
    const primitive::Conv* conv = nullptr;
    Value input = 0;
    bool upsample = false;     ///< reads the input as UpsampleSpace would make it
    std::int64_t shuffle = 1;  ///< the factor of a TimeShuffle: parts of the channels are stored as frames
    conv::Activation activation = conv::Activation::None;
    float negative_slope = 0;         ///< of Relu
    std::optional<Value> residual{};  ///< added after a SiLU and before a ReLU; the output takes its place
    Value output = 0;
    std::optional<FusedNorm> norm{};       ///< of the output
    conv::Norm stored = conv::Norm::None;  ///< whether the norm is stored beside the output or instead
};

struct NormPass {
    Value input = 0;
    FusedNorm norm;
};

struct AttentionPass {
    const primitive::Attention* attention = nullptr;
    Value input = 0, output = 0;
    std::optional<Value> residual{};  ///< that it is added to; the output takes its place
    std::optional<FusedNorm> norm{};  ///< of the sum, stored beside it; there is one exactly if there is a residual
};

/// Of a primitive that is a pass of its own.
struct OperatorPass {
    const Primitive* primitive = nullptr;
    Value input = 0, output = 0;
    std::int64_t repeat = 1;  ///< the factor of a RepeatFrames before it

    const std::string& key() const;
    conv::OpProblem problem(const Extent& input, conv::Storage value) const;
    bool doubles() const;         ///< rows and columns
    bool reads_picture() const;   ///< of all pixels, for each that it makes
    bool has_parameters() const;  ///< key().weight and key().bias
};

/// Runs nothing: the output is a part of the input.
struct DropPass {
    std::int64_t frames = 0;  ///< the first frames of the input, which the output omits
    Value input = 0, output = 0;
};

/// A convolution that the step skips keeps the last frames of its input for the step after.
struct KeepPass {
    const primitive::Conv* conv = nullptr;
    Value input = 0;
};

using Pass = std::variant<ConvPass, NormPass, AttentionPass, OperatorPass, DropPass, KeepPass>;

/// The input of a pass. A convolution or an attention with a residual has a second one.
/// What the pass makes.
std::vector<Value> outputs_of(const Pass& pass);

inline Value input_of(const Pass& pass) {
    return std::visit([](const auto& each) { return each.input; }, pass);
}

struct FusionOptions {
    bool first_step = false;
};

/// The passes of one step in order. They point into `network`. A convolution's pass includes, in this order: the
/// doubling before it, if it is 2-D and the only reader of the doubled value; a time shuffle after it; an activation;
/// without a shuffle also the sum whose first operand it makes, a ReLU of that, and a norm, which replaces the output
/// if that is no sum and nothing else reads it. The network's input_map has no pass. For example, Conv, Add, Norm and
/// SiLU at the end of a residual block become one pass, which stores the sum and, beside it, its activated norm. An
/// attention's pass includes the sum whose first operand it makes, if a norm reads that, and the norm.
///
/// Values in passes are values that the step makes: a skipped primitive makes nothing, and its readers read its input.
/// A skipped convolution has a pass only if it keeps what it has skipped.
/// Errors: Unsupported, naming the primitive: an activation, sum or shuffle that follows no convolution (an activation:
/// nor a norm; a sum: nor an attention whose sum a norm reads), a sum after a ReLU, a soft limit that is not the
/// network's first primitive, and repeated frames that something reads which is no pass of its own.
Result<std::vector<Pass>> fuse(const Network& network, const FusionOptions& options);

/// The soft limit that is applied as a step stores the network's input; 0: none.
float input_limit(const Network& network);
/// The 1x1x1 convolution that is applied as a step stores the network's input: the first primitive, if it keeps the
/// number of channels and only convolutions read what it makes. Null: none.
const primitive::Conv* input_map(const Network& network);
/// The network's input after that limit or map, as a step stores it.
Value stored_input(const Network& network);

/// The convolution of the pass on `input` (kept frames included), before a time shuffle, without residual and norm.
/// `stored`: storages() of the network, with U8 for ByteLayers. A filter is stored as the input, that of U8 as I8.
conv::ConvProblem conv_problem(const ConvPass& pass, const Extent& input, std::span<const conv::Storage> stored);

}  // namespace kinetograph::nn
