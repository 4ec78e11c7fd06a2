#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm100/cost.hpp>
#include <kinetograph/tools/decoder_step/step_passes.hpp>

/// What a step of Wan 2.1's decoder (dim 96, bf16) runs on a B200: the passes that it declares, the kernels that the
/// dispatch gives them, and the times that the model predicts.
namespace kinetograph::sm100 {

enum class StepOfClip : uint8_t { First, Later };

/// The passes that a step on one latent frame declares on a B200.
vae::StepPasses step_of_wan21(vae::LatentSize latents, StepOfClip step = StepOfClip::Later);

struct DecoderRow {
    vae::StepConvolution layer;
    std::string_view method;
    conv::ConvPlan plan;
    ChipRates planned{};  ///< by which the plan predicts its time

    /// The parts of its convolution's time, without launches and without a norm that is a pass of its own.
    Conv2dEstimate parts(const ChipRates& rates) const;
    double seconds(const ChipRates& rates) const;
};

/// On a chip where so many clusters run at once.
std::vector<DecoderRow> decoder_rows(vae::LatentSize latents, StepOfClip step = StepOfClip::Later,
                                     const conv::ResidentClusters& clusters = {});

/// "n96_32x8_3_32" for sm100_halo_bf16_n96_32x8_3_32; a norm that is a pass of its own follows.
std::string kernel_names(const DecoderRow& row);

/// The layer's key without "decoder.".
std::string short_key(const vae::StepConvolution& layer);

/// The parts of a later step in milliseconds, each including its launches: convolutions, attention, copies of the
/// frames that convolutions keep, and the passes at the step's ends. The last two are bound by HBM traffic.
struct StepTime {
    double convolutions = 0, attention = 0, kept = 0, ends = 0;
    int64_t launches = 0;  ///< of all parts
    double sum() const { return convolutions + attention + kept + ends; }
};
StepTime step_time(vae::LatentSize latents, const ChipRates& rates = {});

/// GPCs whose SMs leave `of_four` clusters of four, and half as many of eight.
inline conv::ResidentClusters odd_gpcs(uint32_t of_four) { return {{74, of_four, of_four / 2}}; }
/// Of products at an H200's power: 1.50 of 1.98 GHz.
inline constexpr double kPowerShare = 1.50 / 1.98;
/// The slow end of a prediction.
inline ChipRates slow_rates() {
    ChipRates rates;
    rates.clusters = odd_gpcs(33);
    rates.power_share = kPowerShare;
    return rates;
}

}  // namespace kinetograph::sm100
