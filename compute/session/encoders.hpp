// Session::Encoders: the encoders of a session's checkpoint, each made when it is first wanted.
#pragma once

#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/compute/vae/encoder_model.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <array>

namespace kinetograph::session {

/// Thread-safe.
class Session::Encoders {
  public:
    Encoders(const vae::Checkpoint& checkpoint, vae::ModelOptions options)
        : checkpoint_(checkpoint), options_(std::move(options)) {}

    /// Errors: those of vae::create_encoder.
    Result<std::shared_ptr<vae::Model>> get(accel::Device& device, vae::Pictures pictures, const CallLimits& limits);
    bool can_run(const accel::Device& device) const;
    /// What encode() takes off its latents; empty where they stay raw.
    families::LatentStatistics statistics() const;

  private:
    vae::ModelOptions own_options() const;

    const vae::Checkpoint checkpoint_;  ///< which the session's decoder keeps, too
    const vae::ModelOptions options_;
    Mutex mutex_;
    std::array<std::shared_ptr<vae::Model>, 2> models_ KG_GUARDED_BY(mutex_);  ///< [vae::Pictures]
};

}  // namespace kinetograph::session
