// QueuedClip: a vae::DecodeQueue as the viewer plays it: pixels come to the host, and are uploaded to be drawn.
#pragma once

#include <kinetograph/compute/vae/decode_queue.hpp>
#include <kinetograph/samples/viewer/decoding_clip.hpp>

namespace kinetograph::viewer {

class QueuedClip final : public DecodingClip {
  public:
    explicit QueuedClip(std::unique_ptr<vae::DecodeQueue> queue, Route route = {});
    Result<std::optional<Frame>> try_take() override;
    void restart() override { queue_->restart(); }
    void set_loop(bool loop) override { queue_->set_loop(loop); }
    ClipStats stats() override;
    const ClipFacts& facts() const override { return facts_; }

  private:
    std::unique_ptr<vae::DecodeQueue> queue_;
    ClipFacts facts_;
};

}  // namespace kinetograph::viewer
