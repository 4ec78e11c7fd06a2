// Clips of kinetograph.h on the CPU: stopping, cancelling and closing them, and the threads that use one.
#include "c_fixture.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace kinetograph::c::testing {
namespace {

using CInterface = CTest;

TEST_F(CInterface, ResetBeginsAnewAndCancelEndsWaiting) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    const auto values = latents_of(2);
    const auto wanted = decode(made.get(), values);
    ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    EXPECT_EQ(decode(made.get(), values), wanted);
    std::thread other([&] { EXPECT_EQ(kg_clip_cancel(made.get()), KG_OK); });
    auto frame = sized<kg_frame>();
    kg_result result = KG_TIMEOUT;
    while (result == KG_TIMEOUT) result = kg_clip_acquire(made.get(), 0, kLong, &frame);
    EXPECT_SENTENCE(result, KG_ERROR_CANCELLED, "cancelled");
    other.join();
    const kg_latents latents = view_of(values);
    EXPECT_EQ(kg_clip_push(made.get(), &latents, 0, nullptr), KG_ERROR_CANCELLED);
    ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    EXPECT_EQ(decode(made.get(), values), wanted);
}

TEST_F(CInterface, AStopEndsTheCallsThatLast) {
    kg_stop* made = nullptr;
    ASSERT_EQ(kg_stop_create(instance_.get(), KG_FOREVER, &made), KG_OK) << kg_last_error();
    const Owned<kg_stop> stop(made);
    const std::string path = KINETOGRAPH_ASSETS "/demo_tiny.safetensors";
    kg_weights* weights = nullptr;
    ASSERT_EQ(kg_weights_open_until(instance_.get(), path.c_str(), stop.get(), &weights), KG_OK) << kg_last_error();
    weights_.reset(weights);
    auto model_desc = sized<kg_model_desc>();
    model_desc.device = "cpu";
    model_desc.stop = stop.get();
    kg_model* model = nullptr;
    ASSERT_EQ(kg_model_create(weights, &model_desc, &model), KG_OK) << kg_last_error();
    model_.reset(model);
    ASSERT_EQ(kg_stop_request(stop.get()), KG_OK);

    EXPECT_SENTENCE(kg_weights_open_until(instance_.get(), path.c_str(), stop.get(), &weights), KG_ERROR_CANCELLED,
                    "demo_tiny.safetensors: a stop was requested");
    EXPECT_SENTENCE(kg_model_create(weights_.get(), &model_desc, &model), KG_ERROR_CANCELLED, "a stop was requested");
    auto clip_desc = sized<kg_clip_desc>();
    clip_desc.stop = stop.get();
    kg_clip* clip = nullptr;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &clip_desc, &clip), KG_ERROR_CANCELLED,
                    "a stop was requested");
    EXPECT_SENTENCE(kg_clip_open(model_.get(), KINETOGRAPH_ASSETS "/orbit.safetensors", &clip_desc, &clip),
                    KG_ERROR_CANCELLED, "orbit.safetensors: a stop was requested");
    clip_desc.stop = nullptr;
    ASSERT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &clip_desc, &clip), KG_OK) << kg_last_error();
    EXPECT_EQ(kg_clip_destroy(clip), KG_OK);
}

TEST_F(CInterface, AStopRequestsItselfAtItsDeadline) {
    kg_stop* made = nullptr;
    ASSERT_EQ(kg_stop_create(instance_.get(), 0, &made), KG_OK) << kg_last_error();
    const Owned<kg_stop> stop(made);
    kg_weights* weights = nullptr;
    EXPECT_SENTENCE(
        kg_weights_open_until(instance_.get(), KINETOGRAPH_ASSETS "/demo_tiny.safetensors", stop.get(), &weights),
        KG_ERROR_CANCELLED, "demo_tiny.safetensors: the deadline has passed");
    EXPECT_SENTENCE(kg_stop_create(instance_.get(), 0, nullptr), KG_ERROR_INVALID_ARGUMENT, "stop is NULL");
    EXPECT_SENTENCE(kg_stop_request(nullptr), KG_ERROR_INVALID_ARGUMENT, "the handle is NULL");
}

TEST_F(CInterface, AClosedClipHasNothingToWaitForAndIsCancelledForGood) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    decode(made.get(), latents_of(1));
    ASSERT_EQ(kg_clip_close(made.get(), kLong), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    auto frame = sized<kg_frame>();
    EXPECT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_ERROR_CANCELLED);
}

TEST_F(CInterface, HandlesGoInAnyOrder) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    instance_.reset();
    weights_.reset();
    model_.reset();
    EXPECT_EQ(decode(made.get(), latents_of(2)).size(), 5U);
}

TEST_F(CInterface, AFrameIsReleasedOnceAndByItsOwnClip) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip(), another = clip();
    const auto values = latents_of(1);
    const kg_latents latents = view_of(values);
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK);
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK);
    EXPECT_SENTENCE(kg_clip_release(another.get(), frame.id, nullptr), KG_ERROR_INVALID_ARGUMENT, "another clip's");
    EXPECT_SENTENCE(kg_clip_destroy(made.get()), KG_ERROR_BUSY, "1 are acquired");
    kg_moment done{};
    done.kind = 7;
    EXPECT_SENTENCE(kg_clip_release(made.get(), frame.id, &done), KG_ERROR_INVALID_ARGUMENT, "7 is no kg_moment_kind");
    ASSERT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    EXPECT_SENTENCE(kg_clip_release(made.get(), frame.id, nullptr), KG_ERROR_INVALID_ARGUMENT, "released already");
    EXPECT_SENTENCE(kg_clip_wait(made.get(), frame.id, nullptr), KG_ERROR_INVALID_ARGUMENT, "released already");
    EXPECT_SENTENCE(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_ERROR_INVALID_ARGUMENT,
                    "come complete");
    EXPECT_SENTENCE(kg_clip_acquire(made.get(), 6, 0, &frame), KG_ERROR_INVALID_ARGUMENT, "no kg_acquire_flags");
    EXPECT_SENTENCE(kg_clip_acquire(made.get(), 0, 0, nullptr), KG_ERROR_INVALID_ARGUMENT, "kg_frame is NULL");
}

TEST_F(CInterface, AReaderThatHoldsAllFramesMakesPushingTimeOutWithoutLoss) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip(KG_STORAGE_HOST, KG_FORMAT_RGBA8, 5);
    const auto values = latents_of(6);
    const auto wanted = decode(clip().get(), values);
    const kg_latents latents = view_of(values);
    std::uint32_t pushed = 9;
    EXPECT_EQ(kg_clip_push(made.get(), &latents, 500'000'000, &pushed), KG_TIMEOUT);
    EXPECT_EQ(pushed, 5U);  // the five slots hold the frames of two, one is next, two wait
    auto frame = sized<kg_frame>();
    for (std::size_t i = 0; i < 17; ++i) {
        ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK);
        EXPECT_EQ(bytes_of(frame), wanted[i]);
        ASSERT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    }
    kg_latents last = latents;
    last.data = values.data() + 5 * kHeight * kWidth;
    last.shape[1] = 1;
    const std::int64_t strides[] = {6 * kHeight * kWidth, kHeight * kWidth, kWidth, 1};
    std::memcpy(last.strides, strides, sizeof(strides));
    ASSERT_EQ(kg_clip_push(made.get(), &last, kLong, nullptr), KG_OK) << kg_last_error();
    for (std::size_t i = 17; i < 21; ++i) {
        ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK);
        EXPECT_EQ(bytes_of(frame), wanted[i]);
        ASSERT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    }
}

TEST_F(CInterface, ASecondThreadThatPushesIsToldSo) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip(KG_STORAGE_HOST, KG_FORMAT_RGBA8, 5);
    const auto values = latents_of(8);
    const kg_latents latents = view_of(values);
    std::thread other([&] {  // there is room for five: it waits with the sixth until it is cancelled
        EXPECT_EQ(kg_clip_push(made.get(), &latents, KG_FOREVER, nullptr), KG_ERROR_CANCELLED);
    });
    for (auto info = sized<kg_clip_info>(); info.frames_waiting < 5; std::this_thread::yield())
        EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK);
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, 0, nullptr), KG_ERROR_BUSY, "another thread pushes");
    ASSERT_EQ(kg_clip_cancel(made.get()), KG_OK);
    other.join();
}

TEST_F(CInterface, ReadersOfTwoThreadsGetEveryFrameOnce) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    const auto values = latents_of(4);
    std::atomic<int> seen{0};
    const auto read = [&] {
        auto frame = sized<kg_frame>();
        for (;;) {
            const kg_result result = kg_clip_acquire(made.get(), 0, kLong, &frame);
            if (result == KG_ERROR_CANCELLED) return;
            if (result == KG_TIMEOUT) continue;
            EXPECT_EQ(result, KG_OK) << kg_last_error();
            EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
            if (++seen == 13) kg_clip_cancel(made.get());
        }
    };
    std::thread first(read), second(read);
    const kg_latents latents = view_of(values);
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    first.join();
    second.join();
    EXPECT_EQ(seen, 13);
}

TEST_F(CInterface, AChildOfForkIsToldToOpenItsOwn) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer supports no fork of a program with threads";
#endif
    ASSERT_NO_FATAL_FAILURE(open());
    auto made = clip();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto info = sized<kg_clip_info>();
        const bool told = kg_clip_describe(made.get(), &info) == KG_ERROR_UNSUPPORTED &&
                          std::string(kg_last_error()).find("before fork()") != std::string::npos &&
                          kg_clip_destroy(made.release()) == KG_OK;
        kg_model_destroy(model_.release());
        ::_exit(told ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(CInterface, AChildOfForkDecodesWithAnInstanceOfItsOwn) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer supports no fork of a program with threads";
#endif
    // Two workers for the loops of this thread, of which the child's copy has one.
    auto* const set_workers = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    ASSERT_NE(set_workers, nullptr);
    set_workers(2);
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(1);
    const auto wanted = decode(clip(KG_STORAGE_HOST, KG_FORMAT_NV12).get(), values);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::alarm(60);
        kg_instance_destroy(instance_.release());
        kg_model_destroy(model_.release());
        kg_weights_destroy(weights_.release());
        CTest::SetUp();
        open();
        const bool same = !HasFailure() && decode(clip(KG_STORAGE_HOST, KG_FORMAT_NV12).get(), values) == wanted;
        ::_exit(same ? 0 : 1);
    }
    set_workers(1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace kinetograph::c::testing
