// Model: a decoder's parameters on a device, packed once, and the plans of steps of every size; shared by clips.
#pragma once

#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/model_options.hpp>
#include <kinetograph/compute/vae/stack_memory.hpp>
#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <map>
#include <memory>
#include <string>

namespace kinetograph::vae {

/// Steps of one size: what a clip of it runs, and the memory that it takes besides the model's.
struct StepPlans {
    StackSize size;           ///< and in how many bands
    double work_ratio = 1.0;  ///< multiply-adds of a clip's later steps, over those of the whole picture
    std::map<StepKind, graph::Plan> plans{};
    std::map<std::string, std::uint64_t> kept_bytes{};  ///< as of FindKept
    std::map<std::string, std::uint32_t> kept_on{};     ///< on which device of several
    std::uint64_t transients = 0, histories = 0;
    struct OnDevice {
        std::uint64_t transients = 0, histories = 0;
    };
    std::vector<OnDevice> others{};  ///< [device - 1], of a model that several devices compute
    std::vector<Rows> shares{};      ///< [device], rows that each makes of such a model's cut (share_rows())
    std::uint64_t pinned = 0;        ///< StackMemory::pinned

    /// Errors: InvalidArgument (a kind that no clip of this size runs).
    Result<const graph::Plan*> plan_of(StepKind kind) const;
};

/// Every kind of step that clips of that size run.
std::vector<StepKind> kinds_of_steps(const NetworkDesc& network, const StackSize& size);

/// Thread-safe: clips of any thread share one. Its parameters stay on the device until the last of them is gone.
class Model {
  public:
    /// Packs nothing yet: the first plan_to_fit() or plan() does. The checkpoint stays with the model, for sizes that
    /// want other packings. `device` outlives the model. With Sums::Int8 the checkpoint's calibration is taken; if it
    /// has none, the default recipe is calibrated on synthetic latents, and the device's log says so. Errors:
    /// Unsupported (precision, architecture; Int8: the family has no recipe, the device no such convolutions),
    /// InvalidArgument (statistics of latents that are too large for the precision; Int8 in another than Bf16), those
    /// of read_calibration() and calibrate().
    ///
    /// If the device has companions, every step is computed by all of them (bands.hpp): the device runs the passes up
    /// to a spatial upsampling, and each from there on a band of rows, as high as its rate allows:
    ///
    ///     device        trunk 0 | band 0 | trunk 1 | band 0 | ...    rows of the trunk's result go to the companions,
    ///     companion             | band 1 ......... | band 1 ....     which write their rows of the device's frames
    ///
    /// Frames have the bits of one device where the companions are of its kind. Errors also: InvalidArgument (more than
    /// graph::kMaxAccelerators devices).
    static Result<std::shared_ptr<Model>> create(accel::Device& device, const Checkpoint& checkpoint,
                                                 const ModelOptions& options = {});
    /// The same for a network without a checkpoint's conventions, on the device alone; `load` gives its parameters,
    /// `name` is for messages.
    static Result<std::shared_ptr<Model>> create(accel::Device& device, std::string name, NetworkDesc network,
                                                 LoadTensor load);

    /// Checks that the channels and the number of frames of `clip` are what the network takes, and that it has as many
    /// values as its sizes say. Errors: InvalidArgument.
    Result<void> check_takes(const Latents& clip) const;

    /// Checks that steps on inputs of `size` can be made. Errors: InvalidArgument, as plan() describes it.
    Result<void> check(const StackSize& size) const;
    /// The plans of steps on inputs of `size`: compiled, and their parameters packed, on the first call for that size.
    /// If `limits` end the call, what was packed stays packed. Errors: InvalidArgument (sides 1 to 1024, together up to
    /// (2^31 - 1) / (2 * dim) pixels of video, 11 million at the published width), those of Parameters, Cancelled.
    Result<const StepPlans*> plan(const StackSize& size, const CallLimits& limits = {});
    /// The same for a clip that is to be allocated now. If the whole picture takes more than is free on the device (its
    /// budget, and what its driver says), steps run in the fewest bands that fit; above seven, not every number is
    /// tried. No filter is loaded before it is known that some number fits, only constants of a few KiB. Errors: those
    /// of plan(); OutOfMemory with the figures of StackMemory and the least that would do.
    Result<const StepPlans*> plan_to_fit(const StackSize& size, const CallLimits& limits = {});
    /// Checks that `bytes` of the device, whatever is free of it now, would do for a clip of the size, its latents and
    /// frames aside. Loads no filter. Errors: those of plan(); OutOfMemory with the least that would do.
    Result<void> check_budget(const StackSize& size, std::uint64_t bytes, const CallLimits& limits = {});
    /// The Error to return where `refusal`, an OutOfMemory, ended an allocation for a clip of the size, and all others
    /// for it have been released: plan_to_fit()'s, with the frames' memory (`beside`: io and stream) among the figures.
    /// `refusal` itself if everything would fit, or the size has no plans.
    Error explain_refusal(Error refusal, const StackSize& size, const StackMemory& beside,
                          const CallLimits& limits = {});
    /// What a clip of the size would take if it were made now, in bytes: what Clip, Runner and the packed parameters
    /// allocate, and no more. Loads no filter, and allocates none of it. Errors: those of plan_to_fit().
    Result<StackMemory> declared_memory(const StackSize& size, const CallLimits& limits = {});
    /// The same of the whole picture, whether it fits or not. Errors: those of plan().
    Result<StackMemory> whole_memory(const StackSize& size, const CallLimits& limits = {});
    /// What a clip of the size takes: parameters and packed filters are the model's, all clips' together.
    StackMemory memory(const StepPlans& plans) const;

    /// Adds the passes of one step to `graph`. Errors: those of declare_step().
    Result<std::vector<graph::Buffer>> declare(graph::FrameGraph& graph, const StackSize& size, StepKind kind,
                                               const FindKept& find_kept, const InputBuffer& latents,
                                               const StepOutput& output, Placement placement = {});

    accel::Device& device() const { return device_; }
    /// It and the companions that compute with it, in the order of their lanes (graph::Lane::accelerator).
    std::vector<accel::Device*> devices() const;
    /// Which lanes and memory steps of this model have without Vulkan.
    graph::LaneTopology topology() const;
    const NetworkDesc& network() const { return network_; }
    StepFrames step_frames(LatentSize size, std::int64_t latent_frames = 1) const;  ///< on so many at most
    nn::Rates rates() const { return nn::rates(network_.network); }
    /// Latent frames or pictures of a step after a clip's first, where they are pushed as they are made: the fewest.
    std::int64_t pushed_frames() const { return network_.one_step ? rates().first : rates().time.in; }
    std::int64_t channels() const { return network_.network.input_channels(); }  ///< of what goes in
    const std::string& name() const { return name_; }                            ///< the checkpoint's, for messages
    std::uint64_t weights_hash() const {
        return weights_hash_;
    }  ///< Checkpoint::content_hash(); 0 without a checkpoint

  private:
    /// What a companion of the device computes with.
    struct Other {
        accel::Device& device;
        std::unique_ptr<nn::Operators> operators;
        Parameters parameters;
        bool is_reached;
        std::uint64_t device_bytes = 0;  ///< of the parameters
    };
    Model(accel::Device& device, std::string name, NetworkDesc network, LoadTensor load)
        : device_(device),
          name_(std::move(name)),
          network_(std::move(network)),
          parameters_(device, std::move(load), network_.sums, network_.preferred_backend, network_.bytes) {}
    Result<void> add_companions(const LoadTensor& load) KG_REQUIRES(mutex_);
    std::vector<Shard> shards() KG_REQUIRES(mutex_);
    Result<std::vector<Rows>> shares(const StackSize& size) KG_REQUIRES(mutex_);
    std::int64_t block() const;
    Result<void> check_others(const StepPlans& plans) const KG_REQUIRES(mutex_);
    template <class Upload>
    auto counting_device_bytes(const Upload& upload) KG_REQUIRES(mutex_);
    Result<const StepPlans*> compiled(const StackSize& size, const CallLimits& limits) KG_REQUIRES(mutex_);
    Result<StepPlans> compile(const StackSize& size, const CallLimits& limits) KG_REQUIRES(mutex_);
    Result<void> pack(const CallLimits& limits) KG_REQUIRES(mutex_);
    Result<const StepPlans*> packed(const StepPlans& plans, const CallLimits& limits) KG_REQUIRES(mutex_);
    Result<const StepPlans*> find_fitting(const StepPlans& whole, const CallLimits& limits, std::uint64_t beside = 0)
        KG_REQUIRES(mutex_);
    Result<const StepPlans*> find_least(const StepPlans& whole, const CallLimits& limits, std::uint64_t enough)
        KG_REQUIRES(mutex_);
    std::string work_on(const StackSize& size) const;
    Error lack_of_memory(const StepPlans& whole, const StepPlans& least, std::uint64_t beside) const
        KG_REQUIRES(mutex_);
    void log_bands(const StepPlans& whole, const StepPlans& banded) const KG_REQUIRES(mutex_);
    double work_ratio(const StackSize& size) const;
    StackMemory memory_locked(const StepPlans& plans) const KG_REQUIRES(mutex_);
    std::uint64_t bytes_wanted(const StepPlans& plans) const KG_REQUIRES(mutex_);

    accel::Device& device_;
    std::string name_;
    std::uint64_t weights_hash_ = 0;
    NetworkDesc network_;
    std::unique_ptr<nn::Operators> operators_;
    std::vector<std::unique_ptr<Other>> others_;  ///< constant; their parameters are guarded by mutex_
    std::vector<double> speeds_;                  ///< of device_ and others_, as of share_rows()
    mutable Mutex mutex_;
    Parameters parameters_ KG_GUARDED_BY(mutex_);
    std::uint64_t device_bytes_ KG_GUARDED_BY(mutex_) = 0;  ///< of the parameters
    bool refusal_is_told_ KG_GUARDED_BY(mutex_) = false;    ///< that no convolution takes the preferred method
    std::vector<std::unique_ptr<const StepPlans>> plans_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::vae
