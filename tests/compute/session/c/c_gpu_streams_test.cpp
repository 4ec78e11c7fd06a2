// kinetograph.h and the streams of an application's GPU: captures, errors, streams that stand still, several threads.
#include "c_gpu_fixture.hpp"

namespace kinetograph::c::testing {
namespace {

TEST_P(CInterfaceOnGpus, TheSteadyStateAllocatesNothingAndWaitsForNothing) {
    const auto values = latents_of(1);
    const auto made = clip(KG_STORAGE_DEVICE, KG_FORMAT_RGB32F);
    const kg_latents latents = upload(values);
    const char* const synchronize = is_cuda() ? "cuStreamSynchronize" : "hipStreamSynchronize";
    const char* const allocate = is_cuda() ? "cuMemAlloc_v2" : "hipMalloc";
    std::uint64_t synchronized = 0, allocated = 0;
    for (int step = 0; step < 6; ++step) {
        ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        EXPECT_EQ(read_ahead(made.get()).size(), step == 0 ? 1U : 4U);
        if (step == 3) {
            synchronized = application_->control().calls(synchronize);
            allocated = application_->control().calls(allocate);
        }
    }
    EXPECT_EQ(application_->control().calls(synchronize), synchronized);
    EXPECT_EQ(application_->control().calls(allocate), allocated);
    application_->synchronize();
}

TEST_P(CInterfaceOnGpus, ACaptureOfTheCallersStreamIsLeftAsItIs) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1)), other = upload(latents_of(1));
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    application_->synchronize();
    application_->begin_capture();
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "the stream is in a capture of a graph");
    EXPECT_SENTENCE(kg_clip_wait(made.get(), frame.id, application_->stream), KG_ERROR_INVALID_ARGUMENT,
                    "the stream is in a capture of a graph");
    application_->copy(const_cast<void*>(other.data), latents.data, 16);
    EXPECT_EQ(application_->end_capture(), 1U);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    EXPECT_EQ(read_ahead(made.get()).size(), 4U);
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK) << kg_last_error();
    application_->synchronize();
}

/// As CUDA answers of the default stream while another stream is in a capture.
TEST_P(CInterfaceOnGpus, AStreamWhoseWorkWouldBreakAnothersCaptureIsLeftAloneToo) {
    if (!is_cuda()) GTEST_SKIP() << "HIP has no such answer";
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    application_->control().inject({"cuStreamIsCapturing", 1, standin::Code::StreamCaptureImplicit});
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "the stream is in a capture of a graph");
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    application_->control().inject({"cuStreamIsCapturing", 1, standin::Code::StreamCaptureImplicit});
    const kg_moment done = stream_moment();
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, &done), KG_OK) << kg_last_error();
    auto info = sized<kg_clip_info>();
    EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
    EXPECT_EQ(info.frames_acquired, 1U) << "it goes back with the next call that asks";
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    EXPECT_EQ(read_ahead(made.get()).size(), 4U);
    application_->synchronize();
}

TEST_P(CInterfaceOnGpus, FramesThatAreReleasedInACaptureGoBackAfterIt) {
    auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(2));
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    const auto held = [&] {
        auto info = sized<kg_clip_info>();
        EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
        return info.frames_acquired;
    };
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_wait(made.get(), frame.id, application_->stream), KG_OK) << kg_last_error();
    void* tensor = nullptr;
    ASSERT_NO_FATAL_FAILURE(take_tensor(made.get(), tensor));
    application_->begin_capture();
    const kg_moment done = stream_moment();
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, &done), KG_OK) << kg_last_error();
    static_cast<Tensor*>(tensor)->deleter(static_cast<Tensor*>(tensor));
    EXPECT_EQ(held(), 2U);
    EXPECT_SENTENCE(kg_clip_destroy(made.get()), KG_ERROR_BUSY, "2 were released on a stream that is in a capture");
    EXPECT_EQ(application_->end_capture(), 0U);
    EXPECT_EQ(read_ahead(made.get()).size(), 3U);
    EXPECT_EQ(held(), 0U);
    application_->synchronize();
    EXPECT_EQ(std::ranges::count_if(log_, [](const std::string& line) { return line.starts_with("! "); }), 0);
}

/// The lane waits for a stream that stands still, so its queue fills up, and the driver blocks the thread that fills
/// it.
TEST_P(CInterfaceOnGpus, APushReturnsThoughTheDriverBlocksTheStartOfItsStep) {
    ASSERT_NO_FATAL_FAILURE(reopen({.queue_depth = 4}));
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    std::promise<void> held;
    application_->hold(held);
    auto pushed =
        std::async(std::launch::async, [&] { return kg_clip_push(made.get(), &latents, kLong, nullptr) == KG_OK; });
    EXPECT_EQ(pushed.wait_for(std::chrono::seconds(10)), std::future_status::ready);
    auto frame = sized<kg_frame>();
    EXPECT_EQ(kg_clip_acquire(made.get(), 0, 1'000'000, &frame), KG_TIMEOUT);
    held.set_value();
    EXPECT_TRUE(pushed.get());
    EXPECT_EQ(read_ahead(made.get()).size(), 1U);
    application_->synchronize();
}

/// An error that the thread meets is told by the calls that follow, and a reset begins anew.
TEST_P(CInterfaceOnGpus, AStepThatCannotStartEndsTheClipUntilItIsReset) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    application_->synchronize();
    application_->control().inject(
        {is_cuda() ? "cuEventCreate" : "hipEventCreateWithFlags", 1, standin::Code::InvalidValue});
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    EXPECT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT);
    ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    for (std::size_t step = 0; step < 3; ++step) {
        ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        EXPECT_EQ(read_ahead(made.get()).size(), step == 0 ? 1U : 4U);
    }
    application_->synchronize();
}

TEST_P(CInterfaceOnGpus, APushAsksTheDriverNothingTwice) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    const standin::Control& control = application_->control();
    const std::string api = is_cuda() ? "cu" : "hip", captures = api + "StreamIsCapturing", state = api + "StreamQuery";
    std::uint64_t fewest = 100;  // a lane whose work stands still on a busy machine asks too
    for (int step = 0; step < 8; ++step) {
        const std::uint64_t captures_before = control.calls(captures), state_before = control.calls(state);
        ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        auto frame = sized<kg_frame>();
        ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
        EXPECT_EQ(control.calls(captures) - captures_before, 1U);
        fewest = std::min(fewest, control.calls(state) - state_before);
        EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK) << kg_last_error();
        static_cast<void>(read_ahead(made.get()));
        application_->synchronize();
    }
    EXPECT_EQ(fewest, 1U);
}

/// A driver's call on it that fails, once.
TEST_P(CInterfaceOnGpus, AnErrorOfTheCallersStreamIsToldOnceAndTakesNoFrame) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const auto fails_next = [&](const char* of_cuda, const char* of_hip) {
        application_->control().inject({is_cuda() ? of_cuda : of_hip, 1, standin::Code::InvalidValue});
    };
    const kg_latents latents = upload(latents_of(1));
    fails_next("cuMemcpyAsync", "hipMemcpyAsync");
    EXPECT_LT(kg_clip_push(made.get(), &latents, kLong, nullptr), 0);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_wait(made.get(), frame.id, application_->stream), KG_OK) << kg_last_error();
    fails_next("cuStreamWriteValue64_v2", "hipStreamWriteValue64");
    const kg_moment done = stream_moment();
    EXPECT_LT(kg_clip_release(made.get(), frame.id, &done), 0);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    void* tensor = nullptr;
    ASSERT_NO_FATAL_FAILURE(take_tensor(made.get(), tensor));
    fails_next("cuStreamWriteValue64_v2", "hipStreamWriteValue64");
    static_cast<Tensor*>(tensor)->deleter(static_cast<Tensor*>(tensor));
    auto info = sized<kg_clip_info>();
    EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
    EXPECT_EQ(info.frames_acquired, 0U);
    EXPECT_EQ(read_ahead(made.get()).size(), 3U);
    for (int round = 0; round < 8; ++round) {  // every slot comes back
        ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        EXPECT_EQ(read_ahead(made.get()).size(), 4U) << round;
    }
    application_->synchronize();
}

TEST_P(CInterfaceOnGpus, AStreamMayBeDestroyedBeforeTheClipThatItWasNamedTo) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    EXPECT_EQ(read_ahead(made.get()).size(), 1U);
    application_->synchronize();
    application_->destroy_stream();
    auto info = sized<kg_clip_info>();
    EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
    EXPECT_EQ(info.frames_acquired, 0U);
}

TEST_P(CInterfaceOnGpus, AClipOfWhichATensorIsKeptIsDestroyedInTimeThoughItsStreamStandsStill) {
    auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    std::promise<void> held;
    application_->hold(held);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    void* tensor = nullptr;
    ASSERT_NO_FATAL_FAILURE(take_tensor(made.get(), tensor));
    const auto begin = std::chrono::steady_clock::now();
    made.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    held.set_value();
    application_->synchronize();
    static_cast<Tensor*>(tensor)->deleter(static_cast<Tensor*>(tensor));
    EXPECT_EQ(std::ranges::count_if(log_, [](const std::string& line) { return line.starts_with("! "); }), 0);
}

TEST_P(CInterfaceOnGpus, AClipWhoseStreamStandsStillReleasesNothingThatItMayUse) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(destroy_a_clip_whose_stream_stands_still(), ::testing::ExitedWithCode(0), "");
}

TEST_P(CInterfaceOnGpus, ThreadsPushReadAndDeleteTensorsOfClipsOfOneModel) {
    constexpr int kSteps = 3, kFrames = 1 + 4 * (kSteps - 1);
    const kg_latents latents = upload(latents_of(1));
    const auto run = [&] {
        const auto made = clip(KG_STORAGE_DEVICE);
        std::thread generator([&] {
            for (int step = 0; step < kSteps; ++step)
                EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        });
        std::vector<std::thread> readers;
        for (int taken = 0; taken < kFrames;) {
            auto frame = sized<kg_frame>();
            if (kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame) != KG_OK) {
                ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
            }
            EXPECT_EQ(frame.index, taken++);
            EXPECT_EQ(kg_clip_wait(made.get(), frame.id, application_->stream), KG_OK) << kg_last_error();
            void* tensor = nullptr;
            EXPECT_EQ(kg_clip_export(made.get(), frame.id, KG_LAYOUT_HWC, &tensor), KG_OK) << kg_last_error();
            EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK) << kg_last_error();
            readers.emplace_back([tensor] { static_cast<Tensor*>(tensor)->deleter(static_cast<Tensor*>(tensor)); });
            auto info = sized<kg_clip_info>();
            EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
        }
        generator.join();
        for (std::thread& reader : readers) reader.join();
        auto info = sized<kg_clip_info>();
        EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK) << kg_last_error();
        EXPECT_EQ(info.frames_acquired, 0U);
    };
    std::thread other(run);
    run();
    other.join();
}

}  // namespace
}  // namespace kinetograph::c::testing
