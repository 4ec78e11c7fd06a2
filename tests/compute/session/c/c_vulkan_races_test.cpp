// Calls of kinetograph.h with Vulkan devices, by several threads at a time and in drawn order.
#include "races.hpp"

#include <kinetograph/samples/embed_vulkan/host.hpp>

namespace kinetograph::c::testing {
namespace {

class CVulkanRaces : public CTest {
  protected:
    static void take_an_image(kg_clip* clip) {
        auto frame = sized<kg_frame>();
        const kg_result got = kg_clip_acquire(clip, 0, kShort, &frame);
        expect_status(got, "kg_clip_acquire");
        if (got != KG_OK) return;
        EXPECT_NE(frame.image, 0U);
        EXPECT_EQ(kg_clip_release(clip, frame.id, nullptr), KG_OK) << kg_last_error();
    }
    void create() {
        devices_.renew("kg_vulkan_create",
                       [&](kg_vulkan** made) { return kg_vulkan_create(instance_.get(), nullptr, made); });
    }
    void adopt(const kg_vulkan_desc& desc) {
        devices_.renew("kg_vulkan_adopt",
                       [&](kg_vulkan** made) { return kg_vulkan_adopt(instance_.get(), &desc, made); });
    }
    /// A model, and clips of it, while others destroy the device that they were made with.
    void use() {
        auto info = sized<kg_vulkan_info>();
        expect_status(kg_vulkan_describe(devices_.get(), &info), "kg_vulkan_describe");
        auto desc = sized<kg_model_desc>();
        desc.device = "cpu";
        desc.vulkan = devices_.get();
        kg_model* model = nullptr;
        expect_status(kg_model_create(weights_.get(), &desc, &model), "kg_model_create");
        const Owned<kg_model> owned(model);
        if (model == nullptr) return;
        auto images = sized<kg_clip_desc>();
        images.storage = KG_STORAGE_IMAGE;
        kg_clip* clip = nullptr;
        EXPECT_EQ(kg_clip_create(model, kHeight, kWidth, &images, &clip), KG_OK) << kg_last_error();
        const Owned<kg_clip> owned_clip(clip);
        EXPECT_EQ(kg_clip_push(clip, &latents_, kLong, nullptr), KG_OK) << kg_last_error();
    }

    std::vector<float> values_ = latents_of(1);
    kg_latents latents_ = view_of(values_);
    Host host_;  // outlives what adopts it
    Slot<kg_vulkan> devices_;
};

TEST_F(CVulkanRaces, OfCallsWithDevicesLeaveAClipOfImagesUsable) {
    ASSERT_TRUE(host_.usable);
    auto desc = sized<kg_vulkan_desc>();
    desc.instance = host_.instance;
    desc.get_instance_proc_addr = reinterpret_cast<void (*)()>(&vkGetInstanceProcAddr);
    desc.physical_device = host_.physical;
    desc.device = host_.device;
    desc.graphics = {host_.queue, host_.family, 0};
    desc.extensions = host_.extensions.data();
    desc.extension_count = static_cast<std::uint32_t>(host_.extensions.size());
    kg_vulkan* vulkan = nullptr;
    ASSERT_EQ(kg_vulkan_create(instance_.get(), nullptr, &vulkan), KG_OK) << kg_last_error();
    const Owned<kg_vulkan> kept(vulkan);
    ASSERT_NO_FATAL_FAILURE(open("cpu", vulkan));
    const auto made = clip(KG_STORAGE_IMAGE);
    create();
    race({
        [&] { create(); },
        [&] { adopt(desc); },
        [&] { use(); },
        [&] {
            for (const std::uint32_t kind : {KG_QUEUE_GRAPHICS, KG_QUEUE_COMPUTE, KG_QUEUE_TRANSFER}) {
                EXPECT_EQ(kg_vulkan_lock(vulkan, kind), KG_OK) << kg_last_error();
                EXPECT_EQ(kg_vulkan_unlock(vulkan, kind), KG_OK) << kg_last_error();
            }
        },
        [&] { expect_status(kg_clip_push(made.get(), &latents_, kShort, nullptr), "kg_clip_push"); },
        [&] { take_an_image(made.get()); },
        [&] { expect_status(kg_clip_reset(made.get()), "kg_clip_reset"); },
    });
    devices_.put(nullptr);
    ASSERT_EQ(kg_clip_reset(made.get()), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_push(made.get(), &latents_, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
    EXPECT_EQ(frame.index, 0);
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK) << kg_last_error();
}

}  // namespace
}  // namespace kinetograph::c::testing
