// StreamedClip: a stream::FrameStream as the viewer plays it: frames are images of the device that draws, and no pixel
// passes through the host.
#pragma once

#include <kinetograph/compute/stream/frame_stream.hpp>
#include <kinetograph/samples/viewer/decoding_clip.hpp>

namespace kinetograph::viewer {

struct StreamedClipOptions {
    bool loop = false;
    profile::Recorder* recorder = nullptr;  ///< of the copies to images; outlives the clip
};

class StreamedClip final : public DecodingClip {
  public:
    /// Starts decoding at once. `decoder` was made for `accelerator`; both devices outlive the clip, and so does the
    /// lane that draws its frames.
    /// Errors: Unsupported (nothing that both devices reach), those of interop::Bridge and stream::FrameStream.
    static Result<std::unique_ptr<StreamedClip>> create(accel::Device& accelerator, const vulkan::Device& display,
                                                        std::unique_ptr<vae::Decoder> decoder, const vae::Latents& clip,
                                                        const StreamedClipOptions& options = {});
    /// Also waits for the pictures that are still drawn from its frames.
    ~StreamedClip() override;
    Result<std::optional<Frame>> try_take() override;
    void restart() override { stream_->restart(); }
    void set_loop(bool loop) override { stream_->set_loop(loop); }
    ClipStats stats() override;
    const ClipFacts& facts() const override { return facts_; }

  private:
    StreamedClip() = default;
    void take_back(const interop::FrameRecord& record, const interop::TimelinePoint& drawn);

    ClipFacts facts_;
    std::unique_ptr<interop::Bridge> bridge_;
    std::unique_ptr<stream::FrameStream> stream_;
    interop::TimelinePoint drawn_;  ///< of the last picture made of a frame that came back
};

}  // namespace kinetograph::viewer
