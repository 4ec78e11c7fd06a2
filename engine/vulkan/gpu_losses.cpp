#include <kinetograph/engine/vulkan/gpu_losses.hpp>

#include <kinetograph/engine/graph/timeline.hpp>

#include <algorithm>
#include <utility>

namespace kinetograph::vulkan {

void GpuLosses::note(Error loss, Nanoseconds now) {
    const Lock lock(mutex_);
    newest_ = std::move(loss);
    lost_at_ = now;
}

std::optional<Error> GpuLosses::newest(Nanoseconds now) {
    const Lock lock(mutex_);
    if (now - lost_at_ > kLast) newest_.reset();
    return newest_;
}

void GpuLosses::give_up(graph::Lane lane, Nanoseconds now) {
    const Lock lock(mutex_);
    given_up_ |= 1U << lane.index();
    lost_at_ = gave_up_at_ = now;
}

std::uint32_t GpuLosses::queues_at(Nanoseconds now) {
    const Lock lock(mutex_);
    if (now - gave_up_at_ > kLast) given_up_ = 0;
    return given_up_;
}

Nanoseconds GpuLosses::patience_for(Nanoseconds usual, Nanoseconds now) {
    if (gave_up(now)) return std::min(usual, graph::kLook);
    return newest(now) ? std::min(usual, kPatience) : usual;
}

}  // namespace kinetograph::vulkan
