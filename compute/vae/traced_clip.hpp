// TracedClip: a clip that is decoded for what its network's modules make.
#pragma once

#include <kinetograph/compute/vae/clip.hpp>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/compute/vae/runner.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::vae {

/// In the order in which they run.
std::vector<std::string> modules_of_every_step(const nn::Network& network);

class TracedClip {
  public:
    /// `latents` outlive it. Errors: those of Model::check_takes, Clip::create and Runner::create.
    static Result<std::unique_ptr<TracedClip>> open(std::shared_ptr<Model> model, const Latents& latents,
                                                    const CallLimits& limits = {});
    /// How many of the modules, from the first on, one run copies out: at least one, else 512 MiB of values a step.
    std::size_t fitting(std::span<const std::string> modules) const;
    /// The next step() is the clip's first. Errors: those of Runner::reset.
    Result<void> begin(std::span<const std::string> modules);
    /// Of latent frame `t`, which follows the last. Errors: those of Clip::declare and Runner; Cancelled.
    Result<void> step(std::int64_t t);
    /// What the step made of module `i`, [T, H, W, C]; empty if it did not run.
    std::span<const float> values(std::size_t i) const;

  private:
    TracedClip(std::shared_ptr<Model> model, const Latents& latents, const CallLimits& limits)
        : model_(std::move(model)), latents_(latents), limits_(limits) {}

    std::shared_ptr<Model> model_;
    const Latents& latents_;
    CallLimits limits_;
    std::unique_ptr<accel::Memory> memory_;  ///< of a step's latents
    std::unique_ptr<Clip> clip_;
    std::unique_ptr<Runner> runner_;
    std::vector<TraceRequest> traces_;
};

struct ModuleError {
    std::string module{};
    double psnr = 0;  ///< in dB, for the range of the other model's values; 140 for the same values
};

/// How far the outputs of the network's modules are from those of another model of the same network, over all steps of
/// the clips, in the order in which they run: where a picture's error comes from. Errors: those of TracedClip.
Result<std::vector<ModuleError>> module_errors(const std::shared_ptr<Model>& tested,
                                               const std::shared_ptr<Model>& exact, std::span<const Latents> clips,
                                               const CallLimits& limits = {});

}  // namespace kinetograph::vae
