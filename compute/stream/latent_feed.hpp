// LatentFeed: where a StepLoop gets its latents from: a clip, who pushes them, a socket.
#pragma once

#include <kinetograph/compute/stream/latent_frame.hpp>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/compute/vae/stack_memory.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/base/call_limits.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace kinetograph::stream {

class StepLoop;

/// What a feed has for the next step.
struct Fed {
    enum class State : std::uint8_t { Waiting, Ready, Ended };
    State state = State::Waiting;
    LatentFrame latent{};   ///< if Ready
    std::string place{};    ///< of the latents, for messages: "latent frame 3"
    Nanoseconds arrived{};  ///< when they came; 0: they were there from the start
};

/// One thread steps at a time: it calls next(), taken() and begin_clip(). The others are called by any thread, with the
/// loop's mutex held.
class LatentFeed {
  public:
    LatentFeed() = default;
    LatentFeed(const LatentFeed&) = delete;
    LatentFeed& operator=(const LatentFeed&) = delete;
    virtual ~LatentFeed() = default;

    /// The latents of the next step, the same until taken() or begin_clip(). `most`: latent frames that it takes.
    /// Errors: of latents that cannot be decoded, after those before them.
    virtual Result<Fed> next(std::int64_t most) = 0;
    /// The step on them is enqueued. Steps before the one before it have read their latents.
    virtual void taken() = 0;
    /// All steps are done, and the next one is a clip's first.
    virtual void begin_clip() = 0;

    /// From now on `loop` takes the latents; null: it has ended.
    virtual void attach(StepLoop* loop) { static_cast<void>(loop); }
    /// Its steps have ended too: no latents are read any more.
    virtual void free_memory() {}
    /// Whether a reader cannot begin the clip again: only who makes the latents can.
    virtual bool is_live() const { return false; }
    /// Forgets the latents that are not taken yet; more are taken, also after refuse().
    virtual void restart() {}
    /// No more latents are taken, for this reason.
    virtual void refuse(const Error& reason) { static_cast<void>(reason); }
};

/// A whole clip, uploaded to the accelerator.
class ClipFeed final : public LatentFeed {
  public:
    /// Errors: OutOfMemory, those of the device; Cancelled.
    static Result<std::shared_ptr<ClipFeed>> create(accel::Device& device, const vae::Latents& clip,
                                                    const CallLimits& limits);
    static std::uint64_t bytes(const vae::Latents& clip);  ///< that create() allocates on the device

    Result<Fed> next(std::int64_t most) override;
    void taken() override { next_ += in_hand_; }
    void begin_clip() override { next_ = 0; }

  private:
    ClipFeed() = default;
    std::int64_t frames_ = 0;
    std::uint64_t frame_bytes_ = 0;
    std::unique_ptr<accel::Memory> latents_;  ///< [frames, z_dim, h, w] float32
    std::int64_t first_bad_ = -1;             ///< the first latent frame with a value that is not finite; -1: none
    std::optional<Error> bad_;                ///< which value
    std::int64_t next_ = 0, in_hand_ = 0;     ///< latent frames
};

/// How a feed is made, once it is known what for.
struct FeedPlan {
    std::function<Result<std::shared_ptr<LatentFeed>>()> make;
    vae::StackMemory memory{};  ///< that it allocates, as io and stream
    std::int64_t latents = 0;   ///< latent frames of a clip; 0: they are made while it runs
    /// Steps that submit to a Vulkan queue are begun by who pushes the latents, not by the loop's thread.
    bool submits_in_calls = false;
};

}  // namespace kinetograph::stream
