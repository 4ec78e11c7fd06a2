#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>

/// From a problem in one tile to what its launches read. Pure host code.
namespace kinetograph::sm90 {

/// Makes the tensor maps.
class ConvMaps {
  public:
    ConvMaps(const ConvConfig& config, const conv::ConvProblem& problem, const conv::EncodeMap& encode)
        : c_(config), p_(problem), encode_(encode) {}

    isa::TensorMap input(const std::byte* frame) const;
    isa::TensorMap filter(const std::byte* packed) const;
    /// Of `count` output frames from `first` on, and of their residuals and norms.
    void stored(ConvParams& params, const conv::ConvTensors& tensors, int64_t first, int64_t count) const;

  private:
    isa::TensorMap stored_frame(const std::byte* frame) const;
    isa::TensorMapDesc dense(const std::byte* address, uint32_t rank, const std::array<uint64_t, 5>& size) const;

    const ConvConfig& c_;
    const conv::ConvProblem& p_;
    const conv::EncodeMap& encode_;
};

/// All but frames and maps.
ConvParams shape_params(const ConvConfig& config, const conv::ConvProblem& problem,
                        const conv::ParameterAddresses& parameters);

}  // namespace kinetograph::sm90
