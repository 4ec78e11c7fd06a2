#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/plan_choice.hpp>
#include <kinetograph/engine/ui/pointer.hpp>
#include <kinetograph/engine/ui/selection_watch.hpp>
#include <kinetograph/engine/ui/step_marks.hpp>
#include <kinetograph/engine/ui/theme.hpp>
#include <kinetograph/engine/ui/time_view.hpp>
#include <kinetograph/engine/ui/timeline_tips.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace kinetograph::ui {
namespace {

using profile::SpanRecord;
using profile::Step;
using Track = profile::Profile::Track;

class TimelinePanel final : public Panel {
  public:
    std::string_view name() const override { return "Timeline"; }

    void draw(const PanelContext& context) override {
        take_spike(context);
        if (std::exchange(wants_step_, false)) show_newest_step(context);
        order_tracks(context);
        if (tracks_.empty()) return draw_muted_line("nothing has run yet");
        view_.set_newest(newest_);
        clocks_ = context.profile.recorder().clocks();
        draw_head(context);
        const ImVec2 at = ImGui::GetCursorScreenPos(), available = ImGui::GetContentRegionAvail();
        lay_out(context, at, available);
        ImGui::InvisibleButton("spans", {available.x, area_.height});
        is_hovered_ = ImGui::IsItemHovered();
        handle_input();
        if (watch_.has_changed(context.selection)) bring_into_view(context.selection);
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.PushClipRect(at, {at.x + available.x, at.y + area_.height}, true);
        list.AddRectFilled(at, {at.x + available.x, at.y + area_.height}, theme::kGroundSolid);
        pointed_at_ = nullptr;
        gap_.reset();
        tip_.clear();
        find_steps(context);
        view_.draw_axis(list, area_.y, area_.y + area_.height,
                        context.profile.recorder().first_begin().value_or(Nanoseconds{}), context.now);
        for (std::size_t i = 0; i < tracks_.size(); ++i) draw_label(context, list, i);
        list.PushClipRect({area_.x, area_.y}, {area_.x + area_.width, area_.y + area_.height}, true);
        draw_frames(context, list);
        draw_steps(context, list);
        for (std::size_t i = 0; i < tracks_.size(); ++i) draw_track(context, list, i);
        for (const ShownStep& shown : steps_)
            if (shown.marks != nullptr) draw_marks(context, list, shown);
        list.PopClipRect();
        list.PopClipRect();
        explain_pointed(context);
        if (pointer_.is_clicked()) select(context, pointed_at_);
    }

  private:
    struct Area {
        float x = 0, y = 0, width = 1, height = 1;
    };
    static constexpr float kLabels = 96.0F, kMostLabels = 160.0F, kTallestRow = 64.0F;
    static constexpr float kRoomForArcs = 36.0F;  // a row at least as tall has curves above its spans
    static constexpr float kMarkedStep = 24.0F, kLabelledGap = 40.0F, kElidedGap = 100.0F;  // pixels at least
    static constexpr std::size_t kStepRows = 2;

    /// Takes the spans of a step that was chosen among the kept ones: the profile may no longer have them.
    void take_spike(const PanelContext& context) {
        if (context.selection.spike == spike_) return;
        spike_ = context.selection.spike;
        spike_tracks_.clear();
        view_.follow(spike_ == nullptr);
        if (spike_ == nullptr) return;
        for (const SpanRecord& span : spike_->step.spans) {
            auto track = std::ranges::find(spike_tracks_, span.track, &Track::name);
            if (track == spike_tracks_.end()) {
                spike_tracks_.push_back({.name = span.track});
                track = std::prev(spike_tracks_.end());
            }
            track->spans.push_back(span);
        }
        view_.show(spike_->step.begin, spike_->step.end);
    }

    /// Shows the newest step whose passes were timed.
    void show_newest_step(const PanelContext& context) {
        const profile::PlanSteps* steps = choose_steps(context);
        if (steps == nullptr) return;
        const Step* newest = &steps->newest.back();
        for (const Step& step : steps->newest)
            if (step.spans.size() > 1) newest = &step;
        context.selection.spike = spike_ = nullptr;
        spike_tracks_.clear();
        view_.show(newest->begin, newest->end);
    }

    void order_tracks(const PanelContext& context) {
        tracks_.clear();
        newest_ = Nanoseconds::min();
        const auto& shown = spike_ != nullptr ? spike_tracks_ : context.profile.tracks();
        for (const Track& track : shown) {
            tracks_.push_back(&track);
            newest_ = std::max(newest_, track.spans.back().end);
        }
        std::ranges::stable_sort(tracks_, {},
                                 [&](const Track* track) { return theme::track_rank(context.text(track->name)); });
    }

    /// The axis on top, a row for every lane, and below rows of steps and of frames.
    void lay_out(const PanelContext& context, ImVec2 at, ImVec2 available) {
        const float line = ImGui::GetTextLineHeight();
        labels_ = kLabels * context.scale;
        for (const Track* track : tracks_)
            labels_ =
                std::max(labels_, std::min(width_of(context.text(track->name)) + 12, kMostLabels * context.scale));
        area_ = {at.x + labels_, at.y, std::max(available.x - labels_, 40.0F), std::max(available.y, 4 * line)};
        view_.place(area_.x, area_.width);
        lanes_ = area_.y + line + 4;
        // Of the rows below the lanes, only those that leave each lane the height of its name.
        const float below = area_.y + area_.height - lanes_ - line * static_cast<float>(tracks_.size());
        const float frames = line + 14, step = line + 2;
        has_frames_ = below >= frames;
        step_rows_ = std::min(kStepRows, static_cast<std::size_t>(std::max(0.0F, (below - frames) / step)));
        const float foot = area_.y + area_.height - static_cast<float>(step_rows_) * step - (has_frames_ ? frames : 0);
        row_ = std::clamp((foot - lanes_) / static_cast<float>(tracks_.size()), 8.0F, kTallestRow * context.scale);
        foot_ = std::min(lanes_ + row_ * static_cast<float>(tracks_.size()) + 6, std::max(foot, lanes_));
    }

    /// Whether a letter was typed while this panel has the focus. Every back end of ImGui passes on typed text, whereas
    /// key codes differ between back ends.
    static bool is_typed(char letter) {
        const ImGuiIO& io = ImGui::GetIO();
        if (io.WantTextInput || !ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows)) return false;
        return io.InputQueueCharacters.contains(static_cast<ImWchar>(letter));
    }

    void draw_head(const PanelContext& context) {
        if (ImGui::SmallButton(view_.follows() ? "following" : "follow (F)") || is_typed('F')) {
            view_.follow(true);
            context.selection.spike = nullptr;
        }
        if (ImGui::IsItemHovered())
            set_tooltip("the newest spans stay in the picture (F, while this panel has the focus)");
        go_on_beside(width_of("one step (S)") + 2 * ImGui::GetStyle().FramePadding.x);
        wants_step_ = ImGui::SmallButton("one step (S)") || is_typed('S');
        if (ImGui::IsItemHovered())
            set_tooltip("the newest complete step, as wide as the panel (S, while this panel has the focus)");
        const float least = width_of("000 ms shown");
        if (spike_ != nullptr && go_on_beside(least))
            draw_line(fmt::format("step {}, kept", spike_->step.execution), theme::kBad);
        if (go_on_beside(least))
            draw_line(fmt::format("{} shown, to {} {} now", human_time(view_.length()),
                                  human_time(std::chrono::abs(context.now - view_.end())),
                                  view_.end() <= context.now ? "before" : "after"));
        if (go_on_beside(least))
            draw_muted_line(fmt::format("clocks: {}; wheel zooms, drag pans", clocks_text(context)),
                            "the axis is the time since the first span");
    }

    /// How far off the times of each lane may be on the common axis.
    std::string clocks_text(const PanelContext& context) const {
        std::string text;
        bool has_others = false;
        for (const Track* track : tracks_) {
            const profile::TrackClock* clock = clock_of(track->name);
            has_others = has_others || clock == nullptr;
            if (clock == nullptr) continue;
            text += fmt::format("{}{} \u00b1{}", text.empty() ? "" : ", ", context.text(track->name),
                                human_time(clock->error));
        }
        if (text.empty()) return "the host's";
        return has_others ? text + ", others the host's" : text;
    }
    /// Null if the host's clock stamps the track.
    const profile::TrackClock* clock_of(profile::NameId track) const {
        const auto found = std::ranges::find(clocks_, track, &profile::TrackClock::track);
        return found != clocks_.end() ? &*found : nullptr;
    }

    void handle_input() {
        const ImGuiIO& io = ImGui::GetIO();
        pointer_.update();
        if (pointer_.is_dragged()) view_.pan(io.MouseDelta.x);
        if (is_hovered_ && io.MouseWheel != 0.0F) view_.zoom(io.MouseWheel, io.MousePos.x);
    }

    /// If no call of the selected pass is in the picture, moves its newest call to the middle, wide enough to be seen.
    void bring_into_view(const Selection& selection) {
        const SpanRecord* newest = nullptr;
        for (const Track* track : tracks_)
            for (auto span = track->spans.rbegin(); track->name == selection.track && span != track->spans.rend();
                 ++span) {
                if (span->name != selection.pass) continue;
                if (span->end > begin() && span->begin < view_.end()) return;
                if (newest == nullptr) newest = &*span;
            }
        if (newest != nullptr) view_.bring_into_view(newest->begin, newest->end);
    }

    Nanoseconds begin() const { return view_.begin(); }
    float right() const { return view_.right(); }
    float x_of(Nanoseconds time) const { return view_.x_of(time); }
    /// Upper edge of a track's spans: the curves of a selected pass are above them, the critical path is below.
    float top_of(std::size_t track) const {
        return lanes_ + static_cast<float>(track) * row_ + (row_ >= kRoomForArcs ? 12.0F : 1.0F);
    }
    float bottom_of(std::size_t track) const { return lanes_ + static_cast<float>(track + 1) * row_ - 5; }
    std::size_t row_of(profile::NameId track) const {
        return static_cast<std::size_t>(std::ranges::find(tracks_, track, &Track::name) - tracks_.begin());
    }
    bool is_pointed(float left, float top, float to_right, float bottom) const {
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        return is_hovered_ && mouse.x >= std::max(left, area_.x) && mouse.x < to_right && mouse.y >= top &&
               mouse.y < bottom;
    }

    /// The lane's name, and below it, where there is room, the error of its times.
    void draw_label(const PanelContext& context, ImDrawList& list, std::size_t index) const {
        const float left = area_.x - labels_ + 4, line = ImGui::GetTextLineHeight();
        if (index % static_cast<std::size_t>(std::ceil(line / row_)) != 0) return;  // the tooltip names the others
        const profile::TrackClock* clock = clock_of(tracks_[index]->name);
        const bool has_two = bottom_of(index) - top_of(index) >= 2 * line;
        const float y = (top_of(index) + bottom_of(index) - (has_two ? 2 : 1) * line) / 2;
        const auto draw_line = [&](float at, ImU32 color, std::string_view text) {
            list.AddText({left, at}, color, elided(text, area_.x - left - 4).c_str());
        };
        draw_line(y, theme::kText, context.text(tracks_[index]->name));
        if (has_two)
            draw_line(y + line, theme::kMuted,
                      clock != nullptr ? fmt::format("\u00b1{}", human_time(clock->error)) : "host's clock");
    }

    void find_steps(const PanelContext& context) {
        steps_.clear();
        const auto add = [&](const Step& step, std::shared_ptr<const profile::PlanFacts> plan) {
            const bool is_marked = plan != nullptr && x_of(step.end) - x_of(step.begin) >= kMarkedStep;
            const StepMarks* marks =
                is_marked ? &marks_.of(context.profile, step, *plan, spike_.get(), steps_) : nullptr;
            steps_.push_back({&step, std::move(plan), marks});
        };
        if (spike_ != nullptr) return add(spike_->step, spike_->plan);
        for (const profile::PlanSteps& steps : context.profile.steps())
            for (const Step& step : steps.newest)
                if (step.end >= begin() && step.begin <= view_.end()) add(step, context.profile.plan(step.plan));
        std::ranges::stable_sort(steps_, {}, [](const ShownStep& shown) { return shown.step->begin; });
    }

    /// A bracket below the lanes for every step; overlapping ones go to another row, if there is one.
    void draw_steps(const PanelContext& context, ImDrawList& list) {
        const float line = ImGui::GetTextLineHeight();
        std::array<float, kStepRows> reached;
        reached.fill(area_.x - 2 * area_.width);
        for (const ShownStep& shown : steps_) {
            if (shown.marks == nullptr) continue;
            const float x0 = x_of(shown.step->begin), x1 = x_of(shown.step->end);
            list.AddLine({x0, area_.y}, {x0, area_.y + area_.height}, theme::kLine);
            const auto row = std::find_if(reached.begin(), reached.begin() + static_cast<std::ptrdiff_t>(step_rows_),
                                          [&](float end) { return end <= x0; });
            if (row == reached.begin() + static_cast<std::ptrdiff_t>(step_rows_)) continue;
            *row = x1;
            const float y = foot_ + static_cast<float>(row - reached.begin()) * (line + 2);
            list.AddRectFilled({x0 + 1, y}, {x1 - 1, y + line + 1}, theme::kLine, 2.0F);
            if (is_pointed(x0, y, x1, y + line + 2)) tip_ = tip_of_step(context, *shown.step);
            const float from = std::max(x0, area_.x) + 4, room = std::min(x1, right()) - from - 4;
            const std::string brief = fmt::format("step {}", shown.step->execution);
            const std::string text = fmt::format("{}, {}", brief, human_time(shown.step->length()));
            if (width_of(brief) <= room)
                list.AddText({from, y}, theme::kText, (width_of(text) <= room ? text : brief).c_str());
        }
    }

    /// When the application showed its frames.
    void draw_frames(const PanelContext& context, ImDrawList& list) {
        if (!has_frames_) return;
        const auto& frames = context.profile.pacing().newest;
        const float bottom = area_.y + area_.height, line = ImGui::GetTextLineHeight();
        float drawn_to = area_.x;
        for (auto frame = std::ranges::lower_bound(frames, begin(), {}, &profile::FrameTimes::shown);
             frame != frames.end() && frame->shown < view_.end(); ++frame) {
            const float x = x_of(frame->shown);
            const ImU32 color = frame->late ? theme::kBad : theme::kGood;
            list.AddTriangleFilled({x - 4, bottom}, {x + 4, bottom}, {x, bottom - 7}, color);
            const std::string text = fmt::format("frame {}", frame->index);
            const float left = std::max(x - 4, area_.x), width = width_of(text);
            if (is_pointed(x - 4, bottom - 8, x + 4, bottom)) tip_ = tip_of_frame(*frame);
            if (left < drawn_to || left + width > right()) continue;
            list.AddText({left, bottom - 8 - line}, color, text.c_str());
            drawn_to = left + width + 8;
        }
    }

    void draw_track(const PanelContext& context, ImDrawList& list, std::size_t index) {
        const Track& track = *tracks_[index];
        const float top = top_of(index), bottom = bottom_of(index), middle = (top + bottom) / 2;
        const ImU32 color = theme::track_color(context.text(track.name));
        draw_gaps(list, index);
        float reached = area_.x - 2 * area_.width;  // right end of the spans so far
        const SpanRecord* before = nullptr;
        bool is_crowded = false;
        // Spans end in the order in which they begin, except those that overlap on one track.
        auto span = std::ranges::lower_bound(track.spans, begin(), {}, &SpanRecord::end);
        if (span != track.spans.begin() && span != track.spans.end()) {
            before = &*std::prev(span);
            reached = x_of(before->end);
        }
        for (; span != track.spans.end() && span->begin < view_.end();) {
            const float left = x_of(span->begin), right = std::max(x_of(span->end), left + 1.0F);
            if (before != nullptr && left - reached >= kLabelledGap &&
                (before->plan != span->plan || before->execution != span->execution) && !is_explained(*span))
                draw_gap(list, index, {track.name, before->end, span->begin, "between steps"});
            const bool is_selected = context.selection.is(span->name, span->track);
            list.AddRectFilled({left, top}, {right, bottom},
                               is_selected ? theme::kSelected
                                           : theme::faded(color, 0.80F + 0.05F * static_cast<float>(span->name % 5)));
            if (is_pointed(left, top, right, bottom)) pointed_at_ = &*span;
            const float from = std::max(left, area_.x) + 3, room = std::min(right, this->right()) - from - 3;
            if (room > 34 && bottom - top >= ImGui::GetTextLineHeight())
                list.AddText({from, middle - ImGui::GetTextLineHeight() / 2}, theme::kGroundSolid,
                             elided(context.text(span->name), room, Cut::Begin).c_str());
            reached = std::max(reached, right);
            before = &*span;
            ++span;
            // Skips spans that would be drawn into the same pixel.
            if (right - left <= 1.0F && span != track.spans.end() && x_of(span->end) < right) {
                is_crowded = true;
                const Nanoseconds next = view_.time_at(right);
                span = std::lower_bound(span, track.spans.end(), next,
                                        [](const SpanRecord& each, Nanoseconds time) { return each.end < time; });
            }
        }
        if (is_crowded && track.name == context.selection.track) draw_selected(context, list, index);
    }

    /// The calls of the selected pass among spans that are narrower than a pixel.
    void draw_selected(const PanelContext& context, ImDrawList& list, std::size_t index) const {
        const Track& track = *tracks_[index];
        float reached = area_.x - area_.width;
        for (auto span = std::ranges::lower_bound(track.spans, begin(), {}, &SpanRecord::end);
             span != track.spans.end() && span->begin < view_.end(); ++span) {
            const bool is_drawn = x_of(span->end) - x_of(span->begin) > 1.0F;
            if (is_drawn || span->name != context.selection.pass || x_of(span->begin) < reached) continue;
            reached = x_of(span->begin) + 2.0F;
            list.AddRectFilled({x_of(span->begin), top_of(index)}, {reached, bottom_of(index)}, theme::kSelected);
        }
    }

    /// Whether a step says what its first pass on a track has waited for.
    bool is_explained(const SpanRecord& span) const {
        return std::ranges::any_of(steps_, [&](const ShownStep& shown) {
            return shown.marks != nullptr && shown.step->key() == profile::StepKey{span.plan, span.execution} &&
                   std::ranges::any_of(shown.marks->gaps, [&](const profile::IdleGap& gap) {
                       return gap.track == span.track && gap.end == span.begin;
                   });
        });
    }

    /// Gaps within the steps; a gap ends where the track runs something of another plan.
    void draw_gaps(ImDrawList& list, std::size_t index) {
        const Track& track = *tracks_[index];
        for (const ShownStep& shown : steps_) {
            if (shown.marks == nullptr) continue;
            for (profile::IdleGap gap : shown.marks->gaps) {
                if (gap.track != track.name || gap.end < begin() || gap.begin > view_.end()) continue;
                const auto next = std::ranges::lower_bound(track.spans, gap.begin, {}, &SpanRecord::begin);
                if (next != track.spans.end()) gap.end = std::min(gap.end, next->begin);
                draw_gap(list, index, gap);
            }
        }
    }

    /// The gap's frame and reason, where there is room; narrower ones show the reason as a tooltip.
    void draw_gap(ImDrawList& list, std::size_t index, const profile::IdleGap& gap) {
        const float left = std::max(x_of(gap.begin), area_.x), to_right = std::min(x_of(gap.end), right());
        const float top = top_of(index), bottom = bottom_of(index), line = ImGui::GetTextLineHeight();
        if (to_right - left < kLabelledGap) return;
        if (is_pointed(left, top, to_right, bottom)) gap_ = gap;
        const float room = to_right - left - 12;
        if (bottom - top < line || room < std::min(width_of(gap.reason), kElidedGap)) return;
        list.AddRect({left + 2, top + 1}, {to_right - 2, bottom - 1}, theme::kLine, 2.0F);
        list.AddText({left + 6, (top + bottom - line) / 2}, theme::kMuted, elided(gap.reason, room).c_str());
    }

    ImVec2 begin_of(const SpanRecord& span) const { return {x_of(span.begin), middle_of(span)}; }
    ImVec2 end_of(const SpanRecord& span) const { return {x_of(span.end), middle_of(span)}; }
    float middle_of(const SpanRecord& span) const {
        const std::size_t row = row_of(span.track);
        return (top_of(row) + bottom_of(row)) / 2;
    }
    /// The middle of the span's upper edge.
    ImVec2 top_of(const SpanRecord& span) const {
        return {(x_of(span.begin) + x_of(span.end)) / 2, top_of(row_of(span.track))};
    }

    void draw_marks(const PanelContext& context, ImDrawList& list, const ShownStep& shown) {
        const Step& step = *shown.step;
        draw_critical_path(context, list, shown);
        for (const profile::HandOver& wait : shown.marks->waits) {
            const SpanRecord &from = step.spans[wait.from], &to = step.spans[wait.to];
            const ImVec2 a = end_of(from), b = begin_of(to);
            draw_arrow(list, a, b, context.selection.is(to.name, to.track) ? theme::kAccent : theme::kText);
            if (is_hovered_ && distance_to_line(ImGui::GetIO().MousePos, a, b) <= kReach)
                tip_ = tip_of_wait(context, from, to, wait.took, shown.plan->hand_over_cost);
        }
        for (const profile::StepHandOver& wait : shown.marks->from_others) {
            const SpanRecord& to = step.spans[wait.to];
            if (row_of(wait.from.track) == tracks_.size()) continue;
            const ImVec2 a = end_of(wait.from), b = begin_of(to);
            draw_arrow(list, a, b, context.selection.is(to.name, to.track) ? theme::kAccent : theme::kText);
            if (is_hovered_ && distance_to_line(ImGui::GetIO().MousePos, a, b) <= kReach)
                tip_ = fmt::format("{}, step {} of plan {}, hands over to {}: {}", context.text(wait.from.name),
                                   wait.from.execution, wait.from.plan, context.text(to.name), human_time(wait.took));
        }
        draw_dependencies(context, list, shown);
    }

    /// Spans that touch share one line.
    void draw_critical_path(const PanelContext& context, ImDrawList& list, const ShownStep& shown) {
        const Step& step = *shown.step;
        float left = 0, right = 0, y = -1, row = -1;
        profile::NameId track = 0;
        const auto draw_line = [&] {
            if (y >= 0) list.AddRectFilled({left, y - 1.5F}, {std::max(right, left + 1), y + 1.5F}, theme::kBad);
        };
        for (const std::uint32_t each : shown.marks->critical) {
            const SpanRecord& span = step.spans[each];
            if (span.end < begin() || span.begin > view_.end()) continue;
            if (std::exchange(track, span.track) != span.track) row = bottom_of(row_of(span.track)) + 2;
            const float x0 = x_of(span.begin), x1 = x_of(span.end);
            if (is_hovered_ && is_pointed(x0, row - 3, std::max(x1, x0 + 1), row + 3))
                tip_ = fmt::format(
                    "{} is on the critical path of step {}:\n{} of its {}; where it takes less, the step ends earlier",
                    context.text(span.name), step.execution, human_time(span.length()), human_time(step.length()));
            if (row == y && x0 >= left && x0 - right < 1.0F) {
                right = std::max(right, x1);
                continue;
            }
            draw_line();
            left = x0;
            right = x1;
            y = row;
        }
        draw_line();
    }

    /// Curves from what the selected pass needs, and to what needs it.
    void draw_dependencies(const PanelContext& context, ImDrawList& list, const ShownStep& shown) {
        const Step& step = *shown.step;
        const profile::PlanFacts& plan = *shown.plan;
        const std::uint32_t selected = plan.find(context.selection.pass, context.selection.track);
        if (selected == profile::kNone) return;
        const std::vector<std::uint32_t>& span_of = shown.marks->span_of_pass;
        const std::uint32_t index = span_of[selected];
        for (const profile::Dependency& each : plan.dependencies) {
            if (each.from != selected && each.to != selected) continue;
            const std::uint32_t from = span_of[each.from], to = span_of[each.to];
            if (from == profile::kNone || to == profile::kNone) continue;
            const ImVec2 a = top_of(step.spans[from]), b = top_of(step.spans[to]);
            const float rise = row_ >= kRoomForArcs ? 14.0F : 4.0F;
            const Curve curve{a, {a.x, a.y - rise}, {b.x, b.y - rise}, b};
            list.AddBezierCubic(curve.a, curve.control_a, curve.control_b, curve.b,
                                to == index ? theme::kGood : theme::kAccent, 2.0F);
            if (is_hovered_ && curve.is_near(ImGui::GetIO().MousePos)) tip_ = tip_of_dependency(context, plan, each);
        }
    }

    static void draw_arrow(ImDrawList& list, ImVec2 from, ImVec2 to, ImU32 color) {
        list.AddLine(from, to, color, 1.2F);
        const float length = std::max(1.0F, std::hypot(to.x - from.x, to.y - from.y));
        const ImVec2 along{(to.x - from.x) / length * 6, (to.y - from.y) / length * 6};
        list.AddTriangleFilled(to, {to.x - along.x - along.y * 0.5F, to.y - along.y + along.x * 0.5F},
                               {to.x - along.x + along.y * 0.5F, to.y - along.y - along.x * 0.5F}, color);
    }

    /// The tooltip of what is under the pointer: a line, a step or a frame; a span, a gap, or a lane's name.
    void explain_pointed(const PanelContext& context) const {
        if (!tip_.empty()) return set_tooltip(tip_);
        if (pointed_at_ != nullptr) return set_tooltip(tip_of_span(context, *pointed_at_));
        if (gap_)
            return set_tooltip(fmt::format("{} idle for {}\n{}", context.text(gap_->track),
                                           human_time(gap_->end - gap_->begin), gap_->reason));
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        if (!is_hovered_ || mouse.x >= area_.x) return;
        for (std::size_t i = 0; i < tracks_.size(); ++i)
            if (mouse.y >= top_of(i) && mouse.y < bottom_of(i))
                set_tooltip(tip_of_lane(context, tracks_[i]->name, clock_of(tracks_[i]->name)));
    }

    /// A click outside all spans clears the selection.
    void select(const PanelContext& context, const SpanRecord* span) {
        if (span != nullptr)
            context.selection.select(span->name, span->track, span->plan);
        else
            context.selection.select(0, 0, profile::kNoPlan);
        watch_.note(context.selection);
    }

    std::vector<const Track*> tracks_;
    std::vector<profile::TrackClock> clocks_;
    std::vector<ShownStep> steps_;  // in the picture, by begin
    MarkedSteps marks_;
    TimeView view_;
    Nanoseconds newest_{};  // end of the newest span
    bool wants_step_ = false;
    ClickOrDrag pointer_;
    std::shared_ptr<const profile::Spike> spike_;  // as chosen when its spans were sorted into tracks
    std::vector<Track> spike_tracks_;
    std::optional<profile::IdleGap> gap_;  // under the pointer
    Area area_;
    float labels_ = kLabels;                 // pixels of the names of the lanes
    float lanes_ = 0, row_ = 20, foot_ = 0;  // where the lanes begin, their height, and where the steps begin
    std::size_t step_rows_ = kStepRows;
    bool has_frames_ = true;  // marks and numbers, in the lowest row
    const SpanRecord* pointed_at_ = nullptr;
    std::string tip_;  // tooltip of anything else under the pointer
    bool is_hovered_ = false;
    SelectionWatch watch_;
};

}  // namespace

std::unique_ptr<Panel> make_timeline_panel() { return std::make_unique<TimelinePanel>(); }

}  // namespace kinetograph::ui
