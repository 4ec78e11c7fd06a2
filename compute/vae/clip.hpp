// Clip: the streaming state of one clip: the frames that its causal convolutions keep, and how far it has come.
#pragma once

#include <kinetograph/compute/vae/clip_state.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/compute/vae/step_options.hpp>

#include <cstdint>
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
    /// keeps from step to step, StackMemory::state() of the device. Of `options`: placement, bands, latent_frames,
    /// rewind_steps and limits. Errors: those of Model::plan_to_fit; Cancelled.
    static Result<std::unique_ptr<Clip>> create(std::shared_ptr<Model> model, LatentSize size,
                                                const StepOptions& options = {});
    Clip(const Clip&) = delete;
    Clip& operator=(const Clip&) = delete;
    ~Clip() = default;

    /// The kind of the next step, on `latent_frames`. Errors: InvalidArgument (more than the plans are for, a second
    /// step where a clip is one, frames that the network does not divide by, a clip that is parked).
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
    // The state as a value. `stream` is one of the model's device on which all steps of the clip are done before what
    // it is given here; each call blocks until it has done that. Where it fails with InvalidArgument or OutOfMemory
    // nothing has happened.
    /// What the clip remembers. Errors: those of the stream.
    Result<ClipState> save(accel::Stream& stream) const;
    /// The next step continues where the state was saved. Errors: those of ClipState::check_fits; InvalidArgument (the
    /// clip is parked); those of the stream.
    Result<void> load(const ClipState& state, accel::Stream& stream);
    /// Becomes a branch of `other`, a clip of the same model and plans, of which the same holds as of this one. Errors:
    /// InvalidArgument (another model or size; this clip is parked); those of the stream.
    Result<void> branch_from(const Clip& other, accel::Stream& stream);
    /// Moves the state to pinned memory of the host, and forgets the points to which rewind() goes. A parked clip makes
    /// no steps. Errors: OutOfMemory; those of the stream.
    Result<void> park(accel::Stream& stream);
    /// Moves it back; graphs that were declared before are to be declared anew. Errors: OutOfMemory; those of the
    /// stream.
    Result<void> resume(accel::Stream& stream);
    bool is_parked() const { return is_parked_; }
    /// Changes with the addresses of what is kept: a graph is for the addresses with which it was declared.
    std::uint64_t addresses() const { return addresses_; }
    /// Of the clip, for the calls above and reset().
    Result<accel::Stream*> state_stream();
    /// The value of the lane's timeline once the newest step is done; 0 before the first.
    std::uint64_t newest_step() const { return newest_step_; }
    void note_step(std::uint64_t value) { newest_step_ = value; }
    /// Of a model that several devices compute: the streams on which the others' passes run. What is above then also
    /// happens there, in the memory of each; all of them are done before, as `stream` is.
    void set_other_streams(std::vector<accel::Stream*> streams) { other_streams_ = std::move(streams); }
    /// Copies the state before a step that is about to be submitted to `stream`, for rewind(). Does nothing without
    /// StepOptions::rewind_steps.
    void keep_point(accel::Stream& stream);
    /// Goes back to before the last `steps` steps. Errors: InvalidArgument (fewer are kept), those of the stream.
    Result<void> rewind(std::int64_t steps, accel::Stream& stream);
    std::int64_t rewindable() const { return points_end_ - points_begin_; }  ///< the most steps that rewind() takes

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
    /// The clip's and its model's; `points` are for rewind().
    StackMemory memory() const;

  private:
    /// By key, as in StepPlans::kept_bytes.
    using Kept = std::map<std::string, std::unique_ptr<accel::Memory>>;
    struct Point {
        Kept kept;
        std::int64_t next_latent = 0, next_frame = 0;
    };
    Clip(std::shared_ptr<Model> model, const StepPlans& plans, const StepOptions& options)
        : model_(std::move(model)),
          plans_(&plans),
          placement_(options.placement),
          rates_(model_->rates()),
          points_(static_cast<std::size_t>(options.rewind_steps)) {}
    Result<void> allocate();
    Result<Kept> allocate_kept() const;
    void copy(const Kept& from, const Kept& to, accel::Stream& stream) const;
    accel::Device& device_of(const std::string& key) const;
    accel::Stream& stream_of(const std::string& key, accel::Stream& stream) const;
    Result<void> synchronize(accel::Stream& stream) const;
    ClipState::Owner owner() const;
    Result<void> check_resumed() const;
    void forget_points() { points_begin_ = points_end_ = 0; }

    std::shared_ptr<Model> model_;
    const StepPlans* plans_;
    Placement placement_;
    nn::Rates rates_;
    std::int64_t next_latent_ = 0, next_frame_ = 0;
    Kept kept_;  ///< on the device; of a parked clip in the host's memory
    bool is_parked_ = false;
    std::uint64_t addresses_ = 0;
    std::vector<Point> points_;                       ///< [step % size()]
    std::int64_t points_begin_ = 0, points_end_ = 0;  ///< steps before which there is a point
    bool has_point_ = false;                          ///< also before the step that is submitted now
    std::optional<Error> ended_;
    std::unique_ptr<accel::Stream> state_stream_;
    std::vector<accel::Stream*> other_streams_;  ///< [device - 1]
    std::uint64_t newest_step_ = 0;
};

}  // namespace kinetograph::vae
