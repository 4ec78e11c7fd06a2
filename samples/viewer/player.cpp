#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/samples/viewer/player.hpp>

#include <algorithm>
#include <utility>

namespace kinetograph::viewer {
namespace {

constexpr Nanoseconds kNoteTime = std::chrono::milliseconds(1500);
constexpr Nanoseconds kErrorTime = std::chrono::seconds(8);
constexpr double kSpeedStep = 1.1, kSlowest = 0.05, kFastest = 8.0;

}  // namespace

Player::Player(ClipSource& source, bool loop, double speed) : source_(source), loop_(loop), speed_(speed) {}

Player::~Player() {
    source_.cancel();
    if (loading_.valid()) static_cast<void>(loading_.get());
    playback_.reset();
    clip_.reset();
    retired_.clear();
    source_.close();  // the device that draws may be its own
}

void Player::open(std::filesystem::path latents, Nanoseconds now) {
    waiting_since_ = now;
    next_ = std::move(latents);
    close_lost_device();
    if (loading_.valid())
        source_.cancel();  // it may wait for a generator
    else
        start_load(std::exchange(next_, std::nullopt));
}

/// Without `latents`: the source's next clip. First waits until retired clips are destroyed: a decoder measures its
/// memory as the growth of what its device holds, so no other clip may free memory meanwhile.
void Player::start_load(std::optional<std::filesystem::path> latents) {
    loading_ = std::async(std::launch::async, [this, wanted = std::move(latents), origin = origin_, loop = loop_,
                                               leaving = std::exchange(retired_, {})] {
        for (const auto& clip : leaving) clip.wait();
        const std::filesystem::path& name = wanted ? *wanted : origin;
        return Loaded{name, without_exceptions(name.string(), [&]() -> Result<std::optional<Clip>> {
                          if (!wanted) return source_.next();
                          return source_.open(name, loop);
                      })};
    });
}

/// Loads the source's next clip, if there may be one; not on a device that is lost.
void Player::follow_on() {
    const bool is_lost = failure_ && failure_->to_open_again;
    if (!loading_.valid() && !is_lost && source_.more()) start_load(std::nullopt);
}

Result<void> Player::take_over_loaded(Nanoseconds now) {
    std::erase_if(retired_, [](auto& leaving) { return leaving.wait_for(Nanoseconds{}) == std::future_status::ready; });
    if (!loading_.valid() || loading_.wait_for(Nanoseconds{}) != std::future_status::ready) return {};
    Loaded loaded = loading_.get();
    Result<void> taken;
    if (device_is_lost_ && loaded.clip) {  // on the lost device: it is opened again on the next one
        if (!next_) next_ = std::move(loaded.latents);
        if (*loaded.clip) retire(std::move((*loaded.clip)->stream));
    } else {
        taken = take_over(std::move(loaded), now);
    }
    close_lost_device();
    if (next_) start_load(std::exchange(next_, std::nullopt));
    if (!taken) follow_on();
    return taken;
}

Result<void> Player::take_over(Loaded loaded, Nanoseconds now) {
    if (!loaded.clip) {
        const Error& error = loaded.clip.error();
        if (error.code == ErrorCode::Cancelled) return {};  // in favour of a later request
        if (error.code == ErrorCode::DeviceLost || (failure_ && !source_.more()))
            lose(error, std::move(loaded.latents));
        else
            toast(error.message, true, now);
        return fail(error);
    }
    if (!*loaded.clip) return {};  // none follows
    failure_.reset();
    retire_clip();
    clip_ = std::move(**loaded.clip);
    origin_ = std::move(loaded.latents);
    latents_ = clip_->title.empty() ? origin_ : std::filesystem::path(clip_->title);
    clip_->stream->set_loop(loop_);  // the key may have been pressed meanwhile
    if (clip_->route.is_detour) toast(clip_->route.sentence, true, now);
    playback_.emplace(PlaybackOptions{.fps = clip_->stream->facts().fps, .kept = clip_->kept});
    playback_->set_speed(speed_);
    playback_->set_playing(playing_);
    return {};
}

/// Destroying a clip waits for its decoder's current step, so another thread does it.
void Player::retire_clip() {
    earlier_ = counters();
    playback_.reset();
    if (!clip_) return;
    retire(std::move(clip_->stream));
    clip_.reset();
}

void Player::retire(std::unique_ptr<stream::FrameSource> stream) {
    retired_.push_back(std::async(std::launch::async, [old = std::move(stream)]() mutable { old.reset(); }));
}

/// Closes the clip and what is left of its device, so that their memory can be used again.
void Player::lose(const Error& error, std::filesystem::path latents) {
    failure_ = Failure{error.message, std::move(latents)};
    device_is_lost_ = true;
    retire_clip();
    close_lost_device();
}

void Player::close_lost_device() {
    if (!device_is_lost_ || loading_.valid()) return;
    device_is_lost_ = false;
    auto leaving = std::exchange(retired_, {});
    retired_.push_back(std::async(std::launch::async, [this, leaving = std::move(leaving)] {
        for (const auto& clip : leaving) clip.wait();
        source_.close();
    }));
}

void Player::leave_display(const Error& loss, Nanoseconds now) {
    std::filesystem::path latents = origin_;
    source_.cancel();
    if (loading_.valid()) latents = loading_.get().latents;
    lose(loss, next_ ? *std::exchange(next_, {}) : std::move(latents));
    retired_.clear();  // waits for each
    toast(loss.message, true, now);
}

void Player::enter_display(Nanoseconds now) { restart(now); }

Result<bool> Player::advance(Nanoseconds now, Nanoseconds refresh) {
    std::erase_if(toasts_, [&](const Toast& toast) { return toast.until <= now; });
    KG_CHECK(take_over_loaded(now));
    if (!playback_) return false;
    auto moved = playback_->advance(now, refresh, [&] { return clip_->try_take(); });
    if (moved) {
        if (has_shown_all()) follow_on();
        return moved;
    }
    if (moved.error().code == ErrorCode::DeviceLost) {
        lose(moved.error(), origin_);
    } else {
        failure_ = Failure{moved.error().message};
        if (!source_.more()) playing_ = false;
        playback_->set_playing(false);
    }
    follow_on();
    return moved;
}

std::optional<Nanoseconds> Player::waiting_for_first_frame(Nanoseconds now) const {
    if (frame() != nullptr || (!clip_ && !loading())) return std::nullopt;
    return now - waiting_since_;
}

bool Player::ended() const { return has_shown_all() && !loading() && !source_.more(); }

bool Player::has_shown_all() const {
    if (!clip_ || frame() == nullptr) return false;
    const stream::SourceStats stats = clip_->stream->stats();
    return stats.finished && stats.depth == 0 && playback_->at_newest();
}

stream::SourceStats Player::decoding() const {
    if (!clip_) return {};
    clip_->stream->collect();
    return clip_->stream->stats();
}

PlaybackCounters Player::counters() const {
    PlaybackCounters sum = earlier_;
    if (!playback_) return sum;
    sum.shown += playback_->counters().shown;
    sum.late += playback_->counters().late;
    sum.dropped += playback_->counters().dropped;
    return sum;
}

void Player::set_playing(bool playing) {
    playing_ = playing;
    if (playback_) playback_->set_playing(playing);
}

void Player::change_speed(double speed, Nanoseconds now) {
    // Nine steps down and nine up must end at 1 again, not at 0.9999.
    speed_ = std::clamp(std::abs(speed - 1.0) < 0.02 ? 1.0 : speed, kSlowest, kFastest);
    if (playback_) playback_->set_speed(speed_);
    toast(fmt::format("speed {:.2f}x", speed_), false, now);
}

/// Live latents cannot be decoded again: playback moves to the newest frame, and the one on show stays until then.
void Player::restart(Nanoseconds now) {
    if (failure_ && failure_->to_open_again) return open(*failure_->to_open_again, now);
    if (!clip_) return;
    failure_.reset();
    clip_->stream->restart();
    if (clip_->live == nullptr) playback_->clear();
    set_playing(true);
}

Wishes Player::handle(Action action, Nanoseconds now) {
    switch (action) {
        case Action::PlayPause:
            if (ended() && !playing_)
                restart(now);
            else
                set_playing(!playing_);
            break;
        case Action::StepForward:
            playing_ = false;
            if (playback_) playback_->step_forward();
            break;
        case Action::StepBack:
            playing_ = false;
            if (playback_ && !playback_->step_back()) toast("no older frame is kept", false, now);
            break;
        case Action::Slower:
            change_speed(speed_ / kSpeedStep, now);
            break;
        case Action::Faster:
            change_speed(speed_ * kSpeedStep, now);
            break;
        case Action::NormalSpeed:
            change_speed(1.0, now);
            break;
        case Action::Loop:
            loop_ = !loop_;
            if (clip_) clip_->stream->set_loop(loop_);
            toast(loop_ ? "loop on" : "loop off", false, now);
            break;
        case Action::Restart:
            restart(now);
            break;
        case Action::Overlay:
            overlay_ = !overlay_;
            break;
        case Action::Panels:
            panels_ = !panels_;
            break;
        case Action::CompactHud:
            compact_hud_ = !compact_hud_;
            break;
        case Action::Help:
            help_ = !help_;
            break;
        case Action::FullScreen:
            return {.toggle_full_screen = true};
        case Action::LeaveFullScreen:
            return {.leave_full_screen = true};
        case Action::Screenshot:
            return {.screenshot = true};
        case Action::Quit:
            return {.quit = true};
    }
    return {};
}

void Player::toast(std::string text, bool is_error, Nanoseconds now) {
    std::erase_if(toasts_, [&](const Toast& toast) { return !toast.is_error || toast.text == text; });
    toasts_.push_back({std::move(text), is_error, now + (is_error ? kErrorTime : kNoteTime)});
}

}  // namespace kinetograph::viewer
