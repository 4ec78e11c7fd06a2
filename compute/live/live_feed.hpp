// LiveFeed: latents that arrive as a generator makes them.
#pragma once

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/live/input.hpp>
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/engine/profile/rate_meter.hpp>

#include <thread>

namespace kinetograph::live {

struct LiveStats {
    std::uint64_t received = 0;  ///< latent frames
    std::size_t queued = 0;      ///< of them, not yet given to the decoder
    double generator_fps = 0.0;  ///< frames of video a second at which latents arrive; falls while none arrive
    bool has_ended = false;      ///< the generator has sent the stream's end
    bool at_reset = false;       ///< a reset has come, and begin_next_clip() has not been called since
};

/// What becomes of the frames of latents that came before a reset.
enum class Resets : std::uint8_t {
    Drop,  ///< those that were not taken are dropped: the next clip begins at once
    Keep,  ///< the source gives all of them and is finished; LiveFeed::begin_next_clip() begins the next clip
};

/// Reads on a thread of its own, as long as a StepLoop takes the latents. Latent frames that the decoder has no room
/// for yet wait in a queue of kQueued; when it is full, nothing is read, so that the generator's writes block. Over a
/// socket the generator is granted only as many latent frames as there is room for: it waits instead of filling the
/// socket, so that a reset is read at once.
class LiveFeed final : public stream::LatentQueue {
  public:
    static constexpr std::size_t kQueued = 4;  ///< latent frames

    /// Errors: those of LatentQueue::create.
    static Result<std::shared_ptr<LiveFeed>> create(const session::Session& session, Incoming incoming, Resets resets);

    LiveStats live() const;
    /// With Resets::Keep, once the source is finished and live().at_reset: the clip that the reset has announced.
    void begin_next_clip();
    bool is_live() const override { return true; }
    Result<stream::Fed> next(std::int64_t most) override;
    void attach(stream::StepLoop* loop) override;
    void refuse(const Error& reason) override;

  private:
    LiveFeed(const session::Session& session, Incoming incoming, Resets resets)
        : incoming_(std::move(incoming)), resets_(resets), wanted_(session.wanted()), log_(session.device().log()) {}
    void read();
    Result<bool> take_in(Item item);
    bool wait_for_next_clip();
    Result<void> push_all(const LatentValues& latent);
    void fail_with(Error error);
    void grant();
    void hang_up(const std::string& sentence);

    const Incoming incoming_;
    const Resets resets_;
    const vae::LatentsWanted wanted_;  ///< by the checkpoint
    const Log log_;
    double frames_of_a_latent_ = 1;
    mutable Mutex live_mutex_;
    Condition changed_;                                  ///< of the next two
    bool at_reset_ KG_GUARDED_BY(live_mutex_) = false;   ///< the reader waits for begin_next_clip()
    bool is_over_ KG_GUARDED_BY(live_mutex_) = false;    ///< nothing more is decoded
    bool is_read_ KG_GUARDED_BY(live_mutex_) = false;    ///< to the stream's end, or to an error
    bool has_ended_ KG_GUARDED_BY(live_mutex_) = false;  ///< the generator has sent the stream's end
    std::uint64_t received_ KG_GUARDED_BY(live_mutex_) = 0;
    profile::RateMeter arrivals_ KG_GUARDED_BY(live_mutex_);
    std::thread reader_;
};

/// The frames of a generator's latents, and the feed they come from.
struct LiveSource {
    std::unique_ptr<stream::FrameSource> frames;
    std::shared_ptr<LiveFeed> feed;
};

/// Begins to decode what comes. take() gives the frames of everything that came before an end or an error, then nothing
/// or the Error; restart() drops the frames that are complete, to catch up; set_loop() has no effect. `family` is the
/// checkpoint's; `options.fps` 0 is the generator's, and `options.loop` is ignored. Errors: InvalidArgument (latents of
/// another family, channels), those of session::Session::decode: the caller tries again, or refuses the feed.
Result<LiveSource> decode(const session::Session& session, const families::Family& family, const Incoming& incoming,
                          const vae::StepOptions& options = {}, Resets resets = Resets::Drop);

}  // namespace kinetograph::live
