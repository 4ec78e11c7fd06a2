// PlainDecode: steps of a decoder whose frames stay where it writes them, for comparison with drawing and interop.
#pragma once

#include <kinetograph/compute/vae/clip_runner.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/step_latents.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kinetograph::cli {

struct PlainOptions {
    profile::Recorder* recorder = nullptr;  ///< of the passes; outlives the decoder
    bool stamps_passes = false;             ///< records events around every pass, for time_passes()
};

class PlainDecode {
  public:
    /// Errors: those of vae::ClipRunner::create and vae::Clip::declare.
    static Result<std::unique_ptr<PlainDecode>> create(const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                       const PlainOptions& options = {});

    /// `count` steps, two in flight, as in PresentedDecode::run(), with 8-bit pixels that stay on the accelerator.
    /// Returns the periods between the ends of consecutive steps: two fewer than steps. Errors: of the decoder.
    Result<Samples> run(std::int64_t count);
    /// `count` steps, one in flight: the time from an event of the accelerator before each to one after it.
    Result<Samples> time_on_device(std::int64_t count);
    /// The same for each pass of `count` steps, by its name: the time from an event before its work to one after it.
    /// Empty without PlainOptions::stamps_passes.
    Result<std::map<std::string, Samples>> time_passes(std::int64_t count);

  private:
    PlainDecode(StepLatents latents, std::unique_ptr<vae::ClipRunner> runner, bool stamps_passes)
        : latents_(std::move(latents)), stamps_passes_(stamps_passes), runner_(std::move(runner)) {}
    struct StampedPass {
        std::string name;
        std::shared_ptr<accel::Event> begin, end;
    };
    /// One kind of step, declared once.
    struct Step {
        graph::FrameGraph frame;
        graph::Buffer latents;
        std::vector<StampedPass> passes{};  ///< none if they are not stamped
    };
    Result<void> make_frames(accel::Device& device);
    Result<Step> declare();
    Result<void> stamp_passes(Step& step);
    Result<vae::EnqueuedStep> enqueue();

    StepLatents latents_;
    bool stamps_passes_;
    std::vector<std::unique_ptr<accel::Memory>> frames_;
    std::map<bool, Step> kinds_;               ///< [is it a clip's first step]
    std::unique_ptr<vae::ClipRunner> runner_;  ///< waits before the memory above is freed
    std::uint64_t steps_ = 0;
};

}  // namespace kinetograph::cli
