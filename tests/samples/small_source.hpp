// SmallSource: clips of a real decoder, as small as can be, whose frames come to the viewer on either way.
#pragma once

#include <kinetograph/compute/vae/decode_queue.hpp>
#include <kinetograph/samples/viewer/clip_source.hpp>
#include <kinetograph/samples/viewer/queued_clip.hpp>
#include <kinetograph/samples/viewer/streamed_clip.hpp>
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

    void draw_on(const vulkan::Device& display) override {
        display_ = &display;
        auto device = make_device_(display);
        ASSERT_TRUE(device) << device.error().message;
        device_ = std::move(*device);
    }
    Result<std::unique_ptr<DecodingClip>> open(const std::filesystem::path& latents, bool loop) override {
        const std::int64_t width = latents == "wide" ? 2 * stream::testing::kWidth : stream::testing::kWidth;
        vae::Latents clip = stream::testing::small_clip(latent_frames_, width);
        auto decoder = stream::testing::small_decoder(*device_, width, recorder_);
        if (way_ == Way::InPlace) {
            auto streamed = StreamedClip::create(*device_, *display_, std::move(decoder), clip,
                                                 {.loop = loop, .recorder = recorder_});
            if (!streamed) return fail(std::move(streamed.error()));
            route_ = (*streamed)->facts().route.sentence;
            return std::move(*streamed);
        }
        auto queue = vae::DecodeQueue::create(std::move(decoder), std::move(clip), {.loop = loop});
        if (!queue) return fail(std::move(queue.error()));
        return std::make_unique<QueuedClip>(std::move(*queue));
    }
    std::string description() const override { return "small decoder"; }
    const std::string& route() const { return route_; }  ///< of the last clip that was opened

  private:
    Way way_;
    MakeDevice make_device_;
    std::int64_t latent_frames_;
    profile::Recorder* recorder_;
    const vulkan::Device* display_ = nullptr;
    std::unique_ptr<accel::Device> device_;
    std::string route_;
};

}  // namespace kinetograph::viewer::testing
