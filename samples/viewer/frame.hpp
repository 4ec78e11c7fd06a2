// Frame: one frame of a clip while the viewer keeps it, its pixels where the decoder has left them.
#pragma once

#include <kinetograph/compute/stream/frame_source.hpp>

#include <cassert>
#include <memory>
#include <string>

namespace kinetograph::viewer {

/// A frame on loan from the stream that writes it: an image of the device that draws, drawn in place, or pixels in the
/// host's memory, uploaded before they are drawn. It goes back when this is destroyed, and is written again once the
/// last picture made of it is done.
class LentFrame {
  public:
    LentFrame(stream::FrameSource& stream, interop::FrameRecord record) : stream_(stream), record_(std::move(record)) {}
    LentFrame(const LentFrame&) = delete;
    LentFrame& operator=(const LentFrame&) = delete;
    ~LentFrame() {
        [[maybe_unused]] const auto released = stream_.release(record_, drawn_);
        assert(released && "a frame goes back once, to the stream that lent it");
    }

    /// Its contents are complete; the device that draws it waits for `ready` nevertheless.
    const interop::FrameRecord& record() const { return record_; }
    /// Call when a picture that reads the image until `done` was submitted; `done` is later than earlier ones.
    void drawn_until(const interop::TimelinePoint& done) { drawn_ = done; }

  private:
    stream::FrameSource& stream_;
    interop::FrameRecord record_;
    interop::TimelinePoint drawn_;  ///< nothing: it was never drawn in place
};

struct Frame {
    std::int64_t index = 0;              ///< in the clip, from 0
    std::int64_t width = 0, height = 0;  ///< pixels
    Nanoseconds presentation_time{};     ///< from the clip's start
    Nanoseconds decoded_at{};            ///< host axis
    bool is_finite = true;               ///< false: its step made infinities or NaN, which are black
    profile::StepKey made_by{};          ///< the decoder's step; none if nothing records its passes
    std::shared_ptr<LentFrame> pixels;
    std::string note{};  ///< about it, for the status bar
};

}  // namespace kinetograph::viewer
