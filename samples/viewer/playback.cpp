#include <kinetograph/samples/viewer/playback.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::viewer {

Nanoseconds Playback::period() const {
    return Nanoseconds(std::max<std::int64_t>(1, std::llround(1e9 / (options_.fps * speed_))));
}

/// Moves the cursor one frame on: through the ring first, then into what is newly decoded.
Result<bool> Playback::take_next(const Pull& pull) {
    if (!frames_.empty() && cursor_ + 1 < frames_.size()) {
        ++cursor_;
        return true;
    }
    KG_TRY(auto frame, pull());
    if (!frame) return false;
    frames_.push_back(std::move(*frame));
    cursor_ = frames_.size() - 1;
    trim();
    return true;
}

void Playback::trim() {
    while (frames_.size() > options_.kept) {
        frames_.pop_front();
        --cursor_;
    }
}

Result<bool> Playback::advance(Nanoseconds now, Nanoseconds refresh, const Pull& pull) {
    starving_ = false;
    if (frames_.empty() || step_pending_) return show_at_once(now, pull);
    if (!playing_) {
        anchored_ = false;
        return false;
    }
    if (!anchored_) {  // just started: the frame on show still gets its full period
        anchored_ = true;
        due_ = now + period();
        return false;
    }
    return show_due(now, refresh, pull);
}

Result<bool> Playback::show_at_once(Nanoseconds now, const Pull& pull) {
    KG_TRY(const bool moved, take_next(pull));
    starving_ = !moved;
    if (starving_) return false;
    step_pending_ = false;
    anchored_ = playing_;
    due_ = now + period();
    ++counters_.shown;
    return true;
}

Result<bool> Playback::show_due(Nanoseconds now, Nanoseconds refresh, const Pull& pull) {
    // More than one frame a refresh only if the speed asks for it; after a hitch the clock slips instead.
    const double frames_a_refresh = static_cast<double>(refresh.count()) / static_cast<double>(period().count());
    const auto most = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(frames_a_refresh - 1e-6)));
    std::uint64_t taken = 0;
    while (taken < most && due_ <= now + refresh / 2) {
        KG_TRY(const bool moved, take_next(pull));
        if (!moved) {
            starving_ = true;
            break;
        }
        ++taken;
        const bool is_late = now - due_ > refresh;
        counters_.late += is_late ? 1 : 0;
        due_ = (is_late ? now : due_) + period();
    }
    if (taken == 0) return false;
    ++counters_.shown;
    counters_.dropped += taken - 1;
    return true;
}

void Playback::step_forward() {
    playing_ = false;
    step_pending_ = true;
}

bool Playback::step_back() {
    playing_ = false;
    step_pending_ = false;
    anchored_ = false;
    if (cursor_ == 0) return false;
    --cursor_;
    return true;
}

void Playback::clear() {
    frames_.clear();
    cursor_ = 0;
    anchored_ = false;
    step_pending_ = false;
}

}  // namespace kinetograph::viewer
