#include <kinetograph/engine/graph/lane_waits.hpp>

#include <utility>

namespace kinetograph::graph {

LaneWaits::LaneWaits(std::shared_ptr<Timeline> own, std::function<bool(const Timeline&)> sees,
                     std::function<Result<std::shared_ptr<Timeline>>()> create)
    : own_(std::move(own)), sees_(std::move(sees)), create_(std::move(create)) {}

template <class Visit>
void LaneWaits::visit_points(const BatchRecord& record, const Visit& visit) {
    for (const ResolvedWait& wait : record.waits) visit(Point{wait.lane->timeline(), wait.value});
    for (const Point& point : record.points) visit(point);
}

std::shared_ptr<Timeline> LaneWaits::seen(const std::shared_ptr<Timeline>& timeline) const {
    if (sees_(*timeline)) return timeline;
    std::shared_ptr<Timeline> found;
    timeline->visit_views([&](const auto& view) {
        if (!found && sees_(*view)) found = view;
    });
    return found;
}

bool LaneWaits::are_relayed(const BatchRecord& record) const {
    bool relayed = false;
    visit_points(record, [&](const Point& point) { relayed = relayed || seen(point.timeline) == nullptr; });
    return relayed;
}

Result<std::span<Point>> LaneWaits::resolve(const BatchRecord& record) {
    of_device_.clear();
    of_relay_.clear();
    pending_.forget(own_->value());
    visit_points(record, [&](const Point& point) {
        auto view = seen(point.timeline);
        if (point.timeline != own_) pending_.add(record.signal, point, view);
        if (view)
            of_device_.push_back({std::move(view), point.value});
        else if (!point.reached() || !point.timeline->status())
            of_relay_.push_back(point);
    });
    if (of_relay_.empty()) return of_device_;
    const Lock lock(mutex_);
    if (!relay_) {
        KG_TRY_IN("relay between lanes", auto target, create_());
        relay_ = std::make_unique<Relay>(std::move(target));
    }
    of_device_.push_back({relay_->timeline(), relay_->promise(of_relay_)});
    return of_device_;
}

Result<void> LaneWaits::status() const {
    const Lock lock(mutex_);
    if (relay_)
        if (auto error = relay_->error()) return fail(std::move(*error));
    return {};
}

std::shared_ptr<Timeline> LaneWaits::relayed() const {
    const Lock lock(mutex_);
    return relay_ ? relay_->timeline() : nullptr;
}

bool LaneWaits::give_up_relay() {
    const Lock lock(mutex_);
    if (relay_) relay_->give_up();
    return relay_ != nullptr;
}

std::optional<Error> end_of_lane(const LaneBackend& lane, LaneWaits& waits, const std::function<bool()>& done) {
    const auto settles = [&](Patience patience) {
        while (!done()) {
            const LaneState now = lane.state();
            if (patience.is_over({&now, 1})) return false;
        }
        return true;
    };
    if (settles(Patience()) || (waits.give_up_relay() && settles(Patience(kPatience, kPatience)))) return std::nullopt;
    const LaneState now = lane.state();
    const auto timeline = lane.timeline();
    Error given_up{ErrorCode::Cancelled, fmt::format("{} has ended at value {}, before value {}", timeline->name(),
                                                     now.reached, now.submitted)};
    timeline->report(given_up);
    return given_up;
}

}  // namespace kinetograph::graph
