#include <kinetograph/engine/present/screen_times.hpp>

#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/vulkan/api.hpp>

#include <utility>

namespace kinetograph::present {

ScreenTimes::ScreenTimes(const vulkan::Device& device)
    : device_(device), thread_([this] {
          static_cast<void>(without_exceptions("screen times", [this]() -> Result<void> {
              run();
              return {};
          }));
      }) {}

ScreenTimes::~ScreenTimes() {
    {
        const Lock lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void ScreenTimes::expect(VkSwapchainKHR swapchain, std::uint64_t execution) {
    {
        const Lock lock(mutex_);
        if (expected_.size() == kMostExpected) expected_.pop_front();
        expected_.push_back({swapchain, execution});
    }
    changed_.notify_all();
}

void ScreenTimes::forget() {
    Lock lock(mutex_);
    expected_.clear();
    changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return !waits_; });
}

std::vector<Target::OnScreen> ScreenTimes::take() {
    const Lock lock(mutex_);
    const std::deque<Target::OnScreen> seen = std::exchange(seen_, {});
    return {seen.begin(), seen.end()};
}

void ScreenTimes::run() {
    Lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return ends_ || !expected_.empty(); });
        if (ends_) return;
        const Expected next = expected_.front();
        waits_ = true;
        lock.unlock();
        const VkResult result = device_.table().vkWaitForPresentKHR(
            device_.handle(), next.swapchain, present_id(next.execution), static_cast<std::uint64_t>(kSlice.count()));
        const Nanoseconds now = host_now();
        lock.lock();
        waits_ = false;
        changed_.notify_all();
        // Pictures may have been given up meanwhile, including this one.
        if (result == VK_TIMEOUT || expected_.empty() || expected_.front().execution != next.execution) continue;
        expected_.pop_front();
        if (result != VK_SUCCESS && result != VK_SUBOPTIMAL_KHR) continue;
        if (seen_.size() == kMostKept) seen_.pop_front();
        seen_.push_back({next.execution, now});
    }
}

}  // namespace kinetograph::present
