// Parameters: named tensors in the form that passes use, on the device: packed convolutions and gammas, each made once.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/vae/conv_parameters.hpp>
#include <kinetograph/engine/base/call_limits.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kinetograph::vae {

class Parameters {
  public:
    /// `load` is called whenever a tensor is packed; `device` outlives the object. `sums` and `preferred` are
    /// ConvOptions'; convolutions of `bytes` are quantised as they say.
    Parameters(accel::Device& device, LoadTensor load, conv::Sums sums, std::string preferred,
               std::vector<nn::ByteLayer> bytes = {})
        : device_(device),
          load_(std::move(load)),
          sums_(sums),
          preferred_(std::move(preferred)),
          bytes_(std::move(bytes)) {}

    /// The convolution `problem` with the parameters of `conv`, and `norm_key`.gamma where the problem has a norm;
    /// to be enqueued after pack(). `whole` is the problem itself, or the one that it computes some rows of
    /// (ConvOptions::part_of). Errors: those of Convolution::create, with the key in front.
    Result<const conv::Convolution*> convolution(const nn::primitive::Conv& conv, const conv::ConvProblem& problem,
                                                 const conv::ConvProblem& whole, OutputChannels channels = {},
                                                 const std::string& norm_key = "");
    /// The method that dispatch would choose for `problem`; empty if none is open.
    std::string_view method_of(const conv::ConvProblem& problem);
    /// Packs and uploads the convolutions that were requested since the last call. Errors: those of Convolution::pack,
    /// with the key in front; Cancelled.
    Result<void> pack(const CallLimits& limits = {});
    /// `key`.gamma as one value a channel, on the device. Errors: those of accel::upload.
    Result<const float*> gamma(const std::string& key);
    /// `key`.weight, then `key`.bias, each one value a channel, on the device. Errors: those of accel::upload.
    Result<const float*> weight_and_bias(const std::string& key);
    /// pixel_map() of a network's input, on the device; null if there is none. The same arguments every time. Errors:
    /// those of accel::upload.
    Result<const float*> latent_map(const std::vector<float>& scale, const std::vector<float>& shift,
                                    const nn::primitive::Conv* conv);
    /// The map of a network's input where all channels have the same: of latents of one channel, on the device; null if
    /// there is none. The same arguments every time. Errors: those of accel::upload.
    Result<const float*> value_map(const std::vector<float>& scale, const std::vector<float>& shift);
    /// Why no convolution takes the preferred method, by the first of them; empty if one does, or none is preferred.
    std::string preferred_refusal() const;
    accel::Device& device() const { return device_; }
    /// Bytes of all filters that are packed or will be, estimated from their element counts.
    std::uint64_t bytes() const;
    std::uint64_t bytes_to_pack() const;  ///< what pack() will take, about

  private:
    /// The values that `make` returns the first time, on the device; null if there are none.
    Result<const float*> constant(const std::string& name, const std::function<std::vector<float>()>& make);
    struct Made {
        conv::ConvProblem whole;
        std::unique_ptr<conv::Convolution> convolution;
    };
    /// A layer's weights and its convolutions over different numbers of frames.
    struct Layer {
        OutputChannels channels;
        std::string norm_key;
        std::unique_ptr<conv::Weights> weights;
        std::vector<Made> convolutions;
    };
    accel::Device& device_;
    LoadTensor load_;
    conv::Sums sums_;
    std::string preferred_;
    std::vector<nn::ByteLayer> bytes_;
    std::multimap<std::string, Layer> layers_;
    std::vector<std::pair<conv::ConvProblem, std::string_view>> methods_;
    std::map<std::string, std::unique_ptr<accel::Memory>> constants_;
};

}  // namespace kinetograph::vae
