// Player: a clip being decoded and played, and what the user did with it. Knows no GPU and no window.
#pragma once

#include <kinetograph/samples/viewer/actions.hpp>
#include <kinetograph/samples/viewer/clip.hpp>
#include <kinetograph/samples/viewer/playback.hpp>

#include <future>
#include <optional>
#include <string>
#include <vector>

namespace kinetograph::viewer {

/// A short message over the picture.
struct Toast {
    std::string text;
    bool is_error = false;
    Nanoseconds until{};
};

/// Why a clip ended early. It is shown over the picture until a clip plays again.
struct Failure {
    std::string sentence;
    std::optional<std::filesystem::path> to_open_again{};  ///< the clip, if its device was lost with it
};

/// What the user asked for that the window or the renderer does; a player has access to neither.
struct Wishes {
    bool quit = false;
    bool toggle_full_screen = false;
    bool leave_full_screen = false;
    bool screenshot = false;
};

class Player {
  public:
    Player(ClipSource& source, bool loop, double speed);
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;
    ~Player();  ///< waits for what still loads or decodes, but not for generators

    /// Loads `latents` in the background; the current clip plays on until the new one is ready, and stays if loading
    /// fails.
    void open(std::filesystem::path latents, Nanoseconds now);

    Wishes handle(Action action, Nanoseconds now);

    /// Takes over what has been loaded, and moves playback on to `now`. True if another frame is current. Where a clip
    /// is over and its source may have another one, that is loaded. Never blocks. Errors: the clip's file or generator
    /// (also kept as a toast), its decoder (also kept as failure()). A clip whose device is lost is closed together
    /// with the device; Action::Restart opens both again.
    Result<bool> advance(Nanoseconds now, Nanoseconds refresh);
    /// Call when the device that draws is lost, for the reason `loss`: waits until nothing refers to it any more.
    void leave_display(const Error& loss, Nanoseconds now);
    /// Reopens the clip that leave_display() closed; call after ClipSource::draw_on().
    void enter_display(Nanoseconds now);

    const Frame* frame() const { return playback_ ? playback_->current() : nullptr; }
    bool loading() const { return loading_.valid(); }
    std::string_view opening() const { return source_.opening(); }  ///< what is being done while loading()
    /// How long the first picture has been waited for; nothing once there is one, or while there is no clip.
    std::optional<Nanoseconds> waiting_for_first_frame(Nanoseconds now) const;
    /// True when the clip's last frame is on show and neither another frame nor another clip will come.
    bool ended() const;

    const std::filesystem::path& latents() const { return latents_; }  ///< or a live clip's title
    const live::LiveFeed* live() const { return clip_ ? clip_->live.get() : nullptr; }
    const stream::SourceFacts* clip() const { return clip_ ? &clip_->stream->facts() : nullptr; }
    /// Also hands the profiler the passes that ran since the last call.
    stream::SourceStats decoding() const;
    bool playing() const { return playing_; }
    bool looping() const { return loop_; }
    double speed() const { return speed_; }
    bool overlay() const { return overlay_; }
    void set_overlay(bool overlay) { overlay_ = overlay; }
    bool panels() const { return panels_; }  ///< the profiler's, in place of the overlay
    void set_panels(bool panels) { panels_ = panels; }
    bool compact_hud() const { return compact_hud_; }
    bool help() const { return help_; }
    /// Whether frames are decoded with the preview, while the checkpoint is being opened.
    bool previews() const { return clip_ && clip_->stream->previews(); }
    bool starving() const { return playback_ && playback_->starving(); }
    PlaybackCounters counters() const;  ///< over all clips
    std::string description() const { return source_.description(); }

    const std::optional<Failure>& failure() const { return failure_; }
    void toast(std::string text, bool is_error, Nanoseconds now);
    const std::vector<Toast>& toasts() const { return toasts_; }

  private:
    struct Loaded {
        std::filesystem::path latents;
        Result<std::optional<Clip>> clip;
    };
    Result<void> take_over_loaded(Nanoseconds now);
    Result<void> take_over(Loaded loaded, Nanoseconds now);
    void start_load(std::optional<std::filesystem::path> latents);
    void follow_on();
    bool has_shown_all() const;
    void retire_clip();
    void retire(std::unique_ptr<stream::FrameSource> stream);
    void lose(const Error& error, std::filesystem::path latents);
    void close_lost_device();
    void set_playing(bool playing);
    void change_speed(double speed, Nanoseconds now);
    void restart(Nanoseconds now);

    ClipSource& source_;
    bool loop_;
    double speed_;
    bool playing_ = true;
    bool overlay_ = true;
    bool panels_ = false;
    bool compact_hud_ = false;
    bool help_ = false;
    std::filesystem::path latents_;
    std::filesystem::path origin_;               // what it was opened as: the file, or a generator's input
    std::optional<std::filesystem::path> next_;  // requested while another was loading
    std::future<Loaded> loading_;
    Nanoseconds waiting_since_{};
    std::optional<Clip> clip_;
    std::optional<Playback> playback_;  // of frames of clip_
    PlaybackCounters earlier_;          // of clips before this one
    bool device_is_lost_ = false;       // but not closed yet
    std::optional<Failure> failure_;
    std::vector<std::future<void>> retired_;  // clips being destroyed: their last step may take a while
    std::vector<Toast> toasts_;
};

}  // namespace kinetograph::viewer
