// InPlaceTest: the viewer with frames that are images of the device that draws, compared with uploaded frames.
#pragma once

#include "small_source.hpp"

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/samples/viewer/player.hpp>
#include <kinetograph/samples/viewer/stage.hpp>
#include <kinetograph/samples/viewer/viewer.hpp>
#include <kinetograph/tests/engine/interop/same_gpu.hpp>

#include <algorithm>
#include <thread>

namespace kinetograph::viewer::testing {

/// [frame of the clip] -> the picture that the viewer shows, RGBA.
using Pictures = std::vector<std::vector<std::uint8_t>>;

/// How a decoder on the CPU is connected to lavapipe.
struct Topology {
    std::string name;
    MakeDevice make_device;
};
inline std::ostream& operator<<(std::ostream& out, const Topology& topology) { return out << topology.name; }

inline std::vector<Topology> topologies() {
    return {
        {"staged",
         [](const vulkan::Device&) -> Result<std::unique_ptr<accel::Device>> { return accel::cpu::create_device(); }},
        {"shared", [](const vulkan::Device& display) -> Result<std::unique_ptr<accel::Device>> {
             return interop::testing::create_same_gpu(
                 {.uuid = display.report().uuid, .kind = "cpu", .imports_timelines = false});
         }}};
}

class InPlaceTest : public ::testing::Test {
  protected:
    void SetUp() override {
        options_.latents = "small";
        options_.lane = "cuda";  // only selects the validation layers that work with relays
        options_.validation = true;
        options_.headless = true;
        options_.overlay = false;
        options_.width = 96;
        options_.height = 32;
    }
    /// A whole run of the viewer: its pictures, in order.
    Pictures view(Way way) {
        Pictures pictures;
        recorder_.clear();
        options_.on_frame = [&](const PresentedFrame& frame) -> Result<void> {
            EXPECT_EQ(frame.index, static_cast<std::int64_t>(pictures.size()));
            pictures.push_back(frame.picture.rgba);
            return {};
        };
        SmallSource source(way, make_device_, latent_frames_, &recorder_);
        auto summary = viewer::run(options_, source, recorder_);
        EXPECT_TRUE(summary) << summary.error().message;
        if (!summary) return {};
        for (const std::string& message : summary->validation_messages) ADD_FAILURE() << message;
        EXPECT_EQ(summary->frames_shown, pictures.size());
        EXPECT_EQ(summary->frames_dropped, 0U);
        route_ = source.route();
        return pictures;
    }
    std::size_t spans(std::string_view name, std::string_view track) const {
        const auto spans = recorder_.spans();
        return static_cast<std::size_t>(std::count_if(spans.begin(), spans.end(), [&](const profile::Span& span) {
            return span.name == name && span.track == track;
        }));
    }
    std::int64_t frames() const { return 1 + 4 * (latent_frames_ - 1); }

    MakeDevice make_device_;
    std::int64_t latent_frames_ = 3;
    ViewerOptions options_;
    profile::Recorder recorder_;
    std::string route_;
};

/// A player and a stage, whose loop the test runs turn by turn.
class StagedPlayer {
  public:
    StagedPlayer(Way way, const MakeDevice& make_device, std::int64_t latent_frames, const ViewerOptions& options,
                 profile::Recorder& recorder, bool loop = false)
        : source_(way, make_device, latent_frames, &recorder),
          stage_(Stage::create(options, recorder).value()),
          player_(source_, loop, 1.0) {
        source_.draw_on(stage_->device());
        player_.open("small", now_);
    }
    ~StagedPlayer() {
        for (const auto& message : stage_->validation().messages()) ADD_FAILURE() << message.text;
    }
    StagedPlayer(const StagedPlayer&) = delete;
    StagedPlayer& operator=(const StagedPlayer&) = delete;

    Player& player() { return player_; }
    void press(Action action) { player_.handle(action, now_); }
    void drop(const char* latents) { player_.open(latents, now_); }
    /// From now on pictures are submitted and not waited for, as in a window.
    void run_ahead() { runs_ahead_ = true; }
    /// Plays on, one picture a turn, until `done` or half a minute has passed.
    template <class Done>
    bool play_until(Done done) {
        for (const Nanoseconds end = host_now() + std::chrono::seconds(30); host_now() < end;) {
            turn();
            if (done()) return true;
        }
        return false;
    }
    /// Draws the player's current frame; returns the picture.
    std::vector<std::uint8_t> picture(const std::optional<PixelPosition>& probe = {}) {
        Stage::Picture picture;
        picture.subject = {player_.frame(), probe};
        picture.interface = [] {};
        picture.read_back = true;
        auto shown = stage_->show(picture);
        EXPECT_TRUE(shown && shown->picture);
        return shown && shown->picture ? std::move(shown->picture->rgba) : std::vector<std::uint8_t>{};
    }
    std::int64_t index() const { return player_.frame() != nullptr ? player_.frame()->index : -1; }
    std::optional<PixelValue> pixel() { return stage_->pixel(); }

  private:
    void turn() {
        constexpr Nanoseconds kRefresh = std::chrono::milliseconds(16);
        if (!player_.starving()) now_ += kRefresh;
        const auto moved = player_.advance(now_, kRefresh);
        ASSERT_TRUE(moved) << moved.error().message;
        if (!*moved) return std::this_thread::sleep_for(std::chrono::microseconds(200));
        Stage::Picture picture;
        picture.subject.frame = player_.frame();
        picture.interface = [] {};
        picture.read_back = !runs_ahead_;
        ASSERT_TRUE(stage_->show(picture));
    }

    SmallSource source_;
    std::unique_ptr<Stage> stage_;
    Player player_;
    Nanoseconds now_ = std::chrono::seconds(1000);
    bool runs_ahead_ = false;
};

}  // namespace kinetograph::viewer::testing
