#include <kinetograph/engine/accel/gpu/given_up_work.hpp>

#include <utility>

namespace kinetograph::accel::gpu {

void GivenUpWork::add(std::function<bool()> has_ended) {
    const Lock lock(mutex_);
    pending_.push_back(std::move(has_ended));
}

bool GivenUpWork::has_ended() {
    std::vector<std::function<bool()>> ended;  // destroyed unlocked: what they keep may ask again
    const Lock lock(mutex_);
    for (std::function<bool()>& has_ended : std::exchange(pending_, {}))
        (has_ended() ? ended : pending_).push_back(std::move(has_ended));
    return pending_.empty();
}

}  // namespace kinetograph::accel::gpu
