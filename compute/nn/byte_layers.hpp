// Byte layers: the convolutions of a network that multiply 8-bit integers, chosen after fusion.
#pragma once

#include <kinetograph/compute/nn/fusion.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::nn {

/// Which layers of a family read bytes: a named level of speed against quality.
struct ByteRecipe {
    std::string name{};                 ///< "half-folded"
    std::vector<std::string> layers{};  ///< what their keys begin with: "decoder.upsamples.4."
    /// What of a channel's range is moved from the input to the filter, whose rounding matters less.
    enum class Folding : std::uint8_t {
        None,  ///< one step for the whole input
        Half,  ///< inputs are divided by sqrt(range of the channel's inputs / range of its filters), filters multiplied
    } folding = Folding::Half;
};

/// A value that is stored as U8, and the convolution that reads it.
struct ByteValue {
    Value value = 0;
    const primitive::Conv* conv = nullptr;
    const primitive::Norm* norm = nullptr;  ///< that makes it, with the activation after it
};

/// The values of these passes that the recipe stores as U8: activated norms that a convolution's pass makes, and that
/// only 3x3 convolutions of the recipe's layers read, one each.
std::vector<ByteValue> byte_values(std::span<const Pass> passes, const ByteRecipe& recipe);

/// A layer's numbers. A value v of channel c is stored as round(v * folds[c] / input.scale) + input.zero.
struct ByteLayer {
    Value value = 0;
    std::string conv{}, norm{};  ///< keys
    conv::Storage input{};       ///< U8
    std::vector<float> folds{};  ///< [c_in] of the input
    std::vector<float> steps{};  ///< [k]: a filter is its step times integers of -127 to 127

    /// The layer's convolution is that, or one of its bands'.
    bool owns(std::string_view key) const { return key == conv || key.starts_with(conv + ".band"); }
};

/// SiLU's smallest value, at x = -1.2785.
inline constexpr float kSiluLeast = -0.27846454F;

/// The numbers for inputs of at most `largest` [c_in] and the filter [k, c_in, taps]; in a layer that stores nothing
/// above 0, one step for all. The steps are of the clip, 0.6 to 1 times a filter's largest value, that gives the least
/// squared error. Source: SmoothQuant (arXiv 2211.10438) with its exponent of one half.
ByteLayer byte_layer(const ByteValue& value, const ByteRecipe& recipe, std::span<const float> largest,
                     std::span<const float> filter);

}  // namespace kinetograph::nn
