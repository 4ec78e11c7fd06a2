// LiveStream: latents that arrive as a generator makes them, decoded into a stream of frames.
#pragma once

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/live/input.hpp>
#include <kinetograph/compute/session/session.hpp>

namespace kinetograph::live {

struct LiveStats {
    std::uint64_t received = 0;  ///< latent frames
    std::size_t queued = 0;      ///< of them, not yet given to the decoder
    double generator_fps = 0.0;  ///< frames of video a second at which latents arrive; falls while none arrive
    Nanoseconds lag{};           ///< from the arrival of a latent frame to the taking of its first frame
    bool has_ended = false;      ///< the generator has sent the stream's end
};

/// Reads and decodes on threads of its own. Latent frames that the decoder has no room for yet wait in a queue of
/// kQueued; when it is full, nothing is read, so that the generator's writes block. Over a socket the generator is
/// granted only as many latent frames as there is room for: it waits instead of filling the socket, so that a reset is
/// read at once.
///
/// take() gives the frames of everything that came before an end or an error, then nothing or the Error. push() is
/// refused; restart() drops the frames that are ready, to catch up; set_loop() has no effect.
class LiveStream : public stream::FrameStream {
  public:
    static constexpr std::size_t kQueued = 4;  ///< latent frames

    /// `family` is the checkpoint's; `options.fps` 0 is the stream's own rate, and
    /// `options.loop` is ignored. Errors: InvalidArgument (latents of
    /// another family, channels), those of session::Session::decode: the caller tries again, or refuses the feed.
    static Result<std::unique_ptr<LiveStream>> create(const session::Session& session, const families::Family& family,
                                                      Incoming incoming, const session::StreamOptions& options = {});

    virtual LiveStats live() const = 0;
};

}  // namespace kinetograph::live
