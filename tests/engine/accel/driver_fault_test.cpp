// What the lanes of both drivers say and do when the driver refuses: on the stand-ins, which refuse as they are told.
#include "driver_under_test.hpp"
#include "scaled_values.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <thread>

namespace kinetograph::accel {
namespace {

using cuda::Status;  // in the numbers that both drivers use

struct DriverFaults : ScaledValue<DriverTest> {
    void SetUp() override {
        if (real()) GTEST_SKIP() << "a real driver refuses nothing at will";
        DriverTest::SetUp();
    }
    void prepare(const standin::Options& options) {
        release();
        start(options);
        make_value();
    }
    void add(std::string_view pass, float offset) { ScaledValue::add(pass, 1, offset); }
};

TEST_P(DriverFaults, OfALaunchNamePassKernelCallAndErrorAndSkipLaterWork) {
    prepare({.injections = {{driver.launch_call(), 2, Status::OutOfMemory}}});
    auto timeline = *device->create_timeline();
    add("up2.res1.conv1", 2);
    add("up2.res1.conv2", 3);
    add("up2.res1.conv3", 4);
    stream->fill(value->data(), std::byte{0}, kCount * sizeof(float));
    stream->signal(timeline, 1);
    EXPECT_TRUE(timeline->wait(1, std::chrono::seconds(10))) << "no wait hangs";
    const std::string sentence = "up2.res1.conv2: launching \"standin_scale_add\": " + driver.launch_call() + ": " +
                                 driver.word("hipErrorOutOfMemory", "CUDA_ERROR_OUT_OF_MEMORY") + " (2)";
    EXPECT_EQ(message_of(stream->status()), sentence);
    const auto result = stream->synchronize();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(result.error().message, sentence);
    EXPECT_TRUE(stream->synchronize()) << "a reported error is forgotten";
    EXPECT_EQ(first_value(), 2.F) << "what came after the error was skipped";
}

TEST_P(DriverFaults, ThatAppearLateNameThePassesInQuestionAndReleaseEveryWait) {
    prepare({.faulting_launch = 2});
    auto timeline = *device->create_timeline();
    add("conv1", 2);
    add("conv2", 3);
    Result<void> status;
    for (int i = 0; i < 10'000 && status; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        status = stream->status();
    }
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(status.error().message,
              "conv2 or a pass before it: " +
                  driver.word("hipStreamQuery: hipErrorLaunchFailure", "cuStreamQuery: CUDA_ERROR_LAUNCH_FAILED") +
                  " (719)");
    stream->signal(timeline, 7);
    EXPECT_TRUE(timeline->wait(7, std::chrono::seconds(10))) << "a lost device signals through the host";
    EXPECT_FALSE(stream->synchronize());
}

TEST_P(DriverFaults, OfFillsAndCopiesSayHowMuch) {
    prepare({.injections = {{driver.word("hipMemsetAsync", "cuMemsetD8Async"), 2, Status::InvalidValue},
                            {driver.word("hipMemcpyAsync", "cuMemcpyAsync"), 1, Status::InvalidValue}}});
    stream->fill(value->data(), std::byte{0}, 100);
    EXPECT_EQ(message_of(stream->synchronize()),
              "filling 100 bytes: " +
                  driver.word("hipMemsetAsync: hipErrorInvalidValue", "cuMemsetD8Async: CUDA_ERROR_INVALID_VALUE") +
                  " (1)");
    stream->copy(value->data(), value->data() + 100, 50);
    EXPECT_EQ(message_of(stream->synchronize()),
              "copying 50 bytes: " +
                  driver.word("hipMemcpyAsync: hipErrorInvalidValue", "cuMemcpyAsync: CUDA_ERROR_INVALID_VALUE") +
                  " (1)");
}

TEST_P(DriverFaults, OfAHostFunctionReleaseAndReportIt) {
    prepare({.injections = {{driver.word("hipLaunchHostFunc", "cuLaunchHostFunc"), 1, Status::OutOfMemory}}});
    const auto witness = std::make_shared<int>(1);
    stream->enqueue("relay", [witness]() -> Result<void> { return {}; });
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_EQ(message_of(stream->synchronize()),
              "relay: " +
                  driver.word("hipLaunchHostFunc: hipErrorOutOfMemory", "cuLaunchHostFunc: CUDA_ERROR_OUT_OF_MEMORY") +
                  " (2)");
}

TEST_P(DriverFaults, OfALaunchInACaptureFailTheCaptureAlone) {
    prepare({.injections = {{driver.launch_call(), 1, Status::InvalidValue}}});
    ASSERT_TRUE(stream->begin_capture());
    add("add", 1);
    add("add", 1);
    EXPECT_EQ(message_of(stream->end_capture()),
              "add: launching \"standin_scale_add\": " + driver.launch_call() + ": " +
                  driver.word("hipErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE") + " (1)");
    add("add", 5);
    EXPECT_EQ(first_value(), 5.F);
}

TEST_P(DriverFaults, OfCapturesAndReplaysAreNamed) {
    prepare({.injections = {{driver.word("hipStreamBeginCapture", "cuStreamBeginCapture_v2"), 1, Status::IllegalState},
                            {driver.word("hipGraphInstantiate", "cuGraphInstantiateWithFlags"), 1, Status::OutOfMemory},
                            {driver.word("hipGraphLaunch", "cuGraphLaunch"), 1, Status::InvalidHandle}}});
    EXPECT_EQ(message_of(stream->begin_capture()), "capturing stream \"decode\": " +
                                                       driver.word("hipStreamBeginCapture: hipErrorIllegalState",
                                                                   "cuStreamBeginCapture: CUDA_ERROR_ILLEGAL_STATE") +
                                                       " (401)");
    ASSERT_TRUE(stream->begin_capture());
    EXPECT_EQ(message_of(stream->begin_capture()), "stream \"decode\" is being captured already");
    add("add", 1);
    EXPECT_EQ(message_of(stream->end_capture()),
              "capturing stream \"decode\": a graph of 1 nodes: " +
                  driver.word("hipGraphInstantiate: hipErrorOutOfMemory",
                              "cuGraphInstantiateWithFlags: CUDA_ERROR_OUT_OF_MEMORY") +
                  " (2)");
    EXPECT_EQ(message_of(stream->end_capture()), "stream \"decode\" is not being captured");
    ASSERT_TRUE(stream->begin_capture());
    add("add", 1);
    const auto graph = *stream->end_capture();
    stream->replay(*graph);
    EXPECT_EQ(message_of(stream->synchronize()),
              "stream \"decode\" replaying a graph of 1 nodes: " +
                  driver.word("hipGraphLaunch: hipErrorInvalidHandle", "cuGraphLaunch: CUDA_ERROR_INVALID_HANDLE") +
                  " (400)");
}

TEST_P(DriverFaults, OfAClockThatCannotStartAreNotItsLastWord) {
    prepare({.injections = {{driver.word("hipEventSynchronize", "cuEventSynchronize"), 1, Status::LaunchFailed}}});
    EXPECT_EQ(message_of(device->create_event()), "device clock: " +
                                                      driver.word("hipEventSynchronize: hipErrorLaunchFailure",
                                                                  "cuEventSynchronize: CUDA_ERROR_LAUNCH_FAILED") +
                                                      " (719)");
    EXPECT_TRUE(device->create_event()) << "the next try starts over";
}

TEST_P(DriverFaults, OfImportsLeaveTheDescriptorToTheCaller) {
    const std::string import = driver.word("hipImportExternalMemory", "cuImportExternalMemory");
    const std::string map = driver.word("hipExternalMemoryGetMappedBuffer", "cuExternalMemoryGetMappedBuffer");
    for (const std::string& call : {import, map}) {
        prepare({.injections = {{call, 1, Status::InvalidValue}}});
        const int fd = ::memfd_create("exported by another API", 0);
        ASSERT_EQ(::ftruncate(fd, 4096), 0);
        EXPECT_EQ(message_of(device->import_memory("frame", {.fd = fd, .bytes = 4096})),
                  fmt::format("\"frame\", 4096 bytes of another API: {}: {} (1)", call,
                              driver.word("hipErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE")));
        EXPECT_EQ(::close(fd), 0);
    }
}

TEST_P(DriverFaults, OfADeviceAreDeclinedWithItsReason) {
    prepare({.waits_for_values = false, .registers_host_memory = false, .imports_timelines = false});
    const auto timeline = device->create_timeline();
    ASSERT_FALSE(timeline);
    EXPECT_EQ(timeline.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(timeline.error().message,
              fmt::format("timeline: streams of {} cannot wait for values ({} is 0)", device_name(),
                          driver.word("hipDeviceAttributeCanUseStreamWaitValue",
                                      "CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS")));
    EXPECT_EQ(message_of(device->import_host("frame", {})),
              fmt::format("importing \"frame\" into {}: the device reports {} 0", device_name(),
                          driver.word("hostRegisterSupported", "CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED")));
    const auto declined = device->import_timeline(3, std::make_shared<graph::HostTimeline>());
    ASSERT_FALSE(declined);
    EXPECT_EQ(declined.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(declined.error().message,
              fmt::format("importing a timeline into {}: the device reports {} 0", device_name(),
                          driver.word("timelineSemaphoreInteropSupported",
                                      "CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED")));
}

INSTANTIATE_TEST_SUITE_P(Of, DriverFaults, testing::Values(kHip, kCuda), name_of);

}  // namespace
}  // namespace kinetograph::accel
