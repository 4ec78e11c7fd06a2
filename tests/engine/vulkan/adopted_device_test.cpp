// A host application that links libvulkan directly, owns its device, and lends it to us. That this program links and
// runs shows that our copy of volk does not replace Vulkan's functions.
#include <vulkan/vulkan.h>

#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace kinetograph::vulkan {
namespace {

constexpr std::uint64_t kBytes = 1 << 20;

struct Fill {
    graph::Buffer output;
};

class LentDevice : public ::testing::Test {
  protected:
    void SetUp() override {
        VkApplicationInfo application{};
        application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        application.pApplicationName = "host";
        application.apiVersion = VK_API_VERSION_1_3;
        const char* layer = "VK_LAYER_KHRONOS_validation";
        const std::array extensions{VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
        const std::array checks{VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
                                VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT};
        VkDebugUtilsMessengerCreateInfoEXT messenger{};
        messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
        messenger.messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
        messenger.messageType =
            VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
        messenger.pfnUserCallback = &ValidationLog::callback;
        messenger.pUserData = &log_;
        VkValidationFeaturesEXT features{};
        features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
        features.pNext = &messenger;
        features.enabledValidationFeatureCount = checks.size();
        features.pEnabledValidationFeatures = checks.data();
        VkInstanceCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        info.pNext = &features;
        info.pApplicationInfo = &application;
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = &layer;
        info.enabledExtensionCount = extensions.size();
        info.ppEnabledExtensionNames = extensions.data();
        ASSERT_EQ(vkCreateInstance(&info, nullptr, &instance_), VK_SUCCESS);
        const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
            vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
        create(instance_, &messenger, nullptr, &messenger_);
        std::uint32_t count = 1;
        vkEnumeratePhysicalDevices(instance_, &count, &physical_);
        ASSERT_EQ(count, 1U);
    }
    /// A device as a host creates it: features through the structures of extensions, not of versions.
    void create_device(VkBool32 dynamic_rendering) {
        rendering_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES;
        rendering_.dynamicRendering = dynamic_rendering;
        synchronization_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES;
        synchronization_.pNext = &maintenance_;
        maintenance_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES;
        maintenance_.pNext = &rendering_;
        maintenance_.maintenance4 = VK_TRUE;
        synchronization_.synchronization2 = VK_TRUE;
        reset_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES;
        reset_.pNext = &synchronization_;
        reset_.hostQueryReset = VK_TRUE;
        timeline_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
        timeline_.pNext = &reset_;
        timeline_.timelineSemaphore = VK_TRUE;
        const float priority = 1.0F;
        VkDeviceQueueCreateInfo queue{};
        queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queue.queueCount = 1;
        queue.pQueuePriorities = &priority;
        VkDeviceCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        info.pNext = &timeline_;
        info.queueCreateInfoCount = 1;
        info.pQueueCreateInfos = &queue;
        ASSERT_EQ(vkCreateDevice(physical_, &info, nullptr, &device_), VK_SUCCESS);
        vkGetDeviceQueue(device_, 0, 0, &queue_);
    }
    void TearDown() override {
        vkDestroyDevice(device_, nullptr);
        const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
            vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
        destroy(instance_, messenger_, nullptr);
        vkDestroyInstance(instance_, nullptr);
        EXPECT_EQ(log_.text().empty(), complaint_.empty()) << log_.text();
        EXPECT_NE(log_.text().find(complaint_), std::string::npos) << log_.text();
    }
    AdoptedDevice adopted() const {
        return {.physical = physical_,
                .device = device_,
                .graphics = {queue_, 0, nullptr},
                .compute = {},
                .transfer = {},
                .create_chain = &timeline_,
                .extensions = {}};
    }

    ValidationLog log_;
    std::string complaint_;  ///< of the layers, at the end; empty: none
    VkInstance instance_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    VkPhysicalDevice physical_ = VK_NULL_HANDLE;
    VkDevice device_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline_{};
    VkPhysicalDeviceHostQueryResetFeatures reset_{};
    VkPhysicalDeviceSynchronization2Features synchronization_{};
    VkPhysicalDeviceMaintenance4Features maintenance_{};
    VkPhysicalDeviceDynamicRenderingFeatures rendering_{};
};

TEST_F(LentDevice, RunsAGraphAndIsStillTheHostsAfterwards) {
    create_device(VK_TRUE);
    {
        const auto instance = Instance::adopt(instance_, &vkGetInstanceProcAddr);
        auto device = Device::adopt(*instance, adopted());
        ASSERT_TRUE(device) << device.error().message;
        EXPECT_FALSE((*device)->report().extensions.external_memory_fd);
        auto lane = VulkanLane::create(**device, graph::Lane::Graphics);
        ASSERT_TRUE(lane);
        VulkanMemory memory(**device);
        auto result = Buffer::create(**device, "result", kBytes, {.memory = MemoryUse::Readback});
        ASSERT_TRUE(result);
        graph::ExecutorDesc desc;
        desc.lanes = {lane->get()};
        desc.memory = {{graph::MemoryDomain::Graphics, &memory}};
        auto executor = graph::Executor::create(std::move(desc));
        ASSERT_TRUE(executor);
        graph::FrameGraph frame;
        const graph::Buffer target = frame.import_buffer(
            "result", {.bytes = kBytes, .domain = graph::MemoryDomain::Graphics}, physical_of(**result));
        frame.add_pass<Fill>(
            "fill", graph::Lane::Graphics,
            [&](graph::PassBuilder& pass, Fill& data) {
                data.output = pass.write(target, graph::Access::TransferWrite);
                pass.has_side_effect();
            },
            [](const Fill& data, PassContext& context) {  // a host records with its own functions
                vkCmdFillBuffer(context.commands(), context.range(data.output).buffer, 0, VK_WHOLE_SIZE, 0x2a2a2a2aU);
            });
        const auto execution = (*executor)->execute(frame);
        ASSERT_TRUE(execution) << execution.error().message;
        ASSERT_TRUE((*executor)->wait(*execution));
        std::uint32_t value = 0;
        std::memcpy(&value, (*result)->mapped(), sizeof(value));
        EXPECT_EQ(value, 0x2a2a2a2aU);
    }
    VkFenceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    VkFence fence = VK_NULL_HANDLE;
    ASSERT_EQ(vkCreateFence(device_, &info, nullptr, &fence), VK_SUCCESS);
    ASSERT_EQ(vkQueueSubmit(queue_, 0, nullptr, fence), VK_SUCCESS);
    EXPECT_EQ(vkWaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX), VK_SUCCESS);
    vkDestroyFence(device_, fence, nullptr);
}

TEST_F(LentDevice, AHostsBatchThatWaitsForTheHostDoesNotKeepOursFromEnding) {
    create_device(VK_TRUE);
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    VkSemaphore later = VK_NULL_HANDLE;
    ASSERT_EQ(vkCreateSemaphore(device_, &info, nullptr, &later), VK_SUCCESS);
    {
        const auto instance = Instance::adopt(instance_, &vkGetInstanceProcAddr);
        const auto device = Device::adopt(*instance, adopted()).value();
        const auto lane = VulkanLane::create(*device, graph::Lane::Graphics).value();
        const std::uint64_t value = 1;
        const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
        VkTimelineSemaphoreSubmitInfo values{};
        values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
        values.waitSemaphoreValueCount = 1;
        values.pWaitSemaphoreValues = &value;
        VkSubmitInfo submit{};
        submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        submit.pNext = &values;
        submit.waitSemaphoreCount = 1;
        submit.pWaitSemaphores = &later;
        submit.pWaitDstStageMask = &stage;
        ASSERT_EQ(vkQueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
    }
    VkSemaphoreSignalInfo signal{};
    signal.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
    signal.semaphore = later;
    signal.value = 1;
    ASSERT_EQ(vkSignalSemaphore(device_, &signal), VK_SUCCESS);
    ASSERT_EQ(vkQueueWaitIdle(queue_), VK_SUCCESS);
    vkDestroySemaphore(device_, later, nullptr);
    complaint_ = "VkFence";  // still held by the queue
}

TEST_F(LentDevice, AFeatureThatTheHostDidNotEnableIsNamed) {
    create_device(VK_FALSE);
    const auto instance = Instance::adopt(instance_, &vkGetInstanceProcAddr);
    const auto device = Device::adopt(*instance, adopted());
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, ErrorCode::Unsupported);
    EXPECT_NE(device.error().message.find("created without the features dynamicRendering"), std::string::npos)
        << device.error().message;
}

TEST_F(LentDevice, ADeviceWithoutAGraphicsQueueIsRefused) {
    create_device(VK_TRUE);
    const auto instance = Instance::adopt(instance_, &vkGetInstanceProcAddr);
    AdoptedDevice half = adopted();
    half.graphics = {};
    const auto device = Device::adopt(*instance, half);
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace kinetograph::vulkan
