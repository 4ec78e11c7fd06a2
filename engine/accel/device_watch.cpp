#include <kinetograph/engine/accel/device_watch.hpp>

#include <kinetograph/engine/base/exceptions.hpp>

#include <fmt/core.h>

namespace kinetograph::accel {

std::string counted_name_of(const DeviceInfo& device) {
    if (!device.pci) return device.name;
    const std::string domain = device.pci->domain > 0 ? fmt::format("{:04x}:", device.pci->domain) : std::string();
    return fmt::format("{} at {}{:02x}:{:02x}", device.name, domain, device.pci->bus, device.pci->device);
}

DeviceWatch::DeviceWatch(std::shared_ptr<const Device> device, profile::Recorder& recorder,
                         const DeviceWatchOptions& options)
    : device_(std::move(device)),
      recorder_(recorder),
      period_(options.period),
      label_(counted_name_of(device_->info())) {
    if (auto opened = open_sensors(device_->info(), options.sources))
        sensors_ = std::move(*opened);
    else
        device_->log().info("{}", opened.error().message);
    sample();
    thread_ = std::thread([this] { run(); });
}

DeviceWatch::~DeviceWatch() {
    {
        const Lock lock(mutex_);
        ends_ = true;
    }
    wakes_.notify_all();
    thread_.join();
    sample();
}

void DeviceWatch::run() {
    Lock lock(mutex_);
    while (!wakes_.wait_for(lock, period_, [&]() KG_REQUIRES(mutex_) { return ends_; })) {
        lock.unlock();
        sample();
        lock.lock();
    }
}

/// What fails is left out.
void DeviceWatch::sample() {
    static_cast<void>(without_exceptions("device watch", [this]() -> Result<void> {
        count();
        return {};
    }));
}

void DeviceWatch::count() {
    const Nanoseconds now = host_now();
    if (sensors_)
        for (const SensorReading& reading : sensors_->read())
            recorder_.count({.name = reading.quantity, .device = label_, .unit = reading.unit}, now, reading.value);
    const auto count_bytes = [&](const char* name, std::uint64_t bytes) {
        recorder_.count({.name = name, .device = label_, .unit = "MiB"}, now, static_cast<double>(bytes) / (1 << 20));
    };
    count_bytes("memory of the decoder", device_->bytes_allocated());
    count_bytes("peak of the decoder", device_->peak_bytes());
    if (device_->budget_bytes() > 0) count_bytes("budget of the decoder", device_->budget_bytes());
}

}  // namespace kinetograph::accel
