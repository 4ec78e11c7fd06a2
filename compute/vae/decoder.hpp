// Decoder: decodes a clip step by step, from host memory to host memory. A clip's first latent frame becomes one frame,
// each later one as many as the family makes of it (Wan 2.1: 4).
#pragma once

#include <kinetograph/compute/vae/clip_runner.hpp>
#include <kinetograph/compute/vae/host_copies.hpp>
#include <kinetograph/compute/vae/latents.hpp>

#include <deque>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::vae {

/// Frames of one step, in host memory owned by the decoder, valid until it is given more latents, or reset().
struct DecodedFrames {
    FrameRange frames;  ///< of the clip
    std::int64_t height = 0, width = 0;
    std::span<const float> thwc;  ///< [count, height, width, channels] float32, nominal range [-1, 1]
    Nanoseconds duration{};       ///< from the latents to the frames
    std::int64_t not_finite = 0;  ///< values that are infinite or NaN: overflow, because latents are finite
};

/// For tests, benches and tools that look at single steps. ClipRunner says in what state an Error leaves the clip. On a
/// GPU a step's frames are copied to the host while the next step runs (HostCopies).
class Decoder {
  public:
    /// Errors: those of ClipRunner::create; OutOfMemory (of staging).
    static Result<std::unique_ptr<Decoder>> create(std::shared_ptr<Model> model, LatentSize size,
                                                   const RunnerOptions& options = {});
    /// The same for a clip's size. Errors: also those of Model::check_takes.
    static Result<std::unique_ptr<Decoder>> create_for(std::shared_ptr<Model> model, const Latents& clip,
                                                       const RunnerOptions& options = {});

    /// Decodes `latent_frames` latent frames, [latent_frames, z_dim, h, w] float32, and blocks until their frames are
    /// in memory. Errors: those of enqueue() and take(); InvalidArgument (a step is under way).
    Result<DecodedFrames> step(std::span<const float> latents, std::int64_t latent_frames = 1,
                               const CallLimits& limits = {});
    /// Begins a step and returns; the one before may still run, so that the device does not wait for the host. The
    /// first time that happens, staging memory for a second step is allocated. Errors: those of ClipRunner::execute;
    /// InvalidArgument (element count, values that are not finite, kMostUnderWay steps already); OutOfMemory (of
    /// staging).
    Result<void> enqueue(std::span<const float> latents, std::int64_t latent_frames = 1);
    /// Blocks until the oldest step under way is done. Errors: those of ClipRunner::wait; InvalidArgument (there is
    /// none).
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

    ClipRunner& runner() { return *runner_; }
    const ClipRunner& runner() const { return *runner_; }
    const Clip& clip() const { return runner_->clip(); }
    /// The clip's and its model's, with the frames that lie on the device before they are copied.
    StackMemory memory() const;

  private:
    Decoder() = default;
    /// What a step reads and writes. Pinned: the first pass reads it in place, and without copies the last one writes
    /// it in place. The flag is 0, or 1 once the last pass has stored a value that is not finite.
    struct Staging {
        std::size_t turn = 0;  ///< in HostCopies
        std::unique_ptr<accel::Memory> input, output, not_finite;
        std::map<StepKind, graph::FrameGraph> graphs;
    };
    struct UnderWay {
        Staging* staging = nullptr;
        StepKind kind;
        Nanoseconds begin{};
        EnqueuedStep step;
        graph::Point copied;  ///< when the frames are in the host's memory; nothing without copies
    };
    Result<Staging*> free_staging();
    static Result<Staging> make_staging(const Model& model, const StackSize& steps);
    Result<void> check(std::span<const float> latents, std::int64_t latent_frames) const;
    Result<void> declare(graph::FrameGraph& frame, StepKind kind, const Staging& staging,
                         TraceRequest* trace = nullptr);
    Result<const graph::FrameGraph*> graph_of(StepKind kind, Staging& staging);
    Result<EnqueuedStep> execute(const graph::FrameGraph& frame, const Staging& staging, std::span<const float> latents,
                                 std::int64_t latent_frames);
    std::uint64_t frame_bytes(StepKind kind) const;
    Result<graph::Point> enqueue_copy(const Staging& staging, StepKind kind, const EnqueuedStep& step);
    Result<void> wait_for(const UnderWay& step, const CallLimits& limits);
    static std::int64_t count_not_finite(const Staging& staging, std::span<const float> values);

    std::deque<Staging> stagings_;  ///< the second is made when two steps are first under way
    std::deque<UnderWay> under_way_;
    std::unique_ptr<HostCopies> copies_;  ///< null where steps write to the host's memory
    std::unique_ptr<ClipRunner> runner_;  ///< declared last: waits before the memory above is released
};

/// The first module whose output in step `step` of the clip is not finite; empty if all are. Decodes the clip up to
/// that step a few times over, and leaves the decoder at a clip's beginning. Errors: those of reset(), step() and
/// trace().
Result<std::string> first_module_not_finite(Decoder& decoder, const Latents& clip, std::int64_t step);

}  // namespace kinetograph::vae
