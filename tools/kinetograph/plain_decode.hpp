// PlainDecode: steps of a decoder whose frames stay where it writes them, for comparison with drawing and interop.
#pragma once

#include <kinetograph/compute/vae/clip_runner.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/step_latents.hpp>

#include <map>
#include <memory>
#include <vector>

namespace kinetograph::cli {

class PlainDecode {
  public:
    /// Errors: those of vae::ClipRunner::create and vae::Clip::declare.
    /// `recorder`, of the passes, outlives the decoder.
    static Result<std::unique_ptr<PlainDecode>> create(const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                       profile::Recorder* recorder = nullptr);

    /// `count` steps, two in flight, as in PresentedDecode::run(), with 8-bit pixels that stay on the accelerator.
    /// Returns the periods between the ends of consecutive steps: two fewer than steps. Errors: of the decoder.
    Result<Samples> run(std::int64_t count);
    /// `count` steps, one in flight: the time from an event of the accelerator before each to one after it.
    Result<Samples> time_on_device(std::int64_t count);

  private:
    PlainDecode(StepLatents latents, std::unique_ptr<vae::ClipRunner> runner)
        : latents_(std::move(latents)), runner_(std::move(runner)) {}
    /// One kind of step, declared once.
    struct Step {
        graph::FrameGraph frame;
        graph::Buffer latents;
    };
    Result<void> make_frames(accel::Device& device);
    Result<Step> declare();
    Result<vae::EnqueuedStep> enqueue();

    StepLatents latents_;
    std::vector<std::unique_ptr<accel::Memory>> frames_;
    std::map<bool, Step> kinds_;               ///< [whether it is a clip's first]
    std::unique_ptr<vae::ClipRunner> runner_;  ///< waits before the memory above is freed
    std::uint64_t steps_ = 0;
};

}  // namespace kinetograph::cli
