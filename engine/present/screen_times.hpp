// ScreenTimes: when pictures of a swapchain were on the screen, by VK_KHR_present_wait.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/present/target.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <deque>
#include <thread>

namespace kinetograph::present {

/// Waits on a thread of its own, because the extension offers only a blocking wait.
class ScreenTimes {
  public:
    /// `device` has OptionalExtensions::present_wait, and outlives the result.
    explicit ScreenTimes(const vulkan::Device& device);
    ScreenTimes(const ScreenTimes&) = delete;
    ScreenTimes& operator=(const ScreenTimes&) = delete;
    ~ScreenTimes();

    /// The VkPresentIdKHR of the picture that an execution has drawn; never 0, which means none.
    static std::uint64_t present_id(std::uint64_t execution) { return execution + 1; }
    /// A picture was presented to `swapchain` with the id of `execution`. If pictures are not shown in time, as in a
    /// covered window, the oldest are given up.
    void expect(VkSwapchainKHR swapchain, std::uint64_t execution);
    /// Gives up all expected pictures. No swapchain is in use any more when this returns, which may take kSlice.
    void forget();
    /// What came onto the screen since the last call, oldest first.
    std::vector<Target::OnScreen> take();

  private:
    static constexpr Nanoseconds kSlice = std::chrono::milliseconds(10);
    static constexpr std::size_t kMostExpected = 8, kMostKept = 64;
    struct Expected {
        VkSwapchainKHR swapchain = VK_NULL_HANDLE;
        std::uint64_t execution = 0;
    };
    void run();

    const vulkan::Device& device_;
    Mutex mutex_;
    Condition changed_;
    std::deque<Expected> expected_ KG_GUARDED_BY(mutex_);
    std::deque<Target::OnScreen> seen_ KG_GUARDED_BY(mutex_);
    bool waits_ KG_GUARDED_BY(mutex_) = false;  ///< the thread is in the driver, waiting for the first expected picture
    bool ends_ KG_GUARDED_BY(mutex_) = false;
    std::thread thread_;  ///< last: starts when the rest exists
};

}  // namespace kinetograph::present
