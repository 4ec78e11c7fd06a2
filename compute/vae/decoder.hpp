// Decoder: steps of a clip through the host's memory, one after the other. Feed one latent frame, get one frame, then
// as many as the family makes of each (Wan 2.1: 4).
#pragma once

#include <kinetograph/compute/vae/clip_runner.hpp>
#include <kinetograph/compute/vae/latents.hpp>

#include <span>
#include <string>

namespace kinetograph::vae {

/// Frames of one step, in host memory owned by the decoder, valid until the next step() or reset().
struct DecodedFrames {
    FrameRange frames;  ///< of the clip
    std::int64_t height = 0, width = 0;
    std::span<const float> thwc;  ///< [count, height, width, channels] float32, nominal range [-1, 1]
    Nanoseconds duration{};       ///< of the step
    std::int64_t not_finite = 0;  ///< values that are infinite or no number: overflow, from latents that were finite
};

/// For tests, benches and tools that look at single steps: each blocks until its frames are in memory. ClipRunner says
/// in what state an Error leaves the clip.
class Decoder {
  public:
    /// Errors: those of ClipRunner::create; OutOfMemory (of staging).
    static Result<std::unique_ptr<Decoder>> create(std::shared_ptr<Model> model, LatentSize size,
                                                   const RunnerOptions& options = {});
    /// The same for a clip's size. Errors: also those of Model::check_takes.
    static Result<std::unique_ptr<Decoder>> create_for(std::shared_ptr<Model> model, const Latents& clip,
                                                       const RunnerOptions& options = {});

    /// Decodes `latent_frames` latent frames, [latent_frames, z_dim, h, w] float32.
    /// Errors: those of ClipRunner::execute and wait; InvalidArgument (element count, values that are not finite).
    Result<DecodedFrames> step(std::span<const float> latents, std::int64_t latent_frames = 1);
    /// The same step; returns one module's output: name as in the checkpoint ("decoder.middle.1"), contents
    /// [T, H, W, C] float32. Empty when the module did not run.
    Result<std::vector<float>> trace(std::span<const float> latents, std::string_view module,
                                     std::int64_t latent_frames = 1);
    /// What trace() takes, in the order in which it runs.
    std::vector<std::string> modules() const;
    /// Begins a new clip: the next step is its first.
    Result<void> reset() { return runner_->reset(); }

    ClipRunner& runner() { return *runner_; }
    const ClipRunner& runner() const { return *runner_; }
    const Clip& clip() const { return runner_->clip(); }

  private:
    explicit Decoder(std::unique_ptr<ClipRunner> runner) : runner_(std::move(runner)) {}
    Result<void> make_staging();
    Result<void> check(std::span<const float> latents, std::int64_t latent_frames) const;
    Result<void> declare(graph::FrameGraph& frame, StepKind kind, TraceRequest* trace = nullptr);
    Result<const graph::FrameGraph*> graph_of(StepKind kind);
    Result<EnqueuedStep> run(const graph::FrameGraph& frame, std::span<const float> latents,
                             std::int64_t latent_frames);
    std::int64_t count_not_finite(std::span<const float> values) const;

    std::map<StepKind, graph::FrameGraph> graphs_;
    /// Pinned: the passes at both ends of a step read and write them in place. The flag is 0, or 1 once the last pass
    /// has stored a value that is not finite.
    std::unique_ptr<accel::Memory> input_, output_, not_finite_;
    std::unique_ptr<ClipRunner> runner_;  ///< last: waits before the memory above goes
};

/// The first module whose output in step `step` of the clip is not finite; empty if all are. Decodes the clip up to
/// that step a few times over, and leaves the decoder at a clip's beginning. Errors: those of reset(), step() and
/// trace().
Result<std::string> first_module_not_finite(Decoder& decoder, const Latents& clip, std::int64_t step);

}  // namespace kinetograph::vae
