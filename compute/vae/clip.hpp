// Clip: the streaming state of one clip: the frames that its causal convolutions keep, and how far it has come.
#pragma once

#include <kinetograph/compute/vae/model.hpp>

namespace kinetograph::vae {

/// How a clip's frames are stored in a graph of the caller's.
struct ClipFrames {
    FrameFormat format = FrameFormat::Rgba8;
    graph::MemoryDomain domain = graph::MemoryDomain::Accelerator;  ///< Shared: Vulkan reaches it too
};

/// Holds nothing of the model's: any number of clips share one. Used by one thread at a time.
class Clip {
  public:
    /// `plans` are the model's. Errors: OutOfMemory.
    static Result<Clip> create(std::shared_ptr<Model> model, const StepPlans& plans);

    /// The kind of the next step, on `frames` latent frames. Errors: InvalidArgument (more than the plans are for, a
    /// second step where a clip is one).
    Result<StepKind> next(std::int64_t frames) const;
    /// Adds the passes of a step of that kind to `graph`: they read the frames kept and keep new ones. A graph is good
    /// for every step of the kind. Errors: those of Model::declare.
    Result<DeclaredStep> declare(graph::FrameGraph& graph, StepKind kind, const StepMemory& memory,
                                 TraceRequest* trace = nullptr);
    /// The same in a graph of the caller's, on its lane of the model's device: the next step decodes one latent frame,
    /// the contents `latents` ([z_dim, h, w] float32), and its frames are transients of the graph, one buffer each. The
    /// caller executes the graph on a lane and memory of the model's device, then calls advance(); after an Error of
    /// the execution, reset(). Errors: those of next() and Model::declare, InvalidArgument (too few bytes).
    Result<std::vector<graph::Buffer>> declare(graph::FrameGraph& graph, graph::Buffer latents,
                                               const ClipFrames& frames = {});
    /// A step has been submitted: the next one goes on where it ends.
    void advance() { first_ = false; }
    /// A new clip begins, after all work that `stream` was given. Errors: those of the stream.
    Result<void> reset(accel::Stream& stream);

    Model& model() const { return *model_; }
    const StepPlans& plans() const { return *plans_; }

  private:
    Clip(std::shared_ptr<Model> model, const StepPlans& plans) : model_(std::move(model)), plans_(&plans) {}

    std::shared_ptr<Model> model_;
    const StepPlans* plans_;
    bool first_ = true;
    std::map<std::string, std::unique_ptr<accel::Memory>> kept_;  ///< by key, as in StepPlans::kept_bytes
};

}  // namespace kinetograph::vae
