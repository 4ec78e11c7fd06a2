#include <kinetograph/engine/graph/pending_waits.hpp>

namespace kinetograph::graph {

bool PendingWaits::Wait::is_met() const { return point.reached() && Point{seen, point.value}.reached(); }

void PendingWaits::add(std::uint64_t batch, Point point, std::shared_ptr<Timeline> seen) {
    const Lock lock(mutex_);
    waits_.push_back({batch, std::move(point), std::move(seen)});
}

void PendingWaits::forget(std::uint64_t reached) {
    const Lock lock(mutex_);
    std::erase_if(waits_, [&](const Wait& wait) { return wait.batch <= reached; });
}

std::vector<PendingWaits::Wait> PendingWaits::unmet(std::uint64_t reached) const {
    std::vector<Wait> waits;
    {
        const Lock lock(mutex_);
        waits = waits_;
    }
    std::erase_if(waits, [&](const Wait& wait) { return wait.batch <= reached || wait.is_met(); });
    return waits;
}

}  // namespace kinetograph::graph
