// SwapchainTarget: pictures on a window.
#pragma once

#include <kinetograph/engine/graph/patience.hpp>
#include <kinetograph/engine/present/screen_times.hpp>
#include <kinetograph/engine/present/window.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>

#include <array>
#include <memory>
#include <vector>

namespace kinetograph::present {

/// In step with the display's refresh. Follows the window's size. Keeps at most two pictures in flight, which bounds
/// the age of what is shown.
class SwapchainTarget final : public Target {
  public:
    /// `graphics` is the lane whose executions draw the pictures. All four outlive the target; the caller keeps and
    /// destroys the surface. Errors: Unsupported (no 8-bit format), DeviceLost, OutOfMemory.
    static Result<std::unique_ptr<SwapchainTarget>> create(const vulkan::Device& device, const Window& window,
                                                           VkSurfaceKHR surface, vulkan::VulkanLane& graphics);
    SwapchainTarget(const SwapchainTarget&) = delete;
    SwapchainTarget& operator=(const SwapchainTarget&) = delete;
    ~SwapchainTarget() override;

    const graph::ImageDesc& desc() const override { return desc_; }
    Result<vulkan::Image*> acquire() override;
    void declare_handover(graph::FrameGraph& frame, graph::Image drawn) override;
    Result<void> present(const graph::Execution& execution) override;
    bool readable() const override { return readable_; }
    std::string_view screen_source() const override;
    std::vector<OnScreen> take_on_screen() override;
    std::uint64_t recreations() const { return recreations_; }  ///< how often the window's surface changed

  private:
    static constexpr std::size_t kInFlight = 2;
    struct Slot {
        VkSemaphore acquired = VK_NULL_HANDLE;
        std::uint64_t drawn = 0;  // graphics timeline value at which `acquired` was consumed
    };
    SwapchainTarget(const vulkan::Device& device, const Window& window, VkSurfaceKHR surface,
                    vulkan::VulkanLane& graphics)
        : device_(device), window_(window), surface_(surface), graphics_(graphics) {}
    Result<void> choose_format();
    Result<void> recreate();
    Result<void> collect_images();
    Result<VkSemaphore> create_semaphore() const;
    Result<void> abandon_picture();
    Result<bool> wait_for(const Slot& slot);
    bool is_lost() const;
    void destroy_images();

    const vulkan::Device& device_;
    const Window& window_;
    VkSurfaceKHR surface_;
    vulkan::VulkanLane& graphics_;
    VkSwapchainKHR swapchain_ = VK_NULL_HANDLE;
    VkSurfaceFormatKHR format_{};
    graph::ImageDesc desc_;
    bool readable_ = false;
    bool outdated_ = true;
    std::uint64_t recreations_ = 0;
    std::vector<std::unique_ptr<vulkan::Image>> images_;
    std::vector<VkSemaphore> drawn_;  // one per image: presenting waits for it
    std::array<Slot, kInFlight> slots_;
    std::size_t slot_ = 0;
    std::uint32_t image_index_ = 0;
    bool is_acquired_ = false;                                              // that image, and it is not presented yet
    graph::Patience patience_{graph::kWorkPatience, graph::kWorkPatience};  // for the slot's previous picture
    std::unique_ptr<ScreenTimes> screen_times_;                             ///< null: the device has no such extension
};

}  // namespace kinetograph::present
