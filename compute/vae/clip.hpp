// Clip: the streaming state of one clip: the frames that its causal convolutions keep, and how far it has come.
#pragma once

#include <kinetograph/compute/vae/model.hpp>

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
class Clip {
  public:
    /// `plans` are the model's. Errors: OutOfMemory.
    static Result<Clip> create(std::shared_ptr<Model> model, const StepPlans& plans);

    /// The kind of the next step, on `latent_frames`. Errors: InvalidArgument (more than the plans are for, a second
    /// step where a clip is one).
    Result<StepKind> next(std::int64_t latent_frames = 1) const;
    /// A step's latents, [latent_frames, z_dim, h, w] of `dtype`, where the device addresses them.
    graph::Buffer import_latents(graph::FrameGraph& graph, const graph::Physical& memory,
                                 std::int64_t latent_frames = 1, tensor::DType dtype = tensor::DType::F32) const;
    /// The buffer of one frame, for ClipFrames::places.
    graph::BufferDesc frame_desc(FrameFormat format,
                                 graph::MemoryDomain domain = graph::MemoryDomain::Accelerator) const;
    /// Adds the passes of the next step to `graph`: they decode `latents`, read the frames kept and keep new ones.
    /// Returns the contents of the frames, one buffer each. Call advance() after the execution, or reset() if that
    /// failed. Errors: those of next() and declare_step().
    Result<std::vector<graph::Buffer>> declare(graph::FrameGraph& graph, const LatentBuffer& latents,
                                               const ClipFrames& frames = {}, std::int64_t latent_frames = 1);
    /// The same with all frames in one piece of memory that the host reads.
    Result<void> declare(graph::FrameGraph& graph, const LatentBuffer& latents, const ClipValues& values,
                         std::int64_t latent_frames = 1);
    /// Called when a step has been submitted: the next one goes on where it ends. Returns which frames of the clip it
    /// makes.
    FrameRange advance(std::int64_t latent_frames = 1);
    /// Begins a new clip, after all work that `stream` was given. Errors: those of the stream.
    Result<void> reset(accel::Stream& stream);

    Model& model() const { return *model_; }
    const StepPlans& plans() const { return *plans_; }
    LatentSize latent_size() const { return {plans_->size.height, plans_->size.width}; }
    std::uint64_t latent_bytes(tensor::DType dtype = tensor::DType::F32) const;  ///< of one latent frame
    StepFrames step_frames() const { return model_->step_frames(latent_size()); }
    /// What a step of that kind makes.
    nn::Extent output(StepKind kind) const { return output_shape(model_->network(), plans_->size, kind); }
    std::int64_t latent_frame() const { return next_latent_; }  ///< the next one that it takes, from 0
    StackMemory memory() const { return model_->memory(*plans_); }

  private:
    Clip(std::shared_ptr<Model> model, const StepPlans& plans)
        : model_(std::move(model)), plans_(&plans), factors_(model_->factors()) {}
    Result<std::vector<graph::Buffer>> declare_step(graph::FrameGraph& graph, const LatentBuffer& latents,
                                                    const StepOutput& output, std::int64_t latent_frames);

    std::shared_ptr<Model> model_;
    const StepPlans* plans_;
    nn::Factors factors_;
    std::int64_t next_latent_ = 0, next_frame_ = 0;
    std::map<std::string, std::unique_ptr<accel::Memory>> kept_;  ///< by key, as in StepPlans::kept_bytes
};

}  // namespace kinetograph::vae
