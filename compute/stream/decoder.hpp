// Decoder: decodes a clip step by step, from host memory to host memory. A clip's first latent frame becomes one frame,
// each later one as many as the family makes of it (Wan 2.1: 4).
#pragma once

#include <kinetograph/compute/stream/stepper.hpp>

#include <array>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::stream {

/// Frames of one step, in host memory owned by the decoder, valid until it is given more latents, or reset().
struct DecodedFrames {
    vae::FrameRange frames;  ///< of the clip
    std::int64_t height = 0, width = 0;
    std::vector<std::span<const float>> pictures{};  ///< [height, width, channels] float32, nominal range [-1, 1]
    Nanoseconds duration{};                          ///< from the latents to the frames
    std::int64_t not_finite = 0;  ///< values that are infinite or NaN: overflow, because latents are finite

    /// A copy of all pictures, [count, height, width, channels]; the second adds it to others.
    std::vector<float> thwc() const;
    void append_to(std::vector<float>& values) const;
};

/// A blocking loop over a Stepper, for tests, benches and tools that look at single steps. vae::Clip says in what state
/// an Error leaves the clip. On a GPU a step's frames are copied to the host while the next step runs.
class Decoder {
  public:
    /// Of `options`: latent_frames, bands, batches, recorder and limits. Errors: those of Stepper::create.
    static Result<std::unique_ptr<Decoder>> create(std::shared_ptr<vae::Model> model, vae::LatentSize size,
                                                   const vae::StepOptions& options = {});
    /// The same for a clip's size. Errors: also those of Model::check_takes.
    static Result<std::unique_ptr<Decoder>> create_for(std::shared_ptr<vae::Model> model, const vae::Latents& clip,
                                                       const vae::StepOptions& options = {});

    /// Decodes `latent_frames` latent frames, [latent_frames, z_dim, h, w] float32, and blocks until their frames are
    /// in memory. Errors: those of enqueue() and take(); InvalidArgument (a step is under way).
    Result<DecodedFrames> step(std::span<const float> latents, std::int64_t latent_frames = 1,
                               const CallLimits& limits = {});
    /// Begins a step and returns; the one before may still run, so that the device does not wait for the host. Errors:
    /// those of Stepper::step; InvalidArgument (element count, values that are not finite, kMostUnderWay steps
    /// already).
    Result<void> enqueue(std::span<const float> latents, std::int64_t latent_frames = 1);
    /// Blocks until the oldest step under way is done. Errors: those of its passes and copies, which end the clip;
    /// Cancelled, which ends it too; InvalidArgument (there is none).
    Result<DecodedFrames> take(const CallLimits& limits = {});
    static constexpr std::size_t kMostUnderWay = 2;
    /// Makes a step like step(), but returns the output of one module, named as in the checkpoint ("decoder.middle.1"):
    /// [T, H, W, C] float32. Empty when the module did not run.
    Result<std::vector<float>> trace(std::span<const float> latents, std::string_view module,
                                     std::int64_t latent_frames = 1);
    /// The modules that trace() takes, in the order in which they run.
    std::vector<std::string> modules() const;
    /// Begins a new clip: the next step is its first.
    Result<void> reset();

    vae::Runner& runner() { return stepper_->runner(); }
    vae::Clip& clip() { return stepper_->clip(); }
    const vae::Clip& clip() const { return stepper_->clip(); }
    /// The clip's and its model's, with the latents and frames of its steps.
    const vae::StackMemory& memory() const { return memory_; }

  private:
    Decoder() = default;
    struct UnderWay {
        vae::FrameRange frames;
        vae::StepKind kind;
        Nanoseconds begin{};
    };
    Result<void> check(std::span<const float> latents, std::int64_t latent_frames) const;
    LatentFrame stage(std::span<const float> latents, std::int64_t latent_frames);
    void give_back();
    Result<void> wait_for(const interop::TimelinePoint& ready, const CallLimits& limits);

    std::unique_ptr<interop::Bridge> bridge_;  ///< to no display
    vae::StackMemory memory_;
    /// Pinned: the first pass of a step reads its latents in place.
    std::array<std::unique_ptr<accel::Memory>, kMostUnderWay> staging_;
    std::size_t next_staging_ = 0;
    std::deque<UnderWay> under_way_;
    std::vector<interop::FrameRecord> held_;  ///< by the caller
    std::unique_ptr<Stepper> stepper_;        ///< declared last: waits before the memory above is released
};

/// The first module whose output in step `step` of the clip is not finite; empty if all are. Decodes the clip up to
/// that step a few times over, and leaves the decoder at a clip's beginning. Errors: those of reset(), step() and
/// trace().
Result<std::string> first_module_not_finite(Decoder& decoder, const vae::Latents& clip, std::int64_t step);

}  // namespace kinetograph::stream
