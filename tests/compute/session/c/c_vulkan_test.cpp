// kinetograph.h with frames in images: of the library's Vulkan device, and of an application's.
#include "c_fixture.hpp"

#include <kinetograph/samples/embed_vulkan/host.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <thread>

namespace kinetograph::c::testing {
namespace {

using CInterfaceWithVulkan = CTest;

/// The library's device, with the functions that a test calls itself.
struct OwnDevice {
    explicit OwnDevice(kg_instance* instance) {
        kg_vulkan* made = nullptr;
        EXPECT_EQ(kg_vulkan_create(instance, nullptr, &made), KG_OK) << kg_last_error();
        vulkan.reset(made);
        info.size = sizeof(info);
        EXPECT_EQ(kg_vulkan_describe(made, &info), KG_OK);
    }
    VkDevice device() const { return static_cast<VkDevice>(info.device); }
    template <class Function>
    Function function(const char* name) const {
        const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(info.get_instance_proc_addr);
        const auto instance = static_cast<VkInstance>(info.instance);
        const auto of_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(get(instance, "vkGetDeviceProcAddr"));
        return reinterpret_cast<Function>(of_device(device(), name));
    }
    VkSemaphore timeline() const {
        VkSemaphoreTypeCreateInfo type{};
        type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
        type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
        VkSemaphoreCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
        info.pNext = &type;
        VkSemaphore made = VK_NULL_HANDLE;
        EXPECT_EQ(function<PFN_vkCreateSemaphore>("vkCreateSemaphore")(device(), &info, nullptr, &made), VK_SUCCESS);
        return made;
    }
    void signal(VkSemaphore semaphore, std::uint64_t value) const {
        VkSemaphoreSignalInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = semaphore;
        info.value = value;
        EXPECT_EQ(function<PFN_vkSignalSemaphore>("vkSignalSemaphore")(device(), &info), VK_SUCCESS);
    }
    std::uint64_t value(std::uint64_t semaphore) const {
        std::uint64_t value = 0;
        function<PFN_vkGetSemaphoreCounterValue>("vkGetSemaphoreCounterValue")(
            device(), reinterpret_cast<VkSemaphore>(semaphore), &value);
        return value;
    }

    Owned<kg_vulkan> vulkan;
    kg_vulkan_info info{};
};

TEST_F(CInterfaceWithVulkan, FramesAreImagesOfTheLibrarysDevice) {
    OwnDevice own(instance_.get());
    ASSERT_NO_FATAL_FAILURE(open("cpu", own.vulkan.get()));
    const VkSemaphore read = own.timeline();
    {
        auto made = clip(KG_STORAGE_IMAGE, KG_FORMAT_RGBA8, 5);
        own.vulkan.reset();  // the clip keeps it
        const auto values = latents_of(1);
        const kg_latents latents = view_of(values);
        auto frame = sized<kg_frame>();
        std::uint64_t first_image = 0;
        for (std::uint64_t step = 1; step <= 3; ++step) {
            ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
            for (int i = 0; i < (step == 1 ? 1 : 4); ++i) {
                ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
                EXPECT_NE(frame.image, 0U);
                EXPECT_NE(frame.image_view, 0U);
                EXPECT_EQ(frame.image_format, VK_FORMAT_R8G8B8A8_UNORM);
                EXPECT_EQ(frame.image_layout, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
                EXPECT_EQ(frame.planes[0], nullptr);
                EXPECT_GE(own.value(frame.semaphore), frame.value);
                void* tensor = nullptr;
                EXPECT_EQ(kg_clip_export(made.get(), frame.id, KG_LAYOUT_HWC, &tensor), KG_ERROR_UNSUPPORTED);
                EXPECT_EQ(tensor, nullptr);
                if (first_image == 0) first_image = frame.image;
                kg_moment done{};
                done.kind = KG_MOMENT_SEMAPHORE;
                done.semaphore = reinterpret_cast<std::uint64_t>(read);
                done.value = step;
                ASSERT_EQ(kg_clip_release(made.get(), frame.id, &done), KG_OK) << kg_last_error();
            }
            own.signal(read, step);
        }
        EXPECT_NE(first_image, 0U);
    }
    own.function<PFN_vkDestroySemaphore>("vkDestroySemaphore")(own.device(), read, nullptr);
}

/// A push, on a thread of its own, of latents that the application has promised. Whether it waits for the step itself
/// depends on the device's queues.
class PromisedLatents {
  public:
    PromisedLatents(const OwnDevice& own, kg_clip* clip) : own_(own) {
        kg_latents latents = view_of(values_);
        latents.memory = KG_MEMORY_DEVICE;
        latents.ready.kind = KG_MOMENT_SEMAPHORE;
        latents.ready.semaphore = reinterpret_cast<std::uint64_t>(written_);
        latents.ready.value = 1;
        thread_ = std::thread([this, clip, latents] { result_ = kg_clip_push(clip, &latents, kLong, nullptr); });
        auto info = sized<kg_clip_info>();
        while (info.unmoved_ns == 0 && result_ >= 0) kg_clip_describe(clip, &info);
    }
    PromisedLatents(const PromisedLatents&) = delete;
    PromisedLatents& operator=(const PromisedLatents&) = delete;
    ~PromisedLatents() {
        own_.function<PFN_vkDestroySemaphore>("vkDestroySemaphore")(own_.device(), written_, nullptr);
    }

    void expect_end() {
        thread_.join();
        EXPECT_TRUE(result_ == KG_OK || result_ == KG_ERROR_CANCELLED) << result_;
    }
    void come() const { own_.signal(written_, 1); }

  private:
    const OwnDevice& own_;
    const VkSemaphore written_ = own_.timeline();
    const std::vector<float> values_ = latents_of(1);
    std::atomic<kg_result> result_{KG_TIMEOUT};
    std::thread thread_;
};

TEST_F(CInterfaceWithVulkan, AClipWhoseLatentsDoNotComeIsCancelledAndClosedInTime) {
    const OwnDevice own(instance_.get());
    ASSERT_NO_FATAL_FAILURE(open("cpu", own.vulkan.get()));
    auto made = clip(KG_STORAGE_IMAGE);
    PromisedLatents latents(own, made.get());
    auto frame = sized<kg_frame>();
    if (kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame) == KG_OK) {
        EXPECT_EQ(kg_clip_cancel(made.get()), KG_OK);
        EXPECT_EQ(kg_clip_wait(made.get(), frame.id, nullptr), KG_ERROR_CANCELLED);
        EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    }
    EXPECT_EQ(kg_clip_cancel(made.get()), KG_OK);
    latents.expect_end();
    EXPECT_EQ(kg_clip_close(made.get(), 0), KG_TIMEOUT);
    latents.come();
    EXPECT_EQ(kg_clip_close(made.get(), kLong), KG_OK) << kg_last_error();
    made.reset();
}

TEST_F(CInterfaceWithVulkan, ACancelledClipBeginsAnewOnceItsStepIsDone) {
    const OwnDevice own(instance_.get());
    ASSERT_NO_FATAL_FAILURE(open("cpu", own.vulkan.get()));
    auto made = clip(KG_STORAGE_IMAGE);
    PromisedLatents promised(own, made.get());
    EXPECT_EQ(kg_clip_cancel(made.get()), KG_OK);
    promised.expect_end();
    promised.come();
    ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    const auto values = latents_of(2);
    const kg_latents latents = view_of(values);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    for (std::int64_t index = 0; index < 5; ++index) {
        auto frame = sized<kg_frame>();
        ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
        EXPECT_EQ(frame.index, index);
        EXPECT_EQ(frame.generation, 1U);
        EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    }
    made.reset();
}

TEST_F(CInterfaceWithVulkan, QueuesAreLockedByKind) {
    const OwnDevice own(instance_.get());
    EXPECT_NE(own.info.queues[KG_QUEUE_GRAPHICS].queue, nullptr);
    ASSERT_EQ(kg_vulkan_lock(own.vulkan.get(), KG_QUEUE_GRAPHICS), KG_OK);
    std::thread other([&] {
        EXPECT_EQ(kg_vulkan_lock(own.vulkan.get(), KG_QUEUE_GRAPHICS), KG_OK);
        EXPECT_EQ(kg_vulkan_unlock(own.vulkan.get(), KG_QUEUE_GRAPHICS), KG_OK);
    });
    ASSERT_EQ(kg_vulkan_unlock(own.vulkan.get(), KG_QUEUE_GRAPHICS), KG_OK);
    other.join();
    EXPECT_EQ(kg_vulkan_lock(own.vulkan.get(), 3), KG_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(kg_last_error(), "3 is no kg_queue_kind");
}

/// Decoded by the CPU, and in the application's own VkDevice.
class CImagesOfAnApplication : public CTest, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, CImagesOfAnApplication, ::testing::Values("cpu", "vulkan"),
                         [](const auto& device) { return std::string(device.param); });

TEST_P(CImagesOfAnApplication, AreDrawnByIt) {
    Host host;
    ASSERT_TRUE(host.usable);
    auto desc = sized<kg_vulkan_desc>();
    desc.instance = host.instance;
    desc.get_instance_proc_addr = reinterpret_cast<void (*)()>(&vkGetInstanceProcAddr);
    desc.physical_device = host.physical;
    desc.device = host.device;
    desc.graphics = {host.queue, host.family, 0};
    desc.device_create_chain = host.create_chain();
    desc.extensions = host.extensions.data();
    desc.extension_count = static_cast<std::uint32_t>(host.extensions.size());
    kg_vulkan* vulkan = nullptr;
    ASSERT_EQ(kg_vulkan_adopt(instance_.get(), &desc, &vulkan), KG_OK) << kg_last_error();
    Owned<kg_vulkan> owned(vulkan);
    ASSERT_NO_FATAL_FAILURE(open(GetParam(), vulkan));
    const auto values = latents_of(1);
    const auto wanted = decode(clip().get(), values)[0];
    auto made = clip(KG_STORAGE_IMAGE);
    auto info = sized<kg_clip_info>();
    ASSERT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
    EXPECT_EQ(std::string(info.route).find("computes and draws in one Vulkan device") != std::string::npos,
              std::string(GetParam()) == "vulkan")
        << info.route;
    const kg_latents latents = view_of(values);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_vulkan_lock(vulkan, KG_QUEUE_GRAPHICS), KG_OK);
    const std::uint64_t drawn =
        host.submit(reinterpret_cast<VkImage>(frame.image), static_cast<VkImageLayout>(frame.image_layout),
                    {frame.width, frame.height}, reinterpret_cast<VkSemaphore>(frame.semaphore), frame.value);
    ASSERT_EQ(kg_vulkan_unlock(vulkan, KG_QUEUE_GRAPHICS), KG_OK);
    kg_moment done{};
    done.kind = KG_MOMENT_SEMAPHORE;
    done.semaphore = reinterpret_cast<std::uint64_t>(host.done);
    done.value = drawn;
    ASSERT_EQ(kg_clip_release(made.get(), frame.id, &done), KG_OK) << kg_last_error();
    ::testing::internal::CaptureStdout();
    host.print(drawn, frame.index, std::chrono::nanoseconds(frame.presentation_ns));
    const std::size_t centre = (kFrameHeight / 2 * kFrameWidth + kFrameWidth / 2) * 4;
    std::array<char, 80> line{};
    std::snprintf(line.data(), line.size(), "frame %3d, due at %.3f s, centre pixel %3d %3d %3d\n", 0, 0.0,
                  wanted[centre], wanted[centre + 1], wanted[centre + 2]);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), line.data());
    made.reset();
    model_.reset();
    owned.reset();  // before the application's device
}

TEST_F(CInterfaceWithVulkan, AnApplicationsDeviceIsChecked) {
    auto desc = sized<kg_vulkan_desc>();
    kg_vulkan* vulkan = nullptr;
    EXPECT_EQ(kg_vulkan_adopt(instance_.get(), &desc, &vulkan), KG_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(kg_last_error(), "kg_vulkan_desc.instance is NULL");
    Host host;
    ASSERT_TRUE(host.usable);
    desc.instance = host.instance;
    desc.get_instance_proc_addr = reinterpret_cast<void (*)()>(&vkGetInstanceProcAddr);
    desc.physical_device = host.physical;
    desc.device = host.device;
    EXPECT_EQ(kg_vulkan_adopt(instance_.get(), &desc, &vulkan), KG_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(kg_last_error()).find("graphics"), std::string::npos) << kg_last_error();
}

TEST_F(CInterfaceWithVulkan, ADeviceThatIsNotThereIsSaidToBeMissing) {
    kg_vulkan* vulkan = nullptr;
    EXPECT_NE(kg_vulkan_create(instance_.get(), "no such device", &vulkan), KG_OK);
    EXPECT_NE(std::string(kg_last_error()).find("no such device"), std::string::npos) << kg_last_error();
}

}  // namespace
}  // namespace kinetograph::c::testing
