#include "host.hpp"

#include <vulkan/vulkan.h>
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_vulkan.h>
#include <imgui.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Host::Vulkan {
    VkDescriptorPool descriptors = VK_NULL_HANDLE;
    ImGui_ImplVulkanH_Window window{};
};

namespace {

constexpr std::uint32_t kImages = 2;

void check(VkResult result) {
    if (result == VK_SUCCESS) return;
    std::fprintf(stderr, "host: a Vulkan call failed with %d\n", result);
    std::abort();
}

}  // namespace

Host::Host(int width, int height, const std::function<void()>& add_fonts) : vulkan_(std::make_unique<Vulkan>()) {
    make_window(width, height);
    if (problem_.empty()) make_device();
    if (problem_.empty()) make_interface(add_fonts);
}

void Host::make_window(int width, int height) {
    if (glfwInit() != GLFW_TRUE || glfwVulkanSupported() != GLFW_TRUE) {
        problem_ = "there is no display with Vulkan here";
        return;
    }
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    window_ = glfwCreateWindow(width, height, "an engine", nullptr, nullptr);
    if (window_ == nullptr) problem_ = "the display refused a window";
}

void Host::make_device() {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo instance{};
    instance.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    instance.pApplicationInfo = &application;
    instance.ppEnabledExtensionNames = glfwGetRequiredInstanceExtensions(&instance.enabledExtensionCount);
    check(vkCreateInstance(&instance, nullptr, &graphics_.instance));
    check(glfwCreateWindowSurface(graphics_.instance, window_, nullptr, &vulkan_->window.Surface));
    std::uint32_t count = 1;
    vkEnumeratePhysicalDevices(graphics_.instance, &count, &graphics_.physical);
    VkBool32 presents = VK_FALSE;
    if (count > 0)
        check(vkGetPhysicalDeviceSurfaceSupportKHR(graphics_.physical, 0, vulkan_->window.Surface, &presents));
    if (presents == VK_FALSE) {
        problem_ = "the first Vulkan device cannot present to this window";
        return;
    }
    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkPhysicalDeviceVulkan13Features features13{};
    features13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    features13.synchronization2 = features13.dynamicRendering = features13.maintenance4 = VK_TRUE;
    VkPhysicalDeviceVulkan12Features features12{};
    features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features12.timelineSemaphore = features12.hostQueryReset = VK_TRUE;
    features12.pNext = &features13;
    const char* const swapchain = VK_KHR_SWAPCHAIN_EXTENSION_NAME;
    VkDeviceCreateInfo device{};
    device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device.pNext = &features12;
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    device.enabledExtensionCount = 1;
    device.ppEnabledExtensionNames = &swapchain;
    check(vkCreateDevice(graphics_.physical, &device, nullptr, &graphics_.device));
    vkGetDeviceQueue(graphics_.device, 0, 0, &graphics_.queue);
}

void Host::make_interface(const std::function<void()>& add_fonts) {
    ImGui_ImplVulkanH_Window& window = vulkan_->window;
    const VkFormat format = VK_FORMAT_B8G8R8A8_UNORM;
    window.SurfaceFormat = ImGui_ImplVulkanH_SelectSurfaceFormat(graphics_.physical, window.Surface, &format, 1,
                                                                 VK_COLORSPACE_SRGB_NONLINEAR_KHR);
    window.PresentMode = VK_PRESENT_MODE_FIFO_KHR;
    int width = 0, height = 0;
    glfwGetFramebufferSize(window_, &width, &height);
    ImGui_ImplVulkanH_CreateOrResizeWindow(graphics_.instance, graphics_.physical, graphics_.device, &window, 0,
                                           nullptr, width, height, kImages);
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 8};
    VkDescriptorPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
    pool.maxSets = 8;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    check(vkCreateDescriptorPool(graphics_.device, &pool, nullptr, &vulkan_->descriptors));

    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::StyleColorsDark();  // the application's choice of style
    if (add_fonts) add_fonts();
    ImGui_ImplGlfw_InitForVulkan(window_, true);
    ImGui_ImplVulkan_InitInfo info{};
    info.Instance = graphics_.instance;
    info.PhysicalDevice = graphics_.physical;
    info.Device = graphics_.device;
    info.Queue = graphics_.queue;
    info.DescriptorPool = vulkan_->descriptors;
    info.MinImageCount = kImages;
    info.ImageCount = window.ImageCount;
    info.MSAASamples = VK_SAMPLE_COUNT_1_BIT;
    info.CheckVkResultFn = check;
    ImGui_ImplVulkan_Init(&info, window.RenderPass);

    VkCommandBuffer commands = window.Frames[0].CommandBuffer;
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(vkBeginCommandBuffer(commands, &begin));
    ImGui_ImplVulkan_CreateFontsTexture(commands);
    check(vkEndCommandBuffer(commands));
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    check(vkQueueSubmit(graphics_.queue, 1, &submit, VK_NULL_HANDLE));
    check(vkDeviceWaitIdle(graphics_.device));
    ImGui_ImplVulkan_DestroyFontUploadObjects();
}

Host::~Host() {
    if (ImGui::GetCurrentContext() != nullptr) {
        vkDeviceWaitIdle(graphics_.device);
        ImGui_ImplVulkan_Shutdown();
        ImGui_ImplGlfw_Shutdown();
        ImGui::DestroyContext();
        vkDestroyDescriptorPool(graphics_.device, vulkan_->descriptors, nullptr);
        ImGui_ImplVulkanH_DestroyWindow(graphics_.instance, graphics_.device, &vulkan_->window, nullptr);
    }
    if (graphics_.device != VK_NULL_HANDLE) vkDestroyDevice(graphics_.device, nullptr);
    if (graphics_.instance != VK_NULL_HANDLE) vkDestroyInstance(graphics_.instance, nullptr);
    if (window_ != nullptr) glfwDestroyWindow(window_);
    glfwTerminate();
}

bool Host::begin_picture() {
    glfwPollEvents();
    if (glfwWindowShouldClose(window_) == GLFW_TRUE) return false;
    ImGui_ImplVulkan_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
    return true;
}

std::vector<Host::Heap> Host::heaps() const {
    std::uint32_t count = 0;
    check(vkEnumerateDeviceExtensionProperties(graphics_.physical, nullptr, &count, nullptr));
    std::vector<VkExtensionProperties> extensions(count);
    check(vkEnumerateDeviceExtensionProperties(graphics_.physical, nullptr, &count, extensions.data()));
    const bool has_budgets =
        std::any_of(extensions.begin(), extensions.end(), [](const VkExtensionProperties& extension) {
            return std::strcmp(extension.extensionName, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) == 0;
        });
    if (!has_budgets) return {};
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
    budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    VkPhysicalDeviceMemoryProperties2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    memory.pNext = &budget;
    vkGetPhysicalDeviceMemoryProperties2(graphics_.physical, &memory);
    std::vector<Heap> heaps;
    for (std::uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i)
        heaps.push_back({"heap " + std::to_string(i), budget.heapUsage[i], budget.heapBudget[i]});
    return heaps;
}

void Host::end_picture() {
    ImGui::Render();
    ImGui_ImplVulkanH_Window& window = vulkan_->window;
    const ImGui_ImplVulkanH_FrameSemaphores& semaphores = window.FrameSemaphores[window.SemaphoreIndex];
    if (vkAcquireNextImageKHR(graphics_.device, window.Swapchain, UINT64_MAX, semaphores.ImageAcquiredSemaphore,
                              VK_NULL_HANDLE, &window.FrameIndex) != VK_SUCCESS)
        return;  // the window was resized, which this sample does not handle
    const ImGui_ImplVulkanH_Frame& frame = window.Frames[window.FrameIndex];
    check(vkWaitForFences(graphics_.device, 1, &frame.Fence, VK_TRUE, UINT64_MAX));
    check(vkResetFences(graphics_.device, 1, &frame.Fence));
    check(vkResetCommandPool(graphics_.device, frame.CommandPool, 0));
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(vkBeginCommandBuffer(frame.CommandBuffer, &begin));
    VkRenderPassBeginInfo pass{};
    pass.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO;
    pass.renderPass = window.RenderPass;
    pass.framebuffer = frame.Framebuffer;
    pass.renderArea.extent = {static_cast<std::uint32_t>(window.Width), static_cast<std::uint32_t>(window.Height)};
    pass.clearValueCount = 1;
    pass.pClearValues = &window.ClearValue;
    vkCmdBeginRenderPass(frame.CommandBuffer, &pass, VK_SUBPASS_CONTENTS_INLINE);
    ImGui_ImplVulkan_RenderDrawData(ImGui::GetDrawData(), frame.CommandBuffer);
    vkCmdEndRenderPass(frame.CommandBuffer);
    check(vkEndCommandBuffer(frame.CommandBuffer));
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.waitSemaphoreCount = 1;
    submit.pWaitSemaphores = &semaphores.ImageAcquiredSemaphore;
    submit.pWaitDstStageMask = &stage;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &frame.CommandBuffer;
    submit.signalSemaphoreCount = 1;
    submit.pSignalSemaphores = &semaphores.RenderCompleteSemaphore;
    const std::lock_guard lock(graphics_.queue_mutex);
    check(vkQueueSubmit(graphics_.queue, 1, &submit, frame.Fence));
    VkPresentInfoKHR present{};
    present.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR;
    present.waitSemaphoreCount = 1;
    present.pWaitSemaphores = &semaphores.RenderCompleteSemaphore;
    present.swapchainCount = 1;
    present.pSwapchains = &window.Swapchain;
    present.pImageIndices = &window.FrameIndex;
    vkQueuePresentKHR(graphics_.queue, &present);
    window.SemaphoreIndex = (window.SemaphoreIndex + 1) % window.ImageCount;
}
