// Events of HIP, and the anchors that put them on the host's time axis.
#pragma once

#include <kinetograph/engine/accel/device_clock.hpp>
#include <kinetograph/engine/accel/hip/context.hpp>

namespace kinetograph::accel::hip {

/// An event of the runtime with its lifetime.
class EventObject final {
  public:
    static Result<std::unique_ptr<EventObject>> create(std::shared_ptr<Context> context);
    ~EventObject();
    EventObject(const EventObject&) = delete;
    EventObject& operator=(const EventObject&) = delete;
    EventHandle handle() const { return handle_; }
    const Context& context() const { return *context_; }

  private:
    EventObject(std::shared_ptr<Context> context, EventHandle handle) : context_(std::move(context)), handle_(handle) {}
    std::shared_ptr<Context> context_;
    EventHandle handle_;
};

/// Starts the clock of a device. Errors: what the driver says.
Result<std::shared_ptr<DeviceClock>> start_clock(const std::shared_ptr<Context>& context);

class HipEvent final : public DriverEvent {
  public:
    HipEvent(std::unique_ptr<EventObject> object, std::shared_ptr<const DeviceClock> clock)
        : DriverEvent(std::move(clock)), object_(std::move(object)) {}
    EventHandle handle() const { return object_->handle(); }
    const Context& context() const { return object_->context(); }

  private:
    std::optional<double> since(const ClockAnchors& anchors, std::size_t anchor) const override;

    std::unique_ptr<EventObject> object_;
};

}  // namespace kinetograph::accel::hip
