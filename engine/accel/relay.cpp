#include <kinetograph/engine/accel/relay.hpp>

namespace kinetograph::accel {

Result<std::unique_ptr<Relay>> Relay::create(Device& device) {
    auto timeline = device.create_timeline();
    if (!timeline) return fail(std::move(timeline.error()), "relay between lanes");
    return std::unique_ptr<Relay>(new Relay(std::move(*timeline)));
}

Relay::Relay(std::shared_ptr<Timeline> timeline)
    : timeline_(std::move(timeline)), thread_([this](std::uint64_t value) { timeline_->signal(value); }) {}

}  // namespace kinetograph::accel
