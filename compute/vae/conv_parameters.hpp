// The parameters of a network's convolution, from the checkpoint's tensors to the filter that a pass computes.
#pragma once

#include <kinetograph/compute/conv/weights.hpp>
#include <kinetograph/compute/nn/byte_layers.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::vae {

/// A range of a filter's output channels: a temporal upsampling conv is run as two, one for each frame it makes.
struct OutputChannels {
    std::int64_t first = 0;
    std::int64_t count = 0;  ///< 0: all
    friend bool operator==(const OutputChannels&, const OutputChannels&) = default;
};

/// A tensor as float32 in PyTorch's shape order; the name is known to exist.
using LoadTensor = std::function<std::vector<float>(const std::string& name)>;

/// A pixel's channels z become A z + b: [channels + 1, channels], the columns of A, then b. Empty: z stays as it is.
/// `scale` and `shift` (one value a channel, or empty) come before `conv` (primitive or null), whose product is summed
/// in float32.
std::vector<float> pixel_map(const std::vector<float>& scale, const std::vector<float>& shift,
                             const nn::primitive::Conv* conv, const LoadTensor& load);

/// Filter [k, c_in, q, r, s] and bias [k] of those output channels of `conv` as it computes them: temporal taps on
/// their own axis, multiplied by the convolution that grows or pools its input, scaled and shifted, the values of an
/// attention projected. Products are summed in float32. `norm_key`.gamma too, if there is such a key.
conv::HostParameters load_parameters(const nn::primitive::Conv& conv, OutputChannels channels,
                                     const std::string& norm_key, const LoadTensor& load);

/// The parameters of a convolution `key`, quantised if one of `layers` is its; with the folds of its norm if one of
/// them reads that.
conv::HostParameters in_bytes(conv::HostParameters parameters, std::span<const nn::ByteLayer> layers,
                              const std::string& key, const std::string& norm_key);

}  // namespace kinetograph::vae
