#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace kinetograph::ui {
namespace {

using profile::SpanRecord;
using profile::Step;
using Track = profile::Profile::Track;

/// Of one complete step, worked out once.
struct StepMarks {
    std::vector<profile::HandOver> waits;
    std::vector<std::uint32_t> critical;
    std::vector<profile::IdleGap> gaps;
};

float width_of(std::string_view text) { return ImGui::CalcTextSize(text.data(), text.data() + text.size()).x; }

class TimelinePanel final : public Panel {
  public:
    std::string_view name() const override { return "Timeline"; }

    void draw(const PanelContext& context) override {
        take_spike(context);
        order_tracks(context);
        if (tracks_.empty()) return ImGui::TextDisabled("nothing has run yet");
        if (follows_) end_ = newest_;
        draw_head(context);
        const ImVec2 at = ImGui::GetCursorScreenPos(), available = ImGui::GetContentRegionAvail();
        area_ = {at.x + kLabels * context.scale, at.y, std::max(available.x - kLabels * context.scale, 40.0F),
                 std::max(available.y, 60.0F)};
        row_ = std::min(28.0F * context.scale, (area_.height - 20 * context.scale) /
                                                   static_cast<float>(std::max<std::size_t>(tracks_.size(), 1)));
        ImGui::InvisibleButton("spans", {available.x, area_.height});
        handle_input();
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.PushClipRect(at, {at.x + available.x, at.y + area_.height}, true);
        pointed_at_ = nullptr;
        gap_.reset();
        draw_axis(list);
        draw_frames(context, list);
        for (std::size_t i = 0; i < tracks_.size(); ++i) draw_track(context, list, i);
        list.PushClipRect({area_.x, area_.y}, {area_.x + area_.width, area_.y + area_.height}, true);
        draw_steps(context, list);
        list.PopClipRect();
        list.PopClipRect();
        if (pointed_at_ != nullptr)
            explain(context, *pointed_at_);
        else if (gap_)
            ImGui::SetTooltip("%s idle for %s\n%s", std::string(context.text(gap_->track)).c_str(),
                              human_time(gap_->end - gap_->begin).c_str(), gap_->reason.c_str());
        if (was_clicked_) select(context, pointed_at_);
        was_clicked_ = false;
    }

  private:
    struct Area {
        float x = 0, y = 0, width = 1, height = 1;
    };
    static constexpr float kLabels = 96.0F;
    static constexpr Nanoseconds kShortest = std::chrono::microseconds(1), kLongest = std::chrono::seconds(10);
    static constexpr std::size_t kMarkedSteps = 64;

    /// A step that was chosen among the kept ones: its spans may be gone from the profile.
    void take_spike(const PanelContext& context) {
        if (context.selection.spike == spike_) return;
        spike_ = context.selection.spike;
        spike_tracks_.clear();
        follows_ = spike_ == nullptr;
        if (follows_) return;
        for (const SpanRecord& span : spike_->step.spans) {
            auto track = std::ranges::find(spike_tracks_, span.track, &Track::name);
            if (track == spike_tracks_.end()) {
                spike_tracks_.push_back({.name = span.track});
                track = std::prev(spike_tracks_.end());
            }
            track->spans.push_back(span);
        }
        span_ = std::clamp(spike_->step.length() * 11 / 10, kShortest, kLongest);
        end_ = spike_->step.end + spike_->step.length() / 20;
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

    void draw_head(const PanelContext& context) {
        if (ImGui::SmallButton(follows_ ? "following" : "follow (F)") ||
            (ImGui::IsWindowHovered() && !ImGui::GetIO().WantTextInput && ImGui::IsKeyPressed('F', false))) {
            follows_ = true;
            context.selection.spike = nullptr;
        }
        ImGui::SameLine();
        if (spike_ != nullptr) {
            ImGui::TextColored(ImColor(theme::kBad), "step %llu, kept",
                               static_cast<unsigned long long>(spike_->step.execution));
            ImGui::SameLine();
        }
        ImGui::TextDisabled("%s; wheel zooms, drag pans", human_time(span_).c_str());
        for (const profile::TrackClock& clock : context.profile.recorder().clocks()) {
            const std::string_view track = context.text(clock.track);
            ImGui::SameLine();
            ImGui::TextDisabled("%.*s +-%s", static_cast<int>(track.size()), track.data(),
                                human_time(clock.error).c_str());
        }
    }

    void handle_input() {
        const ImGuiIO& io = ImGui::GetIO();
        if (ImGui::IsItemActivated()) was_dragged_ = false;
        was_clicked_ = ImGui::IsItemDeactivated() && !was_dragged_;
        if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 2.0F)) {
            end_ -= Nanoseconds(
                std::llround(static_cast<double>(io.MouseDelta.x) / area_.width * static_cast<double>(span_.count())));
            follows_ = follows_ && io.MouseDelta.x == 0.0F;
            was_dragged_ = true;
        }
        if (!ImGui::IsItemHovered() || io.MouseWheel == 0.0F) return;
        // The time under the pointer stays where it is.
        const double along = std::clamp((io.MousePos.x - area_.x) / area_.width, 0.0F, 1.0F);
        const auto pointed = static_cast<double>(end_.count()) - (1.0 - along) * static_cast<double>(span_.count());
        const double wanted = static_cast<double>(span_.count()) * std::pow(0.8, static_cast<double>(io.MouseWheel));
        span_ = Nanoseconds(std::llround(
            std::clamp(wanted, static_cast<double>(kShortest.count()), static_cast<double>(kLongest.count()))));
        if (!follows_) end_ = Nanoseconds(std::llround(pointed + (1.0 - along) * static_cast<double>(span_.count())));
    }

    Nanoseconds begin() const { return end_ - span_; }
    float x_of(Nanoseconds time) const {
        const double along = static_cast<double>((time - begin()).count()) / static_cast<double>(span_.count());
        return area_.x + area_.width * static_cast<float>(std::clamp(along, -1.0, 2.0));
    }
    float y_of(std::size_t track) const { return area_.y + 18.0F + static_cast<float>(track) * row_; }
    std::size_t row_of(profile::NameId track) const {
        return static_cast<std::size_t>(std::ranges::find(tracks_, track, &Track::name) - tracks_.begin());
    }

    /// Lines at 1, 2 or 5 times a power of ten, about every hundred pixels.
    void draw_axis(ImDrawList& list) const {
        const double wanted = static_cast<double>(span_.count()) * 100.0 / area_.width;
        double step = std::pow(10.0, std::floor(std::log10(wanted)));
        for (const double factor : {2.0, 2.5, 2.0})
            if (step < wanted) step *= factor;
        const auto each = std::max<std::int64_t>(1, std::llround(step));
        for (std::int64_t ago = each; ago < span_.count(); ago += each) {
            const float x = x_of(end_ - Nanoseconds(ago));
            list.AddLine({x, area_.y}, {x, area_.y + area_.height}, theme::kRaised);
            list.AddText({x + 3, area_.y}, theme::kMuted, human_time(Nanoseconds(-ago)).c_str());
        }
    }

    void draw_track(const PanelContext& context, ImDrawList& list, std::size_t index) {
        const Track& track = *tracks_[index];
        const std::string_view name = context.text(track.name);
        const float top = y_of(index), bottom = top + row_ - 4;
        const ImU32 color = theme::track_color(name);
        list.AddText({area_.x - kLabels * context.scale + 4, top + 2}, theme::kText, name.data(),
                     name.data() + name.size());
        list.PushClipRect({area_.x, area_.y}, {area_.x + area_.width, area_.y + area_.height}, true);
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        const bool may_point = ImGui::IsItemHovered() && mouse.y >= top && mouse.y < bottom && mouse.x >= area_.x;
        // Spans end in the order in which they begin, but for those that overlap on one track.
        auto span = std::ranges::lower_bound(track.spans, begin(), {}, &SpanRecord::end);
        for (; span != track.spans.end() && span->begin < end_;) {
            const float left = x_of(span->begin), right = std::max(x_of(span->end), left + 1.0F);
            const bool is_selected = context.selection.is(span->name, span->track);
            list.AddRectFilled(
                {left, top}, {right, bottom},
                is_selected ? theme::kAccent : theme::faded(color, 0.72F + 0.07F * static_cast<float>(span->name % 5)));
            if (is_selected) list.AddRect({left, top - 1}, {right, bottom + 1}, theme::kText);
            if (may_point && mouse.x >= left && mouse.x < right) pointed_at_ = &*span;
            const std::string_view text = context.text(span->name);
            if (right - left > 40 && width_of(text) < right - left - 6)
                list.AddText({left + 3, top + (row_ - 4 - ImGui::GetTextLineHeight()) / 2}, theme::kGroundSolid,
                             text.data(), text.data() + text.size());
            ++span;
            // What would be drawn into the same pixel is passed over.
            if (right - left <= 1.0F && span != track.spans.end() && x_of(span->end) < right) {
                const Nanoseconds next =
                    begin() + Nanoseconds(std::llround(static_cast<double>(right - area_.x) / area_.width *
                                                       static_cast<double>(span_.count())));
                span = std::lower_bound(span, track.spans.end(), next,
                                        [](const SpanRecord& each, Nanoseconds time) { return each.end < time; });
            }
        }
        list.PopClipRect();
    }

    /// When the application showed its frames.
    void draw_frames(const PanelContext& context, ImDrawList& list) const {
        const auto& frames = context.profile.pacing().newest;
        auto frame = std::ranges::lower_bound(frames, begin(), {}, &profile::FrameTimes::shown);
        float drawn_to = area_.x;
        for (; frame != frames.end() && frame->shown < end_; ++frame) {
            const float x = x_of(frame->shown), y = area_.y + area_.height;
            const ImU32 color = frame->late ? theme::kBad : theme::kGood;
            list.AddTriangleFilled({x - 4, y}, {x + 4, y}, {x, y - 7}, color);
            const std::string text = fmt::format("frame {}", frame->index);
            if (x + 6 < drawn_to) continue;
            list.AddText({x + 6, y - ImGui::GetTextLineHeight()}, color, text.c_str());
            drawn_to = x + 12 + width_of(text);
        }
    }

    const StepMarks& marks_of(const PanelContext& context, const Step& step, const profile::PlanFacts& plan) {
        const auto [marks, is_new] = marks_.try_emplace({step.plan, step.execution});
        if (is_new) {
            marks->second = {hand_overs(step, plan), critical_path(step, plan),
                             idle_gaps(step, plan, context.profile.recorder().names(), step.length() / 50)};
            if (marks_.size() > kMarkedSteps) marks_.erase(marks_.begin() == marks ? std::next(marks) : marks_.begin());
        }
        return marks->second;
    }

    void draw_steps(const PanelContext& context, ImDrawList& list) {
        if (spike_ != nullptr) return draw_step(context, list, spike_->step, spike_->plan.get());
        for (const profile::PlanSteps& steps : context.profile.steps())
            for (const Step& step : steps.newest)
                if (step.end >= begin() && step.begin <= end_)
                    draw_step(context, list, step, context.profile.plan(step.plan).get());
    }

    void draw_step(const PanelContext& context, ImDrawList& list, const Step& step, const profile::PlanFacts* plan) {
        const float x = x_of(step.begin);
        list.AddLine({x, area_.y}, {x, area_.y + area_.height}, theme::kLine);
        if (plan == nullptr || x_of(step.end) - x < 24) return;
        list.AddText({x + 3, area_.y + area_.height - 2 * ImGui::GetTextLineHeight() - 2}, theme::kMuted,
                     fmt::format("step {}", step.execution).c_str());
        draw_marks(context, list, step, *plan, marks_of(context, step, *plan));
    }

    ImVec2 begin_of(const SpanRecord& span) const {
        return {x_of(span.begin), y_of(row_of(span.track)) + (row_ - 4) / 2};
    }
    ImVec2 end_of(const SpanRecord& span) const { return {x_of(span.end), y_of(row_of(span.track)) + (row_ - 4) / 2}; }

    void draw_marks(const PanelContext& context, ImDrawList& list, const Step& step, const profile::PlanFacts& plan,
                    const StepMarks& marks) {
        for (const std::uint32_t each : marks.critical) {
            const SpanRecord& span = step.spans[each];
            const float y = y_of(row_of(span.track)) + row_ - 3;
            list.AddLine({x_of(span.begin), y}, {std::max(x_of(span.end), x_of(span.begin) + 1), y}, theme::kBad, 2.0F);
        }
        for (const profile::IdleGap& gap : marks.gaps) {
            const float left = x_of(gap.begin), right = x_of(gap.end);
            if (right - left < 24) continue;
            const float y = y_of(row_of(gap.track));
            list.PushClipRect({left, y}, {right, y + row_}, true);
            list.AddText({left + 4, y + 2}, theme::kMuted, gap.reason.c_str());
            list.PopClipRect();
            const ImVec2 mouse = ImGui::GetIO().MousePos;
            if (ImGui::IsItemHovered() && mouse.x >= left && mouse.x < right && mouse.y >= y && mouse.y < y + row_)
                gap_ = gap;
        }
        for (const profile::HandOver& wait : marks.waits) {
            const SpanRecord& to = step.spans[wait.to];
            draw_arrow(list, end_of(step.spans[wait.from]), begin_of(to),
                       context.selection.is(to.name, to.track) ? theme::kAccent : theme::kText);
        }
        const auto selected = std::ranges::find_if(
            step.spans, [&](const SpanRecord& span) { return context.selection.is(span.name, span.track); });
        if (selected == step.spans.end()) return;
        const auto span_of = spans_of_passes(step, plan);
        const auto index = static_cast<std::uint32_t>(selected - step.spans.begin());
        for (const profile::Dependency& each : plan.dependencies) {
            const std::uint32_t from = span_of[each.from], to = span_of[each.to];
            if (from == profile::kNone || to == profile::kNone || (from != index && to != index)) continue;
            const ImVec2 a = end_of(step.spans[from]), b = begin_of(step.spans[to]);
            const float rise = row_ * 0.8F;
            list.AddBezierCubic(a, {a.x, a.y - rise}, {b.x, b.y - rise}, b, to == index ? theme::kGood : theme::kAccent,
                                1.5F);
        }
    }

    static void draw_arrow(ImDrawList& list, ImVec2 from, ImVec2 to, ImU32 color) {
        list.AddLine(from, to, color, 1.2F);
        const float length = std::max(1.0F, std::hypot(to.x - from.x, to.y - from.y));
        const ImVec2 along{(to.x - from.x) / length * 6, (to.y - from.y) / length * 6};
        list.AddTriangleFilled(to, {to.x - along.x - along.y * 0.5F, to.y - along.y + along.x * 0.5F},
                               {to.x - along.x + along.y * 0.5F, to.y - along.y - along.x * 0.5F}, color);
    }

    static void explain(const PanelContext& context, const SpanRecord& span) {
        const profile::PassProfile* pass = context.profile.find(span.name, span.track);
        const std::string_view name = context.text(span.name), track = context.text(span.track);
        std::string text = fmt::format("{} on {}\n{}, median {}\nstep {}", name, track, human_time(span.length()),
                                       human_time(pass->quantile(0.5)), span.execution);
        if (const profile::PassFacts* facts = context.profile.facts(*pass); facts != nullptr && !facts->kernel.empty())
            text += fmt::format("\n{}: {}", facts->kernel, facts->reason);
        ImGui::SetTooltip("%s", text.c_str());
    }

    /// A click beside every span selects nothing.
    static void select(const PanelContext& context, const SpanRecord* span) {
        if (span != nullptr)
            context.selection.select(span->name, span->track, span->plan);
        else
            context.selection.select(0, 0, profile::kNoPlan);
    }

    std::vector<const Track*> tracks_;
    std::map<std::pair<profile::PlanId, std::uint64_t>, StepMarks> marks_;
    Nanoseconds span_ = std::chrono::milliseconds(500), end_{}, newest_{};
    bool follows_ = true, was_dragged_ = false, was_clicked_ = false;
    std::shared_ptr<const profile::Spike> spike_;  // as chosen when its spans were sorted into tracks
    std::vector<Track> spike_tracks_;
    std::optional<profile::IdleGap> gap_;  // under the pointer
    Area area_;
    float row_ = 20;
    const SpanRecord* pointed_at_ = nullptr;
};

}  // namespace

std::unique_ptr<Panel> make_timeline_panel() { return std::make_unique<TimelinePanel>(); }

}  // namespace kinetograph::ui
