// What the timeline's tooltips say.
#pragma once

#include <kinetograph/engine/ui/panel.hpp>

#include <string>

namespace kinetograph::ui {

/// Of the arrow from `from` to `to`, which began `took` after that had ended; a hand-over is expected to cost
/// `expected`.
std::string tip_of_wait(const PanelContext& context, const profile::SpanRecord& from, const profile::SpanRecord& to,
                        Nanoseconds took, Nanoseconds expected);
std::string tip_of_dependency(const PanelContext& context, const profile::PlanFacts& plan,
                              const profile::Dependency& each);
std::string tip_of_step(const PanelContext& context, const profile::Step& step);
std::string tip_of_frame(const profile::FrameTimes& frame);
std::string tip_of_span(const PanelContext& context, const profile::SpanRecord& span);
/// `clock`: null if the host's clock stamps the lane.
std::string tip_of_lane(const PanelContext& context, profile::NameId lane, const profile::TrackClock* clock);

}  // namespace kinetograph::ui
