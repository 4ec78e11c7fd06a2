// DecodingClip: a clip that is decoded ahead of display, wherever that happens and wherever its pixels lie.
#pragma once

#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/samples/viewer/frame.hpp>

#include <optional>
#include <string>

namespace kinetograph::viewer {

/// How frames come from the decoder to the device that draws, in a sentence for a person.
struct Route {
    std::string sentence;
    bool is_detour = false;  ///< through the host, where the way without a copy was wanted: the sentence says why
};

struct ClipFacts {
    double fps = 24.0;
    std::int64_t frames = 0;  ///< of video
    std::size_t kept = 8;     ///< frames that may be held at once, for stepping back
    Route route;
};

struct ClipStats {
    std::size_t depth = 0;       ///< frames that were not taken yet
    std::size_t capacity = 0;    ///< frames that there is room for at the moment
    Nanoseconds last_step{};     ///< latency of the decoder's last step
    Nanoseconds average_step{};  ///< of steps that give as many frames as any
    bool finished = false;       ///< decoded to the clip's end; never while it loops
};

/// One thread takes frames and lets go of them; all of them are gone before the clip is. Destruction takes as long as
/// the step that is being decoded.
class DecodingClip {
  public:
    virtual ~DecodingClip() = default;
    /// The next frame in order, or nothing if none is ready. Never blocks on decoding.
    /// An Error of the decoder is returned once all frames before it are taken.
    virtual Result<std::optional<Frame>> try_take() = 0;
    /// Throws away what was not taken and starts again at the clip's first frame.
    virtual void restart() = 0;
    virtual void set_loop(bool loop) = 0;
    /// Also brings what has run since the last call to the profiler.
    virtual ClipStats stats() = 0;
    virtual const ClipFacts& facts() const = 0;
};

/// Of a clip whose frames may be kept as far as `kept_bytes` hold them, at 4 bytes a pixel: 8 to 64 frames.
ClipFacts facts_of(const vae::Latents& clip, const vae::Decoder& decoder, std::uint64_t kept_bytes, Route route);

}  // namespace kinetograph::viewer
