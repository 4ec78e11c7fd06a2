#include <kinetograph/engine/vulkan/clock.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <algorithm>
#include <array>

namespace kinetograph::vulkan {
namespace {

constexpr Nanoseconds kInterval = std::chrono::milliseconds(100);
constexpr int kAnchorTries = 5;

/// Of the lanes' queues with time stamps; 64 if there is none.
std::uint32_t fewest_valid_bits(const Device& device) {
    std::uint32_t fewest = 64;
    for (const graph::Lane lane : {graph::Lane::Graphics, graph::Lane::AsyncCompute, graph::Lane::Transfer})
        if (const std::uint32_t bits = device.queue(lane).timestamp_valid_bits; bits > 0)
            fewest = std::min(fewest, bits);
    return fewest;
}

}  // namespace

DeviceClock::DeviceClock(const Device& device)
    : device_(device),
      calibrated_(device.report().extensions.calibrated_timestamps),
      regression_(device.limits().timestampPeriod, fewest_valid_bits(device)) {
    calibrated_ = calibrated_ && reads_host_clock();
}

Result<std::unique_ptr<DeviceClock>> DeviceClock::create(const Device& device) {
    std::unique_ptr<DeviceClock> clock(new DeviceClock(device));
    if (!clock->available()) return clock;
    if (clock->calibrated_) {
        clock->calibrate();
    } else {
        KG_CHECK(clock->anchor());
    }
    return clock;
}

bool DeviceClock::available() const { return device_.queue(graph::Lane::Graphics).timestamp_valid_bits > 0; }

bool DeviceClock::reads_host_clock() const {
    const auto query = device_.instance().table().vkGetPhysicalDeviceCalibrateableTimeDomainsEXT;
    std::uint32_t count = 0;
    if (query == nullptr || query(device_.physical(), &count, nullptr) != VK_SUCCESS) return false;
    std::vector<VkTimeDomainEXT> domains(count);
    query(device_.physical(), &count, domains.data());
    return std::find(domains.begin(), domains.end(), VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT) != domains.end() &&
           std::find(domains.begin(), domains.end(), VK_TIME_DOMAIN_DEVICE_EXT) != domains.end();
}

void DeviceClock::calibrate() {
    const Lock lock(mutex_);
    if (!calibrated_ || (!regression_.empty() && host_now() - last_reading_ < kInterval)) return;
    read_together();
}

void DeviceClock::note_work(std::uint64_t first, Nanoseconds submitted, std::uint64_t last, Nanoseconds done) {
    if (calibrated_) return;
    const Lock lock(mutex_);
    brackets_.add(first, submitted, last, done);
}

void DeviceClock::read_together() {
    std::array<VkCalibratedTimestampInfoEXT, 2> infos{};
    for (auto& info : infos) info.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT;
    infos[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
    infos[1].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    std::array<std::uint64_t, 2> stamps{};
    std::uint64_t deviation = 0;  // nanoseconds
    if (device_.table().vkGetCalibratedTimestampsEXT(device_.handle(), infos.size(), infos.data(), stamps.data(),
                                                     &deviation) != VK_SUCCESS)
        return;
    last_reading_ = Nanoseconds(static_cast<std::int64_t>(stamps[1]));
    regression_.add(stamps[0], last_reading_, Nanoseconds(static_cast<std::int64_t>(deviation)));
}

/// The stamp is taken between submission and completion; of several tries the one with the shortest interval counts.
Result<void> DeviceClock::anchor() {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 1;
    VkQueryPool pool = VK_NULL_HANDLE;
    if (const VkResult result = device_.table().vkCreateQueryPool(device_.handle(), &info, nullptr, &pool);
        result != VK_SUCCESS)
        return device_.error(result, "creating a query pool");
    Result<void> outcome;
    std::uint64_t best_ticks = 0;
    Nanoseconds best_host{}, best_width = Nanoseconds::max();
    for (int i = 0; i < kAnchorTries && outcome; ++i) {
        device_.table().vkResetQueryPool(device_.handle(), pool, 0, 1);
        const Nanoseconds before = host_now();
        outcome = device_.run_once("anchoring its clock", [&](VkCommandBuffer commands) {
            device_.table().vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT, pool, 0);
        });
        const Nanoseconds after = host_now();
        std::uint64_t ticks = 0;
        if (outcome &&
            device_.table().vkGetQueryPoolResults(device_.handle(), pool, 0, 1, sizeof(ticks), &ticks, sizeof(ticks),
                                                  VK_QUERY_RESULT_64_BIT) == VK_SUCCESS &&
            after - before < best_width) {
            best_width = after - before;
            best_host = before + best_width / 2;
            best_ticks = ticks;
        }
    }
    if (!outcome) {  // a blocked queue may still write to it later
        device_.keep(std::shared_ptr<const void>(&device_, [device = &device_, pool](const void*) {
            device->table().vkDestroyQueryPool(device->handle(), pool, nullptr);
        }));
        return outcome;
    }
    device_.table().vkDestroyQueryPool(device_.handle(), pool, nullptr);
    const Lock lock(mutex_);
    regression_.add(best_ticks, best_host, best_width / 2);
    return {};
}

Nanoseconds DeviceClock::to_host(std::uint64_t ticks, Nanoseconds near) const {
    const Lock lock(mutex_);
    return regression_.to_host(ticks, near);
}

Nanoseconds DeviceClock::error() const {
    const Lock lock(mutex_);
    return error_locked();
}

/// This fit also maps stamps that are taken before the next reading.
Nanoseconds DeviceClock::error_locked() const {
    return regression_.bound(calibrated_ ? kInterval : 2 * profile::ClockBrackets::kInterval);
}

double DeviceClock::drift_ppm() const {
    const Lock lock(mutex_);
    return regression_.drift_ppm();
}

std::string DeviceClock::describe() const {
    const Lock lock(mutex_);
    if (regression_.empty()) return "none: the graphics queue has no time stamps";
    return fmt::format("{}, +-{:.1f} us, drift {:.1f} ppm",
                       calibrated_ ? "calibrated (VK_EXT_calibrated_timestamps)"
                                   : "estimated from submissions and completions (no VK_EXT_calibrated_timestamps)",
                       static_cast<double>(error_locked().count()) / 1000.0, regression_.drift_ppm());
}

}  // namespace kinetograph::vulkan
