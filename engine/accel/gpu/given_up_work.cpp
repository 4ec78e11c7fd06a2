#include <kinetograph/engine/accel/gpu/given_up_work.hpp>

#include <utility>

namespace kinetograph::accel::gpu {

void GivenUpWork::add(std::function<bool()> has_ended) {
    const Lock lock(mutex_);
    pending_.push_back(std::move(has_ended));
}

bool GivenUpWork::has_ended() {
    const Lock lock(mutex_);
    std::erase_if(pending_, [](const std::function<bool()>& has_ended) { return has_ended(); });
    return pending_.empty();
}

}  // namespace kinetograph::accel::gpu
