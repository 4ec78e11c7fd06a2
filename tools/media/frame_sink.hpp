// FrameSink: the destination of a clip's decoded frames. An output appears under its name complete or not at all.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/tools/media/output_kind.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kinetograph::media {

/// Given to every sink before the first frame.
struct ClipFormat {
    std::int64_t width = 0, height = 0;  ///< pixels, multiples of 2
    std::int64_t frames = 0;             ///< in the whole clip; 0: not known beforehand
    double fps = 24.0;
};

/// Takes frames in order. If destroyed before finish() has succeeded, it leaves nothing (except on standard output).
class FrameSink {
  public:
    FrameSink() = default;
    FrameSink(const FrameSink&) = delete;
    FrameSink& operator=(const FrameSink&) = delete;
    virtual ~FrameSink() = default;

    /// `hwc` [height, width, 3] float32, nominal range [-1, 1]; 8-bit outputs round as nn::to_unorm8 does.
    virtual Result<void> write(std::span<const float> hwc) = 0;
    /// Completes the output and replaces an older one. Call once, after the last frame, of which there may be
    /// fewer than were announced.
    virtual Result<void> finish() = 0;
    /// The name of what finish() has written; of several pictures "frames/00000.png to frames/00016.png".
    virtual std::string written() const = 0;
};

/// Opens the output, so that an unwritable one fails before any decoding. Errors: InvalidArgument (a name of unknown
/// kind, a pattern without exactly one number), Io naming the path, Unsupported (no encoder for the kind).
Result<std::unique_ptr<FrameSink>> create_sink(std::string_view out, const ClipFormat& format);

}  // namespace kinetograph::media
