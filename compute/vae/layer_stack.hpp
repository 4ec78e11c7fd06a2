// LayerStack: a clip of a model, running on a lane of its own; the decoder without its checkpoint's conventions.
#pragma once

#include <kinetograph/compute/vae/clip.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <memory>
#include <optional>
#include <span>

namespace kinetograph::vae {

struct StackOptions {
    profile::Recorder* recorder = nullptr;              ///< outlives the stack
    accel::Batches batches = accel::Batches::Replayed;  ///< Eager: every step enqueues every pass, for comparison
};

class LayerStack {
  public:
    /// Allocates everything that steps of either kind with up to max_frames frames need.
    /// Errors: those of Model::plan; OutOfMemory with the figures of StackMemory and what is free.
    static Result<std::unique_ptr<LayerStack>> create(std::shared_ptr<Model> model, const StackSize& size,
                                                      const StackOptions& options = {});
    LayerStack(const LayerStack&) = delete;
    LayerStack& operator=(const LayerStack&) = delete;
    ~LayerStack();

    /// Runs one step on input [frames, c_in, h, w] and blocks until its output [T, H, W, C] is in memory; the span is
    /// valid until the next call; step_is_finite() tells of its values. Errors: InvalidArgument (element count, more
    /// than max_frames, a second step where a clip is one), and those of the passes.
    Result<std::span<const float>> step(std::span<const float> input, std::int64_t frames);
    bool step_is_finite() const;  ///< of the last step(): no value of its output is infinite or NaN
    /// Whether step() takes the input; the stack stays as it is. Errors: InvalidArgument, as of step().
    Result<void> check_input(std::span<const float> input, std::int64_t frames) const;
    /// The same step, with the output of `module` copied out; empty if the module did not run.
    Result<std::vector<float>> trace(std::span<const float> input, std::int64_t frames, std::string_view module);
    Result<void> reset();

    /// Steps on the device from now on do this with their frames. Starts anew, as after reset().
    /// Errors: OutOfMemory, InvalidArgument (two back ends of one lane or domain).
    Result<void> attach(DeviceOutput output);
    /// Enqueues one step on `frames` latent frames that the device addresses, and its frames' way, and returns: nothing
    /// is waited for. After attach(). Errors: InvalidArgument (more than max_frames, memory that is missing or too
    /// small), those of the passes and the lanes.
    Result<graph::Execution> enqueue(const DeviceStep& step, std::int64_t frames);
    /// The lane on which it computes. Whoever waits with it before the next step does so before that is enqueued.
    accel::AcceleratorLane& lane() { return *lane_; }

    const Model& model() const { return clip_.model(); }
    const StackSize& size() const { return clip_.plans().size; }
    /// What a step of that kind makes.
    nn::Extent output(StepKind kind) const { return output_shape(model().network(), size(), kind); }
    /// What the next step makes of one latent frame. Errors: those of Clip::next.
    Result<nn::Extent> next_output() const;
    const graph::Plan* plan() const;
    Result<graph::Plan> compile_plan(StepKind kind) const;
    StackMemory memory() const { return model().memory(clip_.plans()); }

  private:
    explicit LayerStack(Clip clip) : clip_(std::move(clip)) {}
    Result<void> allocate(const StackOptions& options);
    Result<void> make_executor();
    Result<void> make_staging();
    Result<DeclaredStep> declare(graph::FrameGraph& frame, StepKind kind, TraceRequest* trace = nullptr);
    Result<graph::FrameGraph*> step_graph(StepKind kind);
    /// A step on the device, declared once.
    struct DeviceGraph {
        graph::FrameGraph frame;
        DeclaredStep declared;
    };
    graph::Physical flag_of(const DeviceStep& step) const;
    Result<DeviceGraph*> device_graph(StepKind kind, const DeviceStep& step);
    Result<void> run(const graph::FrameGraph& frame, std::span<const float> input);
    std::span<const float> output_values(StepKind kind) const;

    Clip clip_;
    std::map<StepKind, graph::FrameGraph> graphs_;
    std::optional<DeviceOutput> device_output_;  ///< of steps on the device
    std::map<StepKind, DeviceGraph> device_graphs_;
    /// Pinned: the passes at both ends of a step through the host read and write them in place. The flag is 0, or 1
    /// once the last pass has stored a value that is not finite.
    std::unique_ptr<accel::Memory> input_, output_, not_finite_;
    std::unique_ptr<accel::AcceleratorMemory> arena_;
    std::unique_ptr<accel::AcceleratorLane> lane_;
    std::unique_ptr<graph::Executor> executor_;  ///< last: waits for the lane before anything goes
};

}  // namespace kinetograph::vae
