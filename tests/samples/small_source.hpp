// SmallSource: clips of a real but minimal decoder, whose frames reach the viewer either uploaded or in place.
#pragma once

#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/samples/viewer/clip.hpp>
#include <kinetograph/tests/compute/stream/small_decoder.hpp>

#include <functional>

namespace kinetograph::viewer::testing {

enum class Way : std::uint8_t { Uploaded, InPlace };

/// An accelerator for the device that draws.
using MakeDevice = std::function<Result<std::unique_ptr<accel::Device>>(const vulkan::Device& display)>;

/// Opens "small" and "wide", which is twice as wide.
class SmallSource final : public ClipSource {
  public:
    SmallSource(Way way, MakeDevice make_device, std::int64_t latent_frames, profile::Recorder* recorder = nullptr)
        : way_(way), make_device_(std::move(make_device)), latent_frames_(latent_frames), recorder_(recorder) {}

    void draw_on(const vulkan::Display& display) override {
        display_ = &display;
        device_.reset();
    }
    Result<Clip> open(const std::filesystem::path& latents, bool loop) override {
        using Storage = interop::FrameRingDesc::Storage;
        const bool in_place = way_ == Way::InPlace;
        if (!device_) {
            KG_TRY(device_, make_device_(display_->device()));
        }
        const std::int64_t width = latents == "wide" ? 2 * stream::testing::kWidth : stream::testing::kWidth;
        KG_TRY(auto bridge, interop::Bridge::create(*device_, in_place ? display_ : nullptr));
        KG_TRY(auto model, stream::testing::create_small_model(*device_));
        Clip clip{.kept = kKept, .route = {.sentence = bridge->choice().reason}};
        KG_TRY(clip.stream, stream::StepLoop::of_clip(std::move(bridge), std::move(model),
                                                      stream::testing::small_clip(latent_frames_, width),
                                                      {.storage = in_place ? Storage::Image : Storage::Host,
                                                       .slots = kKept + 12,
                                                       .loop = loop,
                                                       .recorder = recorder_}));
        route_ = clip.route.sentence;
        return clip;
    }
    void close() override { device_.reset(); }
    std::string description() const override { return "small decoder"; }
    const std::string& route() const { return route_; }  ///< of the last clip that was opened

    static constexpr std::uint32_t kKept = 64;

  private:
    Way way_;
    MakeDevice make_device_;
    std::int64_t latent_frames_;
    profile::Recorder* recorder_;
    const vulkan::Display* display_ = nullptr;
    std::unique_ptr<accel::Device> device_;
    std::string route_;
};

}  // namespace kinetograph::viewer::testing
