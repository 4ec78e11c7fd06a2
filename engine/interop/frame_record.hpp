// FrameRecord: one finished frame as it is handed out.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/graph/handles.hpp>
#include <kinetograph/engine/interop/frame_storage.hpp>
#include <kinetograph/engine/interop/timeline_point.hpp>
#include <kinetograph/engine/profile/plan_book.hpp>

#include <span>

namespace kinetograph::vulkan {
class Image;
}

namespace kinetograph::interop {

class SharedBuffer;

/// How the three numbers of a pixel are to be read.
struct ColorDescription {
    enum class Primaries : std::uint8_t { Bt709, Bt2020 };
    enum class Transfer : std::uint8_t {
        Srgb,    ///< encoded for display, though the format may say Unorm: sample it as it is
        Linear,  ///< proportional to light
    };
    Primaries primaries = Primaries::Bt709;
    Transfer transfer = Transfer::Srgb;
    friend bool operator==(const ColorDescription&, const ColorDescription&) = default;
};

/// What a frame is, beside its pixels.
struct FrameLabel {
    std::int64_t index = 0;           ///< in the clip, from 0
    Nanoseconds presentation_time{};  ///< from the clip's start
    std::uint64_t step = 0;           ///< the writer's step that made the frame, as the writer counts
    profile::StepKey made_by{};       ///< the same step as the recorder of its passes knows it; empty without one
};

/// A frame that its reader holds, from FrameRing::take() until it goes back to FrameRing::release(). An image, a buffer
/// of rows, or rows in the host's memory; contents may be read once `ready` is reached, on the device or on the host.
struct FrameRecord {
    const vulkan::Image* image = nullptr;  ///< with its view; null in a ring of buffers
    /// The image's VkImageLayout from `ready` on. The reader may leave the image in any layout: the next writer
    /// discards the contents.
    std::uint32_t layout = 0;
    const SharedBuffer* buffer = nullptr;  ///< with its device address; null in a ring of images
    std::span<const std::byte> host;       ///< the rows; none in a ring of images or buffers
    std::uint64_t row_bytes = 0;           ///< distance between rows of the buffer or of the host's memory
    std::uint32_t width = 0, height = 0;   ///< pixels
    graph::PixelFormat format = graph::PixelFormat::Rgba8Unorm;
    ColorDescription color;

    TimelinePoint ready;
    FrameLabel label;
    bool is_finite = true;         ///< false: the step made infinities or NaN; set only for frames complete when taken
    std::uint64_t generation = 0;  ///< grows with FrameRing::restart()

    std::uint32_t slot = 0;    ///< of the ring
    std::uint64_t serial = 0;  ///< of this use of the slot: a record is good for one release
};

}  // namespace kinetograph::interop
