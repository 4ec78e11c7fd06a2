// PlainDecode: steps of a decoder whose frames stay where it writes them, for comparison with drawing, interop and the
// profiler.
#pragma once

#include <kinetograph/compute/vae/runner.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>
#include <kinetograph/tools/kinetograph/step_latents.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kinetograph::cli {

struct PlainOptions {
    profile::Recorder* recorder = nullptr;  ///< of the passes; outlives the decoder
    /// Records events around every step, and for the passes of one step in so many in the places where the lane of a
    /// decoder with a recorder has its stamps. 0: no events.
    std::uint64_t stamp_every = 0;
};

/// Seconds between events of the accelerator.
struct EventTimes {
    double step = 0;                       ///< of the newest step
    std::map<std::string, double> passes;  ///< by name, of the newest step whose passes have events
};

class PlainDecode {
  public:
    /// Errors: those of vae::Clip::create and declare, and of vae::Runner::create.
    static Result<std::unique_ptr<PlainDecode>> create(const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                       const PlainOptions& options = {});

    /// `count` steps, two in flight, as in PresentedDecode::run(), with 8-bit pixels that stay on the accelerator.
    /// Returns the periods between the ends of consecutive steps: two fewer than steps. Errors: of the decoder.
    Result<Samples> run(std::int64_t count);
    /// Empty before the first run() and without PlainOptions::stamp_every.
    EventTimes event_times() const;
    const accel::AcceleratorLane& lane() const { return runner_->lane(); }

  private:
    PlainDecode(StepLatents latents, std::uint64_t stamp_every)
        : latents_(std::move(latents)), stamp_every_(stamp_every) {}
    struct Stamps {
        std::shared_ptr<accel::Event> begin, end;
        std::optional<double> seconds() const;
    };
    /// One kind of step, declared once.
    struct Step {
        graph::FrameGraph frame;
        graph::Buffer latents;
        std::vector<std::pair<std::string, Stamps>> passes{};  ///< none if they are not stamped
    };
    Result<void> make_frames(accel::Device& device);
    Result<Step> declare(bool stamped);
    Result<void> stamp_passes(Step& step);
    Result<vae::EnqueuedStep> enqueue();

    StepLatents latents_;
    std::uint64_t stamp_every_;
    std::vector<std::unique_ptr<accel::Memory>> frames_;
    Stamps step_;                                  ///< around the newest step; null without stamp_every_
    std::map<std::pair<bool, bool>, Step> kinds_;  ///< [is it a clip's first step, are its passes stamped]
    const Step* stamped_ = nullptr;                ///< the newest whose passes are
    std::unique_ptr<vae::Clip> clip_;
    std::unique_ptr<vae::Runner> runner_;  ///< waits before the memory above is freed
    std::uint64_t steps_ = 0;
};

}  // namespace kinetograph::cli
