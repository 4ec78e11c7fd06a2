// PresentedDecode: steps as an application runs them, with latents on the accelerator and frames drawn by Vulkan, and
// their cost beyond the decoder's own passes.
#pragma once

#include <kinetograph/compute/stream/stepper.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/step_latents.hpp>

#include <functional>
#include <optional>

namespace kinetograph::cli {

struct PresentedTimes {
    Samples period;       ///< from the end of one step's last picture to that of the next
    Samples host;         ///< host time to enqueue a step and the drawing of its frames
    Samples host_decode;  ///< of that, enqueuing the step alone
};

/// Figures that must not grow or drift with the number of steps.
struct PresentedState {
    std::uint64_t accelerator_bytes = 0;  ///< held of the accelerator's memory
    std::uint64_t vulkan_bytes = 0;       ///< held of Vulkan's
    std::uint64_t resident_bytes = 0;     ///< of this process in the host's memory
    std::uint64_t steps = 0;
    std::uint64_t frames = 0;         ///< expected from the steps so far
    std::uint64_t published = 0;      ///< handed out by the ring
    std::uint64_t decoder_value = 0;  ///< of the decoding lane's timeline
    std::uint64_t picture_value = 0;  ///< of the drawing lane's timeline: one a picture
};

struct PresentedOptions {
    profile::Recorder* passes = nullptr;                ///< of the decoder's passes and copies; outlives the decoder
    profile::Recorder* recorder = nullptr;              ///< of the pictures' passes; outlives the decoder
    graph::Lane copy_lane = graph::Lane::AsyncCompute;  ///< whose queue copies frames to images
    vae::Copies copies = vae::Copies::Ahead;
    /// If no lane's timeline advances for this long, run() fails and describes the lanes.
    Nanoseconds patience = graph::kWorkPatience;
    /// Called for every picture after its frame was drawn; may declare passes that draw over it. Returns the result.
    std::function<graph::Image(graph::FrameGraph&, graph::Image)> draw_over{};
};

class PresentedDecode {
  public:
    /// `bridge` is not headless, is of the model's device, and must outlive this. Errors: those of
    /// stream::Stepper::create, and Vulkan.
    static Result<std::unique_ptr<PresentedDecode>> create(interop::Bridge& bridge,
                                                           const std::shared_ptr<vae::Model>& model,
                                                           vae::LatentSize size, const PresentedOptions& options = {});
    PresentedDecode(const PresentedDecode&) = delete;
    PresentedDecode& operator=(const PresentedDecode&) = delete;
    ~PresentedDecode();

    /// `count` steps, two in flight: each is enqueued, its frames are drawn to an image of their size and returned.
    /// Errors: of the decoder and the lanes; DeviceLost after PresentedOptions::patience.
    Result<PresentedTimes> run(std::int64_t count);
    /// Call it between runs.
    PresentedState state() const;
    const vae::Clip& clip() const { return ring_->clip(); }

  private:
    PresentedDecode(interop::Bridge& bridge, const PresentedOptions& options) : bridge_(bridge), options_(options) {}
    Result<void> make(const std::shared_ptr<vae::Model>& model, vae::LatentSize size);
    Result<void> make_drawing(vae::StepFrames size);
    Result<void> enqueue_step();
    Result<graph::Execution> draw_frames();
    Result<graph::Execution> draw(const interop::FrameRecord& record);
    Result<void> wait_for_picture(const graph::Execution& execution);
    std::vector<graph::LaneState> lane_states() const;

    interop::Bridge& bridge_;
    PresentedOptions options_;
    std::optional<StepLatents> latents_;
    std::unique_ptr<stream::Stepper> ring_;
    std::unique_ptr<vulkan::Image> picture_;
    std::unique_ptr<vulkan::VulkanLane> drawing_;
    graph::FrameGraph frame_;
    std::unique_ptr<graph::Executor> executor_;  ///< waits for the lane above before it is destroyed
    std::uint64_t steps_ = 0;
};

}  // namespace kinetograph::cli
