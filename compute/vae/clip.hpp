// Clip: the streaming state of one clip: the frames that its causal convolutions keep, and how far it has come.
#pragma once

#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/compute/vae/step_options.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kinetograph::vae {

/// Some frames of a clip.
struct FrameRange {
    std::int64_t first = 0;  ///< from 0
    std::int64_t count = 0;
};

/// Declares the steps of a clip and executes nothing: their passes go to the caller's graph, which runs them on a lane
/// and memory of the model's device.
///
///   latents = clip.import_latents(graph, memory)  ->  frames = clip.declare(graph, latents)  ->  the caller's passes
///   read the frames  ->  the executor's execute(graph)  ->  clip.advance()
///
/// A graph that was declared for a step can be executed for every later step of the same kind, and must outlive the
/// work of each. Any number of clips share a model. Used by one thread at a time.
///
/// An Error of a step that is InvalidArgument leaves the clip as it was: the step can be tried again. Every other one
/// ends the clip: its streaming state is lost, and each further step returns that Error until reset() begins a new
/// clip. If reset() returns an Error too, it is the device's, and a new device is needed.
class Clip {
  public:
    /// Plans the size and packs the parameters, unless the model has done that before, then allocates what the clip
    /// keeps from step to step. Of `options`: placement, bands, latent_frames and limits. Errors: those of
    /// Model::plan_to_fit; Cancelled.
    static Result<std::unique_ptr<Clip>> create(std::shared_ptr<Model> model, LatentSize size,
                                                const StepOptions& options = {});
    Clip(const Clip&) = delete;
    Clip& operator=(const Clip&) = delete;
    ~Clip() = default;

    /// The kind of the next step, on `latent_frames`. Errors: InvalidArgument (more than the plans are for, a second
    /// step where a clip is one, frames that the network does not divide by).
    Result<StepKind> next(std::int64_t latent_frames = 1) const;
    /// A step's latents, [latent_frames, z_dim, h, w] of `dtype`, where the device addresses them.
    graph::Buffer import_latents(graph::FrameGraph& graph, const graph::Physical& memory,
                                 std::int64_t latent_frames = 1, tensor::DType dtype = tensor::DType::F32) const;
    /// The buffer of one frame, for StepOutput::places.
    graph::BufferDesc frame_desc(FrameFormat format) const { return frame_desc(format, placement_.memory); }
    graph::BufferDesc frame_desc(FrameFormat format, graph::MemoryDomain domain) const;
    /// Adds the passes of the next step to `graph`: they decode `latents`, read the frames kept and keep new ones.
    /// Returns the contents of the frames, one buffer each. Call advance() after the execution, or reset() if that
    /// failed. Errors: those of next() and declare_step().
    Result<std::vector<graph::Buffer>> declare(graph::FrameGraph& graph, const InputBuffer& latents,
                                               const StepOutput& frames = {}, std::int64_t latent_frames = 1);
    /// Called when a step has been submitted: the next one goes on where it ends. Returns which frames of the clip it
    /// makes.
    FrameRange advance(std::int64_t latent_frames = 1);
    /// Begins a new clip, after all work that `stream` was given. Errors: those of the stream.
    Result<void> reset(accel::Stream& stream);
    /// Ends the clip with an Error of its steps, or of work that belongs to them.
    void end(Error error) { ended_ = std::move(error); }
    /// What ended the clip, if anything has.
    Result<void> status() const;

    Model& model() const { return *model_; }
    const Placement& placement() const { return placement_; }
    const StepPlans& plans() const { return *plans_; }
    LatentSize latent_size() const { return {plans_->size.height, plans_->size.width}; }
    std::uint64_t latent_bytes(tensor::DType dtype = tensor::DType::F32) const;  ///< of one latent frame
    StepFrames step_frames() const { return model_->step_frames(latent_size()); }
    /// What a step of that kind makes.
    nn::Extent output(StepKind kind) const { return output_shape(model_->network(), plans_->size, kind); }
    std::int64_t latent_frame() const { return next_latent_; }  ///< the next one that it takes, from 0
    std::int64_t next_frame() const { return next_frame_; }     ///< the next one that it makes, from 0
    StackMemory memory() const { return model_->memory(*plans_); }

  private:
    Clip(std::shared_ptr<Model> model, const StepPlans& plans, const Placement& placement)
        : model_(std::move(model)), plans_(&plans), placement_(placement), rates_(model_->rates()) {}

    std::shared_ptr<Model> model_;
    const StepPlans* plans_;
    Placement placement_;
    nn::Rates rates_;
    std::int64_t next_latent_ = 0, next_frame_ = 0;
    std::map<std::string, std::unique_ptr<accel::Memory>> kept_;  ///< by key, as in StepPlans::kept_bytes
    std::optional<Error> ended_;
};

}  // namespace kinetograph::vae
