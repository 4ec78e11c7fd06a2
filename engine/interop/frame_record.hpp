// FrameRecord: one finished frame as it is handed out.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/graph/handles.hpp>
#include <kinetograph/engine/interop/timeline_point.hpp>
#include <kinetograph/engine/profile/plan_book.hpp>
#ifndef KINETOGRAPH_WITHOUT_VULKAN
#include <kinetograph/engine/interop/shared_buffer.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#endif

#include <span>

namespace kinetograph::vulkan {
class Image;
}

namespace kinetograph::interop {

class SharedBuffer;

/// Where a ring's frames are.
enum class FrameStorage : std::uint8_t {
    Image,   ///< of the Vulkan device, written by passes on Vulkan lanes
    Buffer,  ///< that accelerator and Vulkan both see, written by passes on either
    Host,    ///< memory of the host's that the accelerator writes in place
};

/// How the three numbers of a pixel are to be read.
struct ColorDescription {
    enum class Primaries : std::uint8_t { Bt709, Bt2020 };
    enum class Transfer : std::uint8_t {
        Srgb,    ///< encoded for display, though the format may say Unorm: sample it as it is
        Linear,  ///< light
    };
    Primaries primaries = Primaries::Bt709;
    Transfer transfer = Transfer::Srgb;
    friend bool operator==(const ColorDescription&, const ColorDescription&) = default;
};

/// What a frame is, beside its pixels.
struct FrameLabel {
    std::int64_t index = 0;           ///< in the clip, from 0
    Nanoseconds presentation_time{};  ///< from the clip's start
    std::uint64_t step = 0;           ///< of the writer's that made it, in its own counting
    profile::StepKey made_by{};       ///< the same in the recorder of its passes; none without one
};

/// A frame that its reader holds, from FrameRing::take() until it goes back to FrameRing::release(). An image, a buffer
/// of rows, or rows in the host's memory; contents may be read once `ready` is reached, on the device or on the host.
struct FrameRecord {
    const vulkan::Image* image = nullptr;  ///< with its view; null in a ring of buffers
    /// The image's layout from `ready` on. The reader may leave it in any other: old contents are not read.
    VkImageLayout layout{};
    const SharedBuffer* buffer = nullptr;  ///< with its device address; null in a ring of images
    std::span<const std::byte> host;       ///< the rows; none in a ring of images or buffers
    std::uint64_t row_bytes = 0;           ///< from row to row of the buffer, and of the host's memory
    std::uint32_t width = 0, height = 0;   ///< pixels
    graph::PixelFormat format = graph::PixelFormat::Rgba8Unorm;
    ColorDescription color;

    TimelinePoint ready;
    FrameLabel label;
    bool is_finite = true;  ///< false: its step made infinities or NaN; known of frames that are complete when taken
    std::uint64_t generation = 0;  ///< grows with FrameRing::restart()

    std::uint32_t slot = 0;    ///< of the ring
    std::uint64_t serial = 0;  ///< of this use of the slot: a record is good for one release
};

}  // namespace kinetograph::interop
