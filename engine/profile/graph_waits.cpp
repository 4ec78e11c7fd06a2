#include <kinetograph/engine/profile/graph_waits.hpp>

#include <algorithm>

namespace kinetograph::profile {

void GraphWaits::add(const PointRecord& record) {
    const Point point{record.counter, record.value};
    if (record.signals) {
        if (signals_.insert_or_assign(point, Batch{record.step, record.batch}).second) order_.push_back(point);
        if (order_.size() <= most_) return;
        signals_.erase(order_.front());
        order_.pop_front();
        return;
    }
    const Step step{record.step.plan, record.step.execution};
    waits_[step].push_back({point, record.batch});
    waiting_.push_back(step);
    if (waiting_.size() <= most_) return;
    const auto oldest = waits_.find(waiting_.front());
    oldest->second.erase(oldest->second.begin());
    if (oldest->second.empty()) waits_.erase(oldest);
    waiting_.pop_front();
}

std::vector<GraphWait> GraphWaits::of(StepKey step) const {
    std::vector<GraphWait> result;
    const auto waits = waits_.find({step.plan, step.execution});
    if (waits == waits_.end()) return result;
    for (const Wait& wait : waits->second) {
        const auto signal = signals_.find(wait.point);
        if (signal == signals_.end() || signal->second.step == step) continue;
        const GraphWait resolved{step, wait.batch, signal->second.step, signal->second.batch};
        if (std::ranges::find(result, resolved) == result.end()) result.push_back(resolved);
    }
    return result;
}

std::vector<GraphWait> GraphWaits::all() const {
    std::vector<GraphWait> result;
    for (const auto& [step, waits] : waits_) {
        const auto resolved = of({step.first, step.second});
        result.insert(result.end(), resolved.begin(), resolved.end());
    }
    return result;
}

}  // namespace kinetograph::profile
