#include <kinetograph/engine/present/swapchain.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace kinetograph::present {
namespace {

// A compositor may keep all images (a covered window): then nothing is drawn and the program does not block.
constexpr std::uint64_t kAcquireTimeout = 100'000'000;  // nanoseconds

std::optional<graph::PixelFormat> pixel_format_of(VkFormat format) {
    switch (format) {
        case VK_FORMAT_B8G8R8A8_UNORM:
            return graph::PixelFormat::Bgra8Unorm;
        case VK_FORMAT_R8G8B8A8_UNORM:
            return graph::PixelFormat::Rgba8Unorm;
        case VK_FORMAT_B8G8R8A8_SRGB:
            return graph::PixelFormat::Bgra8Srgb;
        case VK_FORMAT_R8G8B8A8_SRGB:
            return graph::PixelFormat::Rgba8Srgb;
        default:
            return std::nullopt;
    }
}

struct HandoverData {
    graph::Image image;
};

}  // namespace

Result<std::unique_ptr<SwapchainTarget>> SwapchainTarget::create(const vulkan::Device& device, const Window& window,
                                                                 VkSurfaceKHR surface, vulkan::VulkanLane& graphics) {
    std::unique_ptr<SwapchainTarget> target(new SwapchainTarget(device, window, surface, graphics));
    KG_CHECK(target->choose_format());
    for (Slot& slot : target->slots_) {
        KG_TRY(auto semaphore, target->create_semaphore());
        slot.acquired = semaphore;
    }
    KG_CHECK(target->recreate());
    if (device.report().extensions.present_wait) target->screen_times_ = std::make_unique<ScreenTimes>(device);
    return target;
}

Result<VkSemaphore> SwapchainTarget::create_semaphore() const {
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    if (const VkResult result = device_.table().vkCreateSemaphore(device_.handle(), &info, nullptr, &semaphore);
        result != VK_SUCCESS)
        return device_.error(result, "creating a semaphore for presentation");
    return semaphore;
}

/// Prefers 8-bit formats that store values unchanged: decoded frames and ImGui's colours are already encoded.
Result<void> SwapchainTarget::choose_format() {
    const auto& table = device_.instance().table();
    std::uint32_t count = 0;
    table.vkGetPhysicalDeviceSurfaceFormatsKHR(device_.physical(), surface_, &count, nullptr);
    std::vector<VkSurfaceFormatKHR> formats(count);
    table.vkGetPhysicalDeviceSurfaceFormatsKHR(device_.physical(), surface_, &count, formats.data());
    constexpr std::array kPreferred{VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_SRGB,
                                    VK_FORMAT_R8G8B8A8_SRGB};
    for (const VkFormat wanted : kPreferred)
        for (const VkSurfaceFormatKHR& format : formats)
            if (format.format == wanted && format.colorSpace == VK_COLOR_SPACE_SRGB_NONLINEAR_KHR) {
                format_ = format;
                desc_.format = *pixel_format_of(wanted);
                return {};
            }
    constexpr int kWantedBits = 24;
    const int bits = window_.color_bits();
    if (bits > 0 && bits < kWantedBits)
        return fail(ErrorCode::Unsupported,
                    "{}: the display has {} bits a pixel, and a window needs {}, 8 of each colour: set the display's "
                    "colour depth to {}, or use --headless to run without a window",
                    device_.report().name, bits, kWantedBits, kWantedBits);
    return fail(ErrorCode::Unsupported,
                "{}: the window takes none of the formats with 8 bits of each colour ({} others): another device "
                "(--device) may, or use --headless to run without a window",
                device_.report().name, count);
}

Result<void> SwapchainTarget::recreate() {
    const std::uint32_t width = window_.width(), height = window_.height();
    outdated_ = true;
    if (width == 0 || height == 0) return {};
    KG_CHECK(device_.wait_idle(graph::Lane::Graphics));
    if (screen_times_) screen_times_->forget();
    KG_CHECK(abandon_picture());
    VkSurfaceCapabilitiesKHR limits{};
    if (const VkResult result =
            device_.instance().table().vkGetPhysicalDeviceSurfaceCapabilitiesKHR(device_.physical(), surface_, &limits);
        result != VK_SUCCESS)
        return device_.error(result, "asking what the window can take");
    readable_ = (limits.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_SRC_BIT) != 0;
    VkSwapchainCreateInfoKHR info{};
    info.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR;
    info.surface = surface_;
    info.minImageCount = std::max(limits.minImageCount + 1, 3U);
    if (limits.maxImageCount > 0) info.minImageCount = std::min(info.minImageCount, limits.maxImageCount);
    info.imageFormat = format_.format;
    info.imageColorSpace = format_.colorSpace;
    info.imageExtent = limits.currentExtent;
    if (info.imageExtent.width == UINT32_MAX)  // the surface takes its size from the swapchain
        info.imageExtent = {std::clamp(width, limits.minImageExtent.width, limits.maxImageExtent.width),
                            std::clamp(height, limits.minImageExtent.height, limits.maxImageExtent.height)};
    if (info.imageExtent.width == 0 || info.imageExtent.height == 0) return {};
    info.imageArrayLayers = 1;
    info.imageUsage =
        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | (readable_ ? VkImageUsageFlags{VK_IMAGE_USAGE_TRANSFER_SRC_BIT} : 0U);
    info.preTransform = limits.currentTransform;
    const bool opaque = (limits.supportedCompositeAlpha & VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR) != 0;
    info.compositeAlpha = opaque ? VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR : VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR;
    info.presentMode = VK_PRESENT_MODE_FIFO_KHR;
    info.clipped = VK_TRUE;
    info.oldSwapchain = swapchain_;
    VkSwapchainKHR swapchain = VK_NULL_HANDLE;
    const VkResult result = device_.table().vkCreateSwapchainKHR(device_.handle(), &info, nullptr, &swapchain);
    destroy_images();
    device_.table().vkDestroySwapchainKHR(device_.handle(), swapchain_, nullptr);
    swapchain_ = swapchain;
    if (result != VK_SUCCESS)
        return device_.error(
            result, fmt::format("creating a swapchain of {} x {}", info.imageExtent.width, info.imageExtent.height));
    desc_.width = info.imageExtent.width;
    desc_.height = info.imageExtent.height;
    outdated_ = false;
    ++recreations_;
    return collect_images();
}

Result<void> SwapchainTarget::collect_images() {
    std::uint32_t count = 0;
    device_.table().vkGetSwapchainImagesKHR(device_.handle(), swapchain_, &count, nullptr);
    std::vector<VkImage> handles(count);
    if (const VkResult result =
            device_.table().vkGetSwapchainImagesKHR(device_.handle(), swapchain_, &count, handles.data());
        result != VK_SUCCESS)
        return device_.error(result, "getting the swapchain's images");
    for (VkImage handle : handles) {
        KG_TRY(auto image, vulkan::Image::wrap(device_, fmt::format("swapchain image {}", images_.size()), handle,
                                               desc_, VK_IMAGE_LAYOUT_UNDEFINED));
        images_.push_back(std::move(image));
        KG_TRY(auto semaphore, create_semaphore());
        drawn_.push_back(semaphore);
    }
    return {};
}

void SwapchainTarget::destroy_images() {
    images_.clear();
    for (VkSemaphore semaphore : drawn_) device_.table().vkDestroySemaphore(device_.handle(), semaphore, nullptr);
    drawn_.clear();
}

/// Gives up the picture that was acquired but not drawn: its swapchain is replaced. Its semaphore, which the
/// acquisition has signalled or will signal, is replaced too.
Result<void> SwapchainTarget::abandon_picture() {
    if (!is_acquired_) return {};
    KG_TRY(auto semaphore, create_semaphore());
    graphics_.draw_next({});
    device_.table().vkDestroySemaphore(device_.handle(), std::exchange(slots_[slot_].acquired, semaphore), nullptr);
    is_acquired_ = false;
    return {};
}

/// Leaks what a queue that does not become idle still uses.
SwapchainTarget::~SwapchainTarget() {
    screen_times_.reset();
    graphics_.draw_next({});
    if (const auto idle = device_.wait_idle(graph::Lane::Graphics, graph::kWorkPatience); !idle && !is_lost()) {
        for (auto& image : images_) static_cast<void>(image.release());  // NOLINT(bugprone-unused-return-value)
        return;
    }
    destroy_images();
    for (const Slot& slot : slots_) device_.table().vkDestroySemaphore(device_.handle(), slot.acquired, nullptr);
    device_.table().vkDestroySwapchainKHR(device_.handle(), swapchain_, nullptr);
}

Result<vulkan::Image*> SwapchainTarget::acquire() {
    const bool resized = window_.width() != desc_.width || window_.height() != desc_.height;
    if (outdated_ || resized) KG_CHECK(recreate());
    if (outdated_) return nullptr;
    if (is_acquired_) return images_[image_index_].get();  // the execution that was to draw to it has failed
    Slot& slot = slots_[slot_];
    KG_TRY(const bool is_free, wait_for(slot));
    if (!is_free) return nullptr;
    const VkResult result = device_.table().vkAcquireNextImageKHR(device_.handle(), swapchain_, kAcquireTimeout,
                                                                  slot.acquired, VK_NULL_HANDLE, &image_index_);
    switch (result) {
        case VK_SUBOPTIMAL_KHR:
            outdated_ = true;  // this image can still be used once
            [[fallthrough]];
        case VK_SUCCESS:
            break;
        case VK_TIMEOUT:
        case VK_NOT_READY:
            return nullptr;
        case VK_ERROR_OUT_OF_DATE_KHR:
            outdated_ = true;
            return nullptr;
        default:
            return device_.error(result, "acquiring a picture of the window");
    }
    graphics_.draw_next({.acquired = slot.acquired, .drawn = drawn_[image_index_]});
    is_acquired_ = true;
    return images_[image_index_].get();
}

/// False while the slot's previous picture is still being drawn. Errors: DeviceLost, also if it is not drawn within
/// graph::kWorkPatience.
Result<bool> SwapchainTarget::wait_for(const Slot& slot) {
    if (slot.drawn > 0) {
        KG_TRY(const bool drawn, graphics_.wait(slot.drawn, Nanoseconds(kAcquireTimeout)));
        if (!drawn) {
            const graph::LaneState state = graphics_.state();
            if (!patience_.is_over({&state, 1})) return false;
            return fail(ErrorCode::DeviceLost, "{}: a picture is not drawn: {}", device_.report().name,
                        graph::describe(state));
        }
    }
    patience_ = graph::Patience(graph::kWorkPatience, graph::kWorkPatience);
    return true;
}

bool SwapchainTarget::is_lost() const { return !graphics_.timeline()->status(); }

void SwapchainTarget::declare_handover(graph::FrameGraph& frame, graph::Image drawn) {
    frame.add_pass<HandoverData>(
        "present", graph::Lane::Graphics,
        [&](graph::PassBuilder& pass, HandoverData& data) {
            data.image = pass.read(drawn, graph::Access::Present);
            pass.has_side_effect();
        },
        [](const HandoverData&, vulkan::PassContext&) {});  // the pass exists for its barrier
}

Result<void> SwapchainTarget::present(const graph::Execution& execution) {
    is_acquired_ = false;
    slots_[slot_].drawn = execution.done[graph::Lane::Graphics.index()];
    slot_ = (slot_ + 1) % kInFlight;
    VkPresentInfoKHR info{};
    info.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR;
    info.waitSemaphoreCount = 1;
    info.pWaitSemaphores = &drawn_[image_index_];
    info.swapchainCount = 1;
    info.pSwapchains = &swapchain_;
    info.pImageIndices = &image_index_;
    const std::uint64_t number = ScreenTimes::present_id(execution.number);
    VkPresentIdKHR id{};
    id.sType = VK_STRUCTURE_TYPE_PRESENT_ID_KHR;
    id.swapchainCount = 1;
    id.pPresentIds = &number;
    if (screen_times_) info.pNext = &id;
    const vulkan::Queue& queue = device_.queue(graph::Lane::Graphics);
    VkResult result = VK_SUCCESS;
    {
        std::lock_guard lock(*queue.mutex);
        result = device_.table().vkQueuePresentKHR(queue.handle, &info);
    }
    if (screen_times_ && (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR))
        screen_times_->expect(swapchain_, execution.number);
    if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR) {
        outdated_ = true;
        return {};
    }
    if (result != VK_SUCCESS) return device_.error(result, "presenting a picture");
    return {};
}

std::string_view SwapchainTarget::screen_source() const {
    return screen_times_ ? VK_KHR_PRESENT_WAIT_EXTENSION_NAME : std::string_view();
}

std::vector<Target::OnScreen> SwapchainTarget::take_on_screen() {
    return screen_times_ ? screen_times_->take() : std::vector<OnScreen>();
}

}  // namespace kinetograph::present
