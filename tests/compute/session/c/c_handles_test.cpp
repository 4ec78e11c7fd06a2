// Handles of kinetograph.h that were destroyed, are of another type, or were never made.
#include "c_fixture.hpp"

#include <atomic>
#include <thread>

namespace kinetograph::c::testing {
namespace {

using CHandles = CTest;

constexpr const char* kDestroyed = "the handle was destroyed before";

/// Every call with `clip` is refused, with that in its sentence.
void expect_refused(kg_clip* clip, const kg_latents& latents, const char* sentence) {
    auto frame = sized<kg_frame>();
    auto info = sized<kg_clip_info>();
    std::uint32_t pushed = 7, finite = 7;
    void* tensor = nullptr;
    EXPECT_SENTENCE(kg_clip_push(clip, &latents, 0, &pushed), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_EQ(pushed, 0U);
    EXPECT_SENTENCE(kg_clip_acquire(clip, 0, 0, &frame), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SENTENCE(kg_clip_wait(clip, 1, nullptr), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SENTENCE(kg_clip_finite(clip, 1, &finite), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SENTENCE(kg_clip_export(clip, 1, 0, &tensor), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SENTENCE(kg_clip_release(clip, 1, nullptr), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SENTENCE(kg_clip_reset(clip), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SENTENCE(kg_clip_cancel(clip), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SENTENCE(kg_clip_describe(clip, &info), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SENTENCE(kg_clip_close(clip, 0), KG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SENTENCE(kg_clip_destroy(clip), KG_ERROR_INVALID_ARGUMENT, sentence);
}

TEST_F(CHandles, OfAClipThatWasDestroyedAreRefusedByEveryCallWhateverIsMadeLater) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(1);
    const kg_latents latents = view_of(values);
    kg_clip* const destroyed = clip().release();
    ASSERT_EQ(kg_clip_destroy(destroyed), KG_OK) << kg_last_error();
    expect_refused(destroyed, latents, kDestroyed);
    EXPECT_SENTENCE(kg_clip_cancel(destroyed), KG_ERROR_INVALID_ARGUMENT,
                    "kg_clip_cancel: the handle was destroyed before");
    for (int i = 0; i < 3; ++i) {
        const auto later = clip();
        expect_refused(destroyed, latents, kDestroyed);
        EXPECT_EQ(decode(later.get(), values).size(), 1U);
    }
}

TEST_F(CHandles, OfEveryTypeAreDestroyedOnceAndRefusedAfterwards) {
    ASSERT_NO_FATAL_FAILURE(open());
    kg_stop* stop = nullptr;
    ASSERT_EQ(kg_stop_create(instance_.get(), KG_FOREVER, &stop), KG_OK);
    kg_instance* const instance = instance_.release();
    kg_weights* const weights = weights_.release();
    kg_model* const model = model_.release();
    EXPECT_EQ(kg_stop_destroy(stop), KG_OK);
    EXPECT_EQ(kg_model_destroy(model), KG_OK);
    EXPECT_EQ(kg_weights_destroy(weights), KG_OK);
    EXPECT_EQ(kg_instance_destroy(instance), KG_OK);
    EXPECT_SENTENCE(kg_stop_destroy(stop), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    EXPECT_SENTENCE(kg_model_destroy(model), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    EXPECT_SENTENCE(kg_weights_destroy(weights), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    EXPECT_SENTENCE(kg_instance_destroy(instance), KG_ERROR_INVALID_ARGUMENT, kDestroyed);

    EXPECT_SENTENCE(kg_stop_request(stop), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    EXPECT_SENTENCE(kg_stop_create(instance, 0, &stop), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    kg_vulkan* vulkan = nullptr;
    EXPECT_SENTENCE(kg_vulkan_create(instance, nullptr, &vulkan), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    kg_weights* opened = nullptr;
    EXPECT_SENTENCE(kg_weights_open(instance, kWeights, &opened), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    kg_model* made = nullptr;
    EXPECT_SENTENCE(kg_model_create(weights, nullptr, &made), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    auto weights_info = sized<kg_weights_info>();
    EXPECT_SENTENCE(kg_weights_describe(weights, &weights_info), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    auto model_info = sized<kg_model_info>();
    EXPECT_SENTENCE(kg_model_describe(model, &model_info), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    kg_memory* memory = nullptr;
    EXPECT_SENTENCE(kg_memory_import(model, 0, 4096, 0, &memory), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    kg_clip* clip = nullptr;
    EXPECT_SENTENCE(kg_clip_create(model, kHeight, kWidth, nullptr, &clip), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    EXPECT_SENTENCE(kg_clip_open(model, "clip.safetensors", nullptr, &clip), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
}

TEST_F(CHandles, NamedByStructuresAreCheckedToo) {
    ASSERT_NO_FATAL_FAILURE(open());
    kg_stop* stop = nullptr;
    ASSERT_EQ(kg_stop_create(instance_.get(), KG_FOREVER, &stop), KG_OK);
    ASSERT_EQ(kg_stop_destroy(stop), KG_OK);
    kg_weights* weights = nullptr;
    EXPECT_SENTENCE(kg_weights_open_until(instance_.get(), kWeights, stop, &weights), KG_ERROR_INVALID_ARGUMENT,
                    "stop: the handle was destroyed before");
    auto model_desc = sized<kg_model_desc>();
    model_desc.device = "cpu";
    model_desc.stop = stop;
    kg_model* model = nullptr;
    EXPECT_SENTENCE(kg_model_create(weights_.get(), &model_desc, &model), KG_ERROR_INVALID_ARGUMENT,
                    "kg_model_desc.stop: the handle was destroyed before");
    model_desc.stop = nullptr;
    model_desc.vulkan = reinterpret_cast<kg_vulkan*>(weights_.get());
    EXPECT_SENTENCE(kg_model_create(weights_.get(), &model_desc, &model), KG_ERROR_INVALID_ARGUMENT,
                    "kg_model_desc.vulkan: the handle is a kg_weights and not a kg_vulkan");
    auto clip_desc = sized<kg_clip_desc>();
    clip_desc.stop = stop;
    kg_clip* made = nullptr;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &clip_desc, &made), KG_ERROR_INVALID_ARGUMENT,
                    "kg_clip_desc.stop: the handle was destroyed before");
}

TEST_F(CHandles, OfAnotherTypeOrOfNoneAreNamed) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(1);
    const kg_latents latents = view_of(values);
    expect_refused(reinterpret_cast<kg_clip*>(model_.get()), latents, "the handle is a kg_model and not a kg_clip");
    float of_the_application = 0;
    expect_refused(reinterpret_cast<kg_clip*>(&of_the_application), latents, "is no handle that this library has made");
    const auto made = clip();
    expect_refused(reinterpret_cast<kg_clip*>(reinterpret_cast<std::uintptr_t>(made.get()) + 1), latents,
                   "is no handle that this library has made");
    EXPECT_SENTENCE(kg_model_destroy(reinterpret_cast<kg_model*>(made.get())), KG_ERROR_INVALID_ARGUMENT,
                    "kg_model_destroy: the handle is a kg_clip and not a kg_model");
    EXPECT_EQ(decode(made.get(), values).size(), 1U);
}

TEST_F(CHandles, AFrameOfAClipThatWasDestroyedIsNoOtherClipsFrame) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(1);
    const kg_latents latents = view_of(values);
    auto frame = sized<kg_frame>();
    auto destroyed = clip();
    ASSERT_EQ(kg_clip_push(destroyed.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_acquire(destroyed.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_release(destroyed.get(), frame.id, nullptr), KG_OK);
    kg_clip* const handle = destroyed.get();
    destroyed.reset();
    const auto later = clip();
    ASSERT_EQ(kg_clip_push(later.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto other = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(later.get(), 0, kLong, &other), KG_OK) << kg_last_error();
    EXPECT_SENTENCE(kg_clip_release(handle, frame.id, nullptr), KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    EXPECT_SENTENCE(kg_clip_release(later.get(), frame.id, nullptr), KG_ERROR_INVALID_ARGUMENT, "is not acquired");
    EXPECT_EQ(kg_clip_release(later.get(), other.id, nullptr), KG_OK);
}

TEST_F(CHandles, AreDestroyedOnceIfTwoThreadsDestroyThem) {
    for (int round = 0; round < 200; ++round) {
        kg_stop* stop = nullptr;
        ASSERT_EQ(kg_stop_create(instance_.get(), KG_FOREVER, &stop), KG_OK);
        std::atomic<int> destroyed{0};
        const auto destroy = [&] {
            if (kg_stop_destroy(stop) == KG_OK) ++destroyed;
        };
        std::thread other(destroy);
        destroy();
        other.join();
        EXPECT_EQ(destroyed, 1);
    }
}

TEST_F(CHandles, AreDestroyedWhileAnotherThreadIsInACallWithoutTouchingFreedMemory) {
    ASSERT_NO_FATAL_FAILURE(open());
    kg_clip* const made = clip().release();
    std::atomic<bool> begun{false};
    std::thread other([&] {
        auto info = sized<kg_clip_info>();
        kg_result result = KG_OK;
        while (result == KG_OK) {
            result = kg_clip_describe(made, &info);
            begun = true;
        }
        EXPECT_SENTENCE(result, KG_ERROR_INVALID_ARGUMENT, kDestroyed);
    });
    while (!begun) std::this_thread::yield();
    EXPECT_EQ(kg_clip_destroy(made), KG_OK) << kg_last_error();
    other.join();
}

}  // namespace
}  // namespace kinetograph::c::testing
