// Frame: one frame of a clip while the viewer keeps it, its pixels where the decoder has left them.
#pragma once

#include <kinetograph/engine/interop/frame_record.hpp>

#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace kinetograph::viewer {

/// [height, width, 4] 8-bit RGBA in memory of the host, sRGB-encoded, alpha 255: uploaded before it is drawn.
using HostPixels = std::vector<std::uint8_t>;

/// An image of the device that draws, on loan from the decoder that writes it: drawn in place. It goes back when this
/// is destroyed, and is written again once the last picture made of it is done.
class LentImage {
  public:
    using GiveBack = std::function<void(const interop::FrameRecord& record, const interop::TimelinePoint& drawn)>;
    LentImage(interop::FrameRecord record, GiveBack give_back)
        : record_(std::move(record)), give_back_(std::move(give_back)) {}
    LentImage(const LentImage&) = delete;
    LentImage& operator=(const LentImage&) = delete;
    ~LentImage() { give_back_(record_, drawn_); }

    /// In the layout of samplers; its contents are complete at ready(), for which whoever draws waits on the device.
    const vulkan::Image& image() const { return *record_.image; }
    const interop::TimelinePoint& ready() const { return record_.ready; }
    /// A picture was submitted that reads the image until `done`, later than those before it.
    void drawn_until(const interop::TimelinePoint& done) { drawn_ = done; }

  private:
    interop::FrameRecord record_;
    GiveBack give_back_;
    interop::TimelinePoint drawn_;  ///< nothing: it was never drawn
};

struct Frame {
    std::int64_t index = 0;              ///< in the clip, from 0
    std::int64_t width = 0, height = 0;  ///< pixels
    Nanoseconds presentation_time{};     ///< from the clip's start
    Nanoseconds decoded_at{};            ///< host axis
    bool is_finite = true;               ///< false: its step made infinities or NaN, which are black
    std::variant<HostPixels, std::shared_ptr<LentImage>> pixels;
};

}  // namespace kinetograph::viewer
