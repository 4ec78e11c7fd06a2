#include <kinetograph/samples/viewer/viewer.hpp>

#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/engine/profile/rate_meter.hpp>
#include <kinetograph/engine/profile/report.hpp>
#include <kinetograph/engine/profile/trace.hpp>
#include <kinetograph/engine/ui/compact_hud.hpp>
#include <kinetograph/engine/ui/panel.hpp>
#include <kinetograph/engine/ui/profiler_overlay.hpp>
#include <kinetograph/engine/vulkan/clock.hpp>
#include <kinetograph/engine/vulkan/memory_pool.hpp>
#include <kinetograph/samples/viewer/heap_uses.hpp>
#include <kinetograph/samples/viewer/hud.hpp>
#include <kinetograph/samples/viewer/player.hpp>
#include <kinetograph/samples/viewer/stage.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <thread>
#include <utility>

namespace kinetograph::viewer {
namespace {

constexpr Nanoseconds kNap = std::chrono::milliseconds(2);  // headless, until the decoder has a frame
constexpr Nanoseconds kMinimisedNap = std::chrono::milliseconds(50);
constexpr Nanoseconds kMemoryRefresh = std::chrono::milliseconds(250);  // querying the driver is slow
constexpr Nanoseconds kIdleRefresh = std::chrono::milliseconds(66);     // of unchanged pictures that the CPU draws

class Viewer {
  public:
    Viewer(const ViewerOptions& options, ClipSource& source, profile::Recorder& recorder)
        : options_(options),
          recorder_(recorder),
          source_(source),
          player_(source, options.loop, options.speed),
          profile_(recorder) {}

    Result<ViewerSummary> run();

  private:
    Result<bool> turn();  // one picture; false: it is time to end
    Result<bool> handle_events();
    Result<bool> move_on(Nanoseconds now);
    Result<void> replace_display(const Error& loss, Nanoseconds now);
    Result<void> show(Nanoseconds now, bool is_new_frame);
    Result<void> hand_out(const Stage::Shown& shown, bool is_new_frame, Nanoseconds now);
    Error keep_picture(Error error) const;
    Error end_without_display();
    Result<void> draw_once_more();
    void save_screenshot(const present::Picture& picture, Nanoseconds now);
    void pace(Nanoseconds turn_began);
    bool may_idle(Nanoseconds now) const;
    bool is_over() const;
    void draw_interface(Nanoseconds now, bool is_kept);
    void draw_profiler(Nanoseconds now, bool is_kept, const stream::SourceStats& decoding, float room);
    void profile_screen();
    void profile_frame(Nanoseconds began, const Stage::Shown& shown);
    void tell_memory(Nanoseconds now);
    std::vector<profile::MemoryUse> memory_uses() const;
    void tell_live(Nanoseconds now);
    ui::OverlayFigures figures(Nanoseconds now, const stream::SourceStats& decoding) const;
    std::optional<PixelPosition> position_under_cursor() const;
    void update_title(Nanoseconds now);
    Nanoseconds refresh() const { return Nanoseconds(static_cast<std::int64_t>(1e9 / stage_->refresh_rate())); }
    Nanoseconds playback_now(Nanoseconds now) const { return options_.headless ? virtual_now_ : now; }
    profile::TraceFacts facts() const;
    Result<ViewerSummary> finish();

    const ViewerOptions& options_;
    profile::Recorder& recorder_;
    ClipSource& source_;
    std::unique_ptr<Stage> stage_;  // before the player, whose frames may be images of its device
    Player player_;
    profile::Profile profile_;
    ui::PanelHost panels_ = ui::PanelHost::with_all_panels();
    std::array<float, 3> arranged_{};  // width and height of the room that the panels fill, and the scale
    std::optional<profile::LineSink> live_;
    Nanoseconds told_{};  // when its newest line was written
    Nanoseconds memory_told_{};
    std::optional<std::int64_t> profiled_;  // newest frame of the clip that the profile knows
    struct OnItsWay {
        std::uint64_t execution = 0;
        std::int64_t frame = 0;
    };
    std::deque<OnItsWay> on_their_way_;  // frames that were presented, until they are on the screen
    std::uint64_t late_before_ = 0;
    profile::RateMeter rate_;
    Nanoseconds started_{}, last_turn_{}, first_frame_{}, virtual_now_{};
    Nanoseconds frame_age_{};
    std::uint64_t frames_not_finite_ = 0;
    std::string title_;
    bool screenshot_wanted_ = false;
    bool had_events_ = false;
    bool display_has_shown_ = false;  ///< since it was opened
    std::optional<present::Picture> last_picture_;
};

Result<ViewerSummary> Viewer::run() {
    started_ = last_turn_ = host_now();
    KG_TRY(stage_, Stage::create(options_, recorder_));
    source_.draw_on(stage_->device());
    player_.set_overlay(options_.overlay);
    player_.set_panels(options_.panels);
    if (!options_.statistics.empty()) {
        KG_TRY(auto live, profile::LineSink::open(options_.statistics));
        live_.emplace(std::move(live));
    }
    player_.open(options_.latents, started_);
    for (;;) {
        const auto goes_on = turn();
        if (!goes_on && stage_->find_display_lost()) return fail(end_without_display());
        if (!goes_on) return fail(keep_picture(goes_on.error()));
        if (!*goes_on) return finish();
    }
}

/// The Error that ends a run, after the screenshot that was asked for is written.
Error Viewer::keep_picture(Error error) const {
    if (options_.screenshot.empty() || !last_picture_) return error;
    const auto written = present::write_png(options_.screenshot, last_picture_->view());
    error.message += written ? fmt::format("; {} is the last picture before that", options_.screenshot.string())
                             : "; " + written.error().message;
    return error;
}

/// The Error that ends a run whose X server has gone, after the screenshot and the trace are written.
Error Viewer::end_without_display() {
    Error error{ErrorCode::NotFound, "the display is gone: the X server has closed its connection"};
    if (!options_.screenshot.empty()) {
        const auto drawn = draw_once_more();
        if (!drawn) error.message += "; there is no last picture: " + drawn.error().message;
        error = keep_picture(std::move(error));
    }
    if (options_.trace.empty()) return error;
    const auto written = profile::write_chrome_trace(options_.trace, recorder_, facts());
    error.message +=
        written ? fmt::format("; {} is the trace until then", options_.trace.string()) : "; " + written.error().message;
    return error;
}

/// The picture of the current frame, in memory.
Result<void> Viewer::draw_once_more() {
    KG_CHECK(stage_->leave_window());
    arranged_ = {};  // the interface begins anew
    const Nanoseconds now = host_now();
    KG_TRY(auto shown, stage_->show({.subject = {player_.frame(), {}},
                                     .interface = [&] { draw_interface(now, true); },
                                     .since_last = now - last_turn_,
                                     .read_back = true}));
    last_picture_ = std::move(shown.picture);
    return {};
}

Result<bool> Viewer::turn() {
    const Nanoseconds now = host_now();
    if (auto goes_on = handle_events(); !goes_on || !*goes_on) return goes_on;
    KG_TRY(const bool is_new, move_on(now));
    // Offscreen there is nothing to watch while nothing changes: one picture a frame of the clip, however long that
    // takes to decode.
    if (options_.headless && !is_new) {
        if (player_.ended()) return false;
        if (player_.starving() || player_.frame() == nullptr) std::this_thread::sleep_for(kNap);
        return true;
    }
    if (!is_new && !had_events_ && may_idle(now)) {
        pace(now);
        return true;
    }
    KG_CHECK(show(now, is_new));
    last_turn_ = now;
    if (is_over()) return false;
    pace(now);
    return true;
}

Result<bool> Viewer::handle_events() {
    present::Window* window = stage_->window();
    if (window == nullptr) return true;
    const Nanoseconds now = host_now();
    const std::vector<present::Event> events = window->poll();
    if (window->is_lost()) return fail(ErrorCode::NotFound, "the display is gone");
    had_events_ = !events.empty();
    for (const present::Event& event : events) {
        if (std::holds_alternative<present::CloseEvent>(event)) return false;
        if (const auto* drop = std::get_if<present::DropEvent>(&event); drop != nullptr && !drop->paths.empty())
            player_.open(drop->paths.front(), now);
        stage_->interface().feed(event);
        const auto* key = std::get_if<present::KeyEvent>(&event);
        if (stage_->interface().takes_keys()) continue;
        const auto action = key != nullptr ? action_for(*key) : std::nullopt;
        if (!action) continue;
        const Wishes wishes = player_.handle(*action, now);
        if (wishes.quit) return false;
        if (wishes.toggle_full_screen) window->set_full_screen(!window->is_full_screen());
        if (wishes.leave_full_screen) window->set_full_screen(false);
        screenshot_wanted_ = screenshot_wanted_ || wishes.screenshot;
    }
    return true;
}

/// Where the CPU draws, it may also decode: unchanged pictures are drawn less often.
bool Viewer::may_idle(Nanoseconds now) const {
    return stage_->device().report().type == vulkan::to_string(VK_PHYSICAL_DEVICE_TYPE_CPU) &&
           now - last_turn_ < kIdleRefresh;
}

/// In a window, an error ends the run only if nothing is left to show or load; otherwise it is shown over the picture.
Result<bool> Viewer::move_on(Nanoseconds now) {
    // In memory the clock stops while the viewer waits for the decoder: every frame is shown, none is late.
    if (options_.headless && !player_.starving()) virtual_now_ += refresh();
    auto moved = player_.advance(playback_now(now), refresh());
    if (!moved) {
        const bool can_go_on =
            player_.frame() != nullptr || player_.loading() || (player_.failure() && player_.failure()->to_open_again);
        if (options_.headless || !can_go_on) return moved;
        return false;
    }
    if (*moved) {
        rate_.count(now);
        if (!player_.frame()->is_finite) {
            ++frames_not_finite_;
            player_.toast("the decoder makes values that are not finite", true, now);
        }
        if (first_frame_ == Nanoseconds{}) first_frame_ = now - started_;
    }
    return moved;
}

Result<void> Viewer::show(Nanoseconds now, bool is_new_frame) {
    const Frame* frame = player_.frame();
    if (frame != nullptr && is_new_frame) frame_age_ = now - frame->decoded_at;
    update_title(now);
    const bool is_last = options_.frames > 0 && player_.counters().shown >= options_.frames;
    const bool for_caller = is_new_frame && options_.on_frame;
    const bool for_file = !options_.screenshot.empty() && (options_.headless || is_last);
    Stage::Picture picture;
    picture.subject = {frame, position_under_cursor()};
    const bool is_kept = for_file || screenshot_wanted_;
    picture.interface = [&] { draw_interface(now, is_kept); };
    picture.since_last = now - last_turn_;
    picture.read_back = (for_caller || is_kept) && stage_->readable();
    auto shown = stage_->show(picture);
    if (!shown) return replace_display(shown.error(), now);
    display_has_shown_ = display_has_shown_ || shown->shown;
    if (shown->shown) profile_frame(now, *shown);
    if (shown->shown && is_new_frame) on_their_way_.push_back({shown->drawn_by.execution, frame->index});
    profile_screen();
    tell_live(now);
    if (!shown->shown) std::this_thread::sleep_for(kMinimisedNap);
    return hand_out(*shown, is_new_frame, now);
}

/// If a window's Vulkan device is lost, it goes on with a new one, unless the lost one never showed a picture.
Result<void> Viewer::replace_display(const Error& loss, Nanoseconds now) {
    if (options_.headless || loss.code != ErrorCode::DeviceLost || !display_has_shown_) return fail(loss);
    display_has_shown_ = false;
    player_.leave_display(loss, now);
    KG_CHECK_IN(loss.message + "; no other device draws", stage_->replace_device());
    arranged_ = {};  // the interface begins anew
    on_their_way_.clear();
    source_.draw_on(stage_->device());
    player_.enter_display(now);
    return {};
}

Result<void> Viewer::hand_out(const Stage::Shown& shown, bool is_new_frame, Nanoseconds now) {
    if (screenshot_wanted_ && shown.shown) {
        if (shown.picture)
            save_screenshot(*shown.picture, now);
        else
            player_.toast("this display does not let its pictures be read", true, now);
        screenshot_wanted_ = false;
    }
    if (!shown.picture) return {};
    if (is_new_frame && options_.on_frame) {
        const Frame& frame = *player_.frame();
        if (auto taken = options_.on_frame({frame.index, frame.presentation_time, *shown.picture}); !taken)
            return taken;
    }
    last_picture_ = *shown.picture;
    return {};
}

void Viewer::save_screenshot(const present::Picture& picture, Nanoseconds now) {
    const std::int64_t index = player_.frame() != nullptr ? player_.frame()->index : 0;
    std::filesystem::path path;
    for (int copy = 0; path.empty() || std::filesystem::exists(path); ++copy)
        path = options_.screenshot_folder /
               (copy == 0 ? fmt::format("{}-{:05}.png", player_.latents().stem().string(), index)
                          : fmt::format("{}-{:05}-{}.png", player_.latents().stem().string(), index, copy));
    const auto written = present::write_png(path, picture.view());
    player_.toast(written ? "saved " + path.string() : written.error().message, !written, now);
}

/// Limits the rate, because presenting to some displays, such as virtual ones, does not block.
void Viewer::pace(Nanoseconds turn_began) {
    if (options_.headless) return;
    const Nanoseconds left = refresh() * 9 / 10 - (host_now() - turn_began);
    if (left > Nanoseconds{}) std::this_thread::sleep_for(left);
}

bool Viewer::is_over() const {
    if (options_.frames > 0 && player_.counters().shown >= options_.frames) return true;
    return options_.headless && player_.ended();
}

void Viewer::draw_interface(Nanoseconds now, bool is_kept) {
    const stream::SourceStats decoding = player_.decoding();  // also for a trace, if the overlay is hidden
    recorder_.count({.name = "frames waiting"}, now, static_cast<double>(decoding.depth));
    const float room = draw_hud(player_, {.width = stage_->target().width,
                                          .height = stage_->target().height,
                                          .scale = stage_->scale(),
                                          .fonts = stage_->fonts(),
                                          .now = playback_now(now),
                                          .lag = decoding.latencies.pushed.newest,
                                          .pixel = stage_->pixel()});
    draw_profiler(now, is_kept, decoding, room);
}

/// In the uppermost `room` pixels.
void Viewer::draw_profiler(Nanoseconds now, bool is_kept, const stream::SourceStats& decoding, float room) {
    // Wide enough for several steps of a slow decoder, so that they can be compared.
    const Nanoseconds step = decoding.times.last_step;
    profile_.set_window(std::max<Nanoseconds>(3 * step, std::chrono::seconds(3)));
    const float scale = stage_->scale(), width = static_cast<float>(stage_->target().width);
    const float margin = 16 * scale, inside = 8 * scale;  // of the overlay, and of the panels, from the edges
    const bool is_profiled = player_.panels() || live_ || !options_.trace.empty();
    if (is_profiled && now - memory_told_ >= kMemoryRefresh) tell_memory(now);
    if (player_.panels() && room > 0.0F) {
        const std::array<float, 3> place{width, room, scale};
        if (std::exchange(arranged_, place) != place)
            panels_.arrange(inside, inside, width - 2 * inside, room - inside);
        return panels_.draw(profile_, now, scale);
    }
    if (is_kept)
        profile_.refresh(now);
    else
        profile_.update(now);
    const float height = room - margin;
    if (height <= 0.0F) return;
    float right = width - margin;
    if (player_.compact_hud()) {
        const float compact = std::min(ui::kCompactHudWidth * scale, right - margin);
        right -= compact;
        ui::draw_compact_hud(
            profile_,
            {.x = right, .y = margin, .width = compact, .height = height, .scale = scale, .fonts = stage_->fonts()});
        right -= inside;
    }
    if (!player_.overlay() || right <= margin) return;
    ui::draw_profiler_overlay(
        profile_, figures(now, decoding), now, stage_->fonts(),
        {.x = margin,
         .y = margin,
         .width = right - margin,
         .height = height,
         .scale = scale,
         .timeline = std::clamp<Nanoseconds>(2 * step, std::chrono::milliseconds(400), std::chrono::seconds(4))});
}

void Viewer::tell_memory(Nanoseconds now) {
    memory_told_ = now;
    std::vector<profile::MemoryUse> uses = memory_uses();
    for (const profile::MemoryUse& use : uses)
        if (use.budget > 0)
            recorder_.count({.name = use.what, .device = use.device, .unit = "MiB"}, now,
                            static_cast<double>(use.bytes) / (1 << 20));
    profile_.set_memory(std::move(uses));
}

std::vector<profile::MemoryUse> Viewer::memory_uses() const {
    std::vector<profile::MemoryUse> uses;
    if (const stream::SourceFacts* clip = player_.clip())
        uses = {{"decoder", "weights", clip->memory.parameters},
                {"decoder", "arena of a step", clip->memory.transients},
                {"decoder", "histories", clip->memory.histories},
                {"decoder", "staging and frames", clip->memory.io + clip->memory.stream}};
    const auto heaps = heap_uses(stage_->device().report().name, stage_->device().memory().heaps());
    uses.insert(uses.end(), heaps.begin(), heaps.end());
    return uses;
}

/// Reports each frame to the profiler once, when it is first presented. `began`: when that turn of the loop began.
void Viewer::profile_frame(Nanoseconds began, const Stage::Shown& shown) {
    const Frame* frame = player_.frame();
    if (frame == nullptr || profiled_ == frame->index) return;
    profiled_ = frame->index;
    const std::uint64_t late = player_.counters().late;
    const Nanoseconds presented = host_now();
    recorder_.add_frame({.index = static_cast<std::uint64_t>(frame->index),
                         .shown = presented,
                         .queued = std::max(Nanoseconds{}, began - frame->decoded_at),
                         .present = presented - began,
                         .latency = presented - frame->decoded_at,
                         .late = late > late_before_,
                         .made_by = frame->made_by,
                         .drawn_by = shown.drawn_by});
    late_before_ = late;
}

/// Notes in the profile when frames came onto the screen, by the first picture of each.
void Viewer::profile_screen() {
    profile_.set_screen_source(stage_->screen_source());
    for (const present::Target::OnScreen& picture : stage_->take_on_screen()) {
        while (!on_their_way_.empty() && on_their_way_.front().execution < picture.execution) on_their_way_.pop_front();
        if (on_their_way_.empty() || on_their_way_.front().execution > picture.execution) continue;
        recorder_.add_on_screen({static_cast<std::uint64_t>(on_their_way_.front().frame), picture.time});
    }
    if (on_their_way_.size() > profile::Pacing::kMostFrames) on_their_way_.pop_front();
}

/// If the reader of the statistics has gone, no further lines are written; the viewer goes on.
void Viewer::tell_live(Nanoseconds now) {
    if (!live_ || now - told_ < std::chrono::seconds(1)) return;
    told_ = now;
    if (auto written = live_->write(profile::to_json_line(profile_, now)); !written) {
        player_.toast(written.error().message, true, now);
        live_.reset();
    }
}

ui::OverlayFigures Viewer::figures(Nanoseconds now, const stream::SourceStats& decoding) const {
    ui::OverlayFigures figures;
    figures.title = player_.description();
    figures.hint = "P panels   H compact   ? help";
    figures.fps = rate_.rate(now);
    figures.frame_age = frame_age_;
    figures.late = player_.counters().late;
    figures.dropped = player_.counters().dropped;
    figures.queue_depth = decoding.depth;
    figures.step = decoding.times.last_step;
    const stream::SourceFacts* clip = player_.clip();
    if (clip == nullptr) return figures;
    figures.queue_capacity = clip->slots - decoding.held;
    const double step = std::chrono::duration<double>(decoding.times.average_step).count();
    if (step > 0.0) figures.real_time_factor = static_cast<double>(clip->frames_of_a_step) / clip->fps / step;
    return figures;
}

std::optional<PixelPosition> Viewer::position_under_cursor() const {
    const Frame* frame = player_.frame();
    const auto cursor = stage_->window() != nullptr ? stage_->window()->cursor() : std::nullopt;
    if (frame == nullptr || !cursor) return std::nullopt;
    const auto width = static_cast<std::uint32_t>(frame->width), height = static_cast<std::uint32_t>(frame->height);
    return pixel_at(stage_->picture_place(), width, height, cursor->x, cursor->y);
}

void Viewer::update_title(Nanoseconds now) {
    if (stage_->window() == nullptr) return;
    const auto waited = player_.waiting_for_first_frame(now);
    const std::string name =
        player_.clip() != nullptr ? player_.latents().filename().string() : options_.latents.filename().string();
    std::string title = (waited ? waiting_text(player_, *waited) : name) + " \u2013 Kinetograph";
    if (title == title_) return;
    title_ = std::move(title);
    stage_->window()->set_title(title_);
}

profile::TraceFacts Viewer::facts() const {
    return {{"decoder", player_.description()},
            {"display", stage_->device().report().name},
            {"display clock", stage_->device().clock().describe()},
            {"latents", options_.latents.filename().string()}};
}

Result<ViewerSummary> Viewer::finish() {
    if (player_.failure() && player_.failure()->to_open_again)
        return fail(ErrorCode::DeviceLost, "{}", player_.failure()->sentence);
    ViewerSummary summary;
    summary.device = stage_->device().report().name;
    summary.clock = stage_->device().clock().describe();
    summary.frames_shown = player_.counters().shown;
    summary.frames_late = player_.counters().late;
    summary.frames_dropped = player_.counters().dropped;
    summary.frames_not_finite = frames_not_finite_;
    summary.first_frame = first_frame_;
    summary.total = host_now() - started_;
    if (options_.on_end) KG_CHECK(options_.on_end());
    if (!options_.screenshot.empty()) {
        if (!last_picture_)
            return fail(ErrorCode::Unsupported, "{}: there is no picture to write", options_.screenshot.string());
        KG_CHECK(present::write_png(options_.screenshot, last_picture_->view()));
    }
    if (!options_.trace.empty()) KG_CHECK(profile::write_chrome_trace(options_.trace, recorder_, facts()));
    for (const auto& message : stage_->validation().messages())
        summary.validation_messages.push_back(message.id + ": " + message.text);
    return summary;
}

/// Fails before the run if a file that is written at its end cannot be.
Result<void> check_writable(const std::filesystem::path& path) {
    if (path.empty()) return {};
    KG_CHECK(ReplacingFile::create(path));
    return {};
}

/// No file may be both read and written, or written twice.
Result<void> check_distinct(const ViewerOptions& options) {
    const std::array<std::filesystem::path, 4> files{options.screenshot, options.trace, options.latents,
                                                     options.weights};
    for (std::size_t output = 0; output < 2; ++output)
        for (std::size_t other = output + 1; other < files.size(); ++other)
            if (!files[output].empty() && !files[other].empty() && is_same_file(files[output], files[other]))
                return fail(ErrorCode::InvalidArgument, "{} would overwrite {}", files[output].string(),
                            files[other].string());
    return {};
}

}  // namespace

Result<ViewerSummary> run(const ViewerOptions& options, ClipSource& source, profile::Recorder& recorder) {
    if (options.width == 0 || options.height == 0 || !(options.speed > 0.0))  // NaN too
        return fail(ErrorCode::InvalidArgument, "the viewer needs a size and a speed above 0, not {} x {} at {}",
                    options.width, options.height, options.speed);
    if (options.headless && options.loop && options.frames == 0)
        return fail(ErrorCode::InvalidArgument,
                    "a clip that loops without a window ends after a number of frames, and none is given");
    KG_CHECK(check_distinct(options));
    for (const auto& path : {options.screenshot, options.trace}) KG_CHECK(check_writable(path));
    return Viewer(options, source, recorder).run();
}

}  // namespace kinetograph::viewer
