// Session: the front door. A checkpoint on a device, opened once; then streams of frames, as many as wanted.
#pragma once

#include <kinetograph/compute/stream/encoder.hpp>
#include <kinetograph/compute/vae/model_options.hpp>
#include <kinetograph/compute/vae/runner_load.hpp>
#include <kinetograph/compute/vae/stack_memory.hpp>
#include <kinetograph/compute/vae/step_options.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/vulkan/adopted_device.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace kinetograph::accel {
class DeviceWatch;
}
namespace kinetograph::interop {
class Bridge;
}
namespace kinetograph::stream {
class Reencoder;
}
namespace kinetograph::vae {
class Checkpoint;
class Model;
class RunnerShare;
enum class Pictures : std::uint8_t;
}  // namespace kinetograph::vae
namespace kinetograph::vulkan {
class Display;
}

namespace kinetograph::session {

struct SessionOptions {
    /// The device that decodes, as accel::open takes it: "cpu", "cuda", "hip:1"; "auto": a GPU for which this build has
    /// a decoder, else the CPU.
    std::string device = "auto";
    std::shared_ptr<accel::Device> accelerator{};  ///< one that is open already; instead of `device`
    /// Log, allocator of large host buffers, and memory budget. A device that is open already keeps its log and
    /// allocator, but takes a budget that is given here.
    accel::DeviceHooks hooks{};
    vae::ModelOptions model{};
    vae::CheckpointChoices checkpoint{};  ///< of open() by a name
    /// Frames may be images of this device: the application stays its owner, and all of it outlives the session and its
    /// streams.
    std::optional<vulkan::ApplicationVulkan> vulkan{};
    const vulkan::Display* display = nullptr;  ///< or of this one, which outlives the session and its streams
    profile::Recorder* recorder = nullptr;     ///< of every pass; outlives the session and its streams
    /// open() measures the device's peak rates for the recorder, which takes a tenth of a second.
    bool measure_ceiling = false;
    /// Counts the device's clocks, power and memory in the recorder, four times a second on a thread of its own.
    bool watch_device = false;
    CallLimits limits{};  ///< of open(): reading and checking the checkpoint, opening the device
};

/// Opens a device by name, as in SessionOptions::device. "auto" logs the devices that it has not taken, and why. A
/// device that computes through Vulkan, if `name` gives it no number, is `display` itself, which then outlives the
/// result; where it was not made for that, a log's warning says what it lacks, and another VkDevice is opened. Errors:
/// those of accel::open, naming the lane.
Result<std::unique_ptr<accel::Device>> open_device(const std::string& name, const accel::DeviceHooks& hooks = {},
                                                   const vulkan::Display* display = nullptr);

/// Thread-safe. All streams share the weights, which are on the device once. Streams may outlive the session.
///
///   auto session = Session::open("vae.safetensors");
///   auto stream = (*session)->decode("clip.safetensors");
///   while (auto frame = (*stream)->take(std::chrono::seconds(1))) ...
class Session {
  public:
    /// Errors: those of open_device; of vae::Checkpoint::open and vae::Model::create; of vulkan::Device::adopt;
    /// OutOfMemory (a budget below what the smallest picture takes); Cancelled.
    static Result<std::unique_ptr<Session>> open(const std::string& weights, const SessionOptions& options = {});
    /// The same with a checkpoint that is open already, whatever it came from.
    static Result<std::unique_ptr<Session>> open(const vae::Checkpoint& checkpoint, const SessionOptions& options = {});
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();

    /// Decodes a clip ahead of its reader, on a thread of its own; the device's log gets the notes about a file.
    /// Without a recorder of their own, streams have the session's. Errors: those of vae::Latents::open;
    /// InvalidArgument (a clip that the checkpoint does not take); OutOfMemory, stating what is needed; Unsupported
    /// (images, and frames cannot reach a Vulkan device, or there is none); Cancelled.
    Result<std::unique_ptr<stream::FrameSource>> decode(const std::filesystem::path& latents,
                                                        const vae::StepOptions& options = {}) const;
    Result<std::unique_ptr<stream::FrameSource>> decode(const vae::Latents& clip,
                                                        const vae::StepOptions& options = {}) const;
    /// The frames of latents of that size, which the application pushes as they are made.
    Result<stream::PushedSource> decode(vae::LatentSize size, const vae::StepOptions& options = {}) const;
    /// What decode() of that size would take now, to the byte: `state()` of the device is a clip's own. Errors: those
    /// of vae::Model::declared_memory.
    Result<vae::StackMemory> declared_memory(vae::LatentSize size, const vae::StepOptions& options = {}) const;
    /// Whether a further stream of that size and `fps` fits beside those that share (share()), in bytes and in seconds
    /// of the device a second; with StepOptions::only_if_fits decode() refuses one that does not. Errors: those of
    /// vae::Model::plan.
    Result<vae::Admission> admission(vae::LatentSize size, const vae::StepOptions& options = {}) const;
    /// The figures of the streams that share (share()) as text for Prometheus (metrics_text).
    std::string metrics() const;
    /// A second stream that continues where `clip` is once the latents that it was given are decoded; both go on
    /// independently. Nothing if `timeout` passes before. Errors: those of decode() and
    /// stream::LatentQueue::branch_to.
    Result<std::optional<stream::PushedSource>> fork(stream::LatentQueue& clip, vae::LatentSize size,
                                                     const vae::StepOptions& options, Nanoseconds timeout) const;
    /// The frames of a feed's latents, which the stream's thread decodes. Errors: also those of the feed.
    Result<std::unique_ptr<stream::FrameSource>> decode(const stream::FeedPlan& feed, vae::LatentSize size,
                                                        const vae::StepOptions& options) const;

    /// Takes pictures of that size, as they are made, and gives their latents: those that decode() of this session
    /// reads, normalised unless ModelOptions::latents is Raw. The first call of each kind, a clip or
    /// EncoderOptions::one_picture, reads the checkpoint's encoder. Errors: those of vae::create_encoder and
    /// stream::Encoder::create; OutOfMemory, stating what is needed.
    Result<std::unique_ptr<stream::Encoder>> encode(stream::PictureSize size,
                                                    const stream::EncoderOptions& options = {}) const;
    /// Takes latents of that size and gives those of their frames, which do not leave the device: what decode() of
    /// frames of floats and encode() of these make, to the bit, and both latents are of one kind. Streaming state is
    /// kept on both sides; include <kinetograph/compute/stream/reencoder.hpp>. Errors: those of vae::create_encoder and
    /// stream::Reencoder::create; Unsupported (a family whose normalised latents have patches as channels);
    /// OutOfMemory, stating what is needed.
    Result<std::unique_ptr<stream::Reencoder>> reencode(vae::LatentSize size,
                                                        const stream::ReencoderOptions& options = {}) const;
    /// Whether the checkpoint has an encoder for whose convolutions the device has methods. Reads no values.
    bool can_encode() const;
    /// What encode() runs.
    Result<std::shared_ptr<vae::Model>> encoder(vae::Pictures pictures, const CallLimits& limits = {}) const;

    /// For StepOptions::share: what streams of this session share that are given it. Memory, queue and order are one;
    /// none of it waits for a reader or for who makes latents.
    const std::shared_ptr<vae::RunnerShare>& share() const { return share_; }
    accel::Device& device() const { return *device_; }
    const std::shared_ptr<vae::Model>& model() const { return model_; }
    const vae::LatentsWanted& wanted() const { return wanted_; }  ///< how files of latents are read for the model
    /// "wan_2.1_vae.safetensors · bf16 · NVIDIA H200"
    const std::string& description() const { return description_; }

  private:
    class Encoders;
    Session();
    void record_ceiling() const;
    Result<std::shared_ptr<interop::Bridge>> connect(interop::FrameStorage storage) const;
    vae::StepOptions complete(vae::StepOptions options) const;

    std::string description_, family_;
    std::shared_ptr<const vulkan::Display> display_;  ///< null without Vulkan
    std::shared_ptr<accel::Device> device_;
    std::shared_ptr<vae::Model> model_;
    std::unique_ptr<Encoders> encoders_;
    vae::LatentsWanted wanted_;
    std::shared_ptr<vae::RunnerShare> share_;
    profile::Recorder* recorder_ = nullptr;
    std::unique_ptr<accel::DeviceWatch> watch_;  ///< null unless SessionOptions::watch_device
};

}  // namespace kinetograph::session
