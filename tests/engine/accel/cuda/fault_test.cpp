// What the CUDA lane says when the driver refuses what HIP has not; the rest is in driver_fault_test.cpp. What a real
// GPU does when a kernel goes astray is met in a process of its own, because the whole process loses the device.
#include "gpu_fixture.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace kinetograph::accel::cuda {
namespace {

struct CudaFaults : Gpu {
    void SetUp() override {
        if (real()) GTEST_SKIP() << "a real driver refuses nothing at will";
        Gpu::SetUp();
    }
    void TearDown() override {
        if (!real()) Gpu::TearDown();
    }
};

TEST_F(CudaFaults, OfAnImportedTimelineLeaveTheDescriptorToTheCaller) {
    start({.injections = {{"cuImportExternalSemaphore", 1, Status::NotSupported}}});
    const int fd = ::memfd_create("a semaphore of another API", 0);
    const auto refused = device->import_timeline(fd, std::make_shared<graph::HostTimeline>());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(refused.error().message, "imported timeline: cuImportExternalSemaphore: CUDA_ERROR_NOT_SUPPORTED (801)");
    EXPECT_EQ(::close(fd), 0);
}

TEST_F(CudaFaults, OfCodeForOtherChipsNameTheChip) {
    start({.injections = {{"cuModuleLoadDataEx", 2, Status::NoBinaryForGpu}}});
    const auto refused = device->load("conv_bf16", standin::placeholder_image());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(
        refused.error().message,
        "loading \"conv_bf16\" on Stand-in H200: cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU (209); the device "
        "needs code for sm_90");
}

/// Ends the process: with 0 if the lane says what it should of a kernel that reads what is not there.
void lose_a_real_device(const std::string& library) {
    const auto give_up = [](const std::string& why) {
        std::fprintf(stderr, "%s\n", why.c_str());
        std::exit(1);
    };
    auto device = create_device({.library = library});
    if (!device) return give_up(message_of(device));
    const auto module = *(*device)->load("test kernels", kinetograph::cuda::fat_binary("test_kernels"));
    const auto kernel = *module->kernel("read_nowhere");
    const auto result = *(*device)->allocate("result", sizeof(float));
    const auto stream = *(*device)->create_stream("decode");
    const auto timeline = *(*device)->create_timeline();
    const ReadNowhereParams params{0x10, reinterpret_cast<float*>(result->data())};
    stream->launch({.name = "astray", .kernel = *kernel, .grid = {1}, .block = {1}, .arguments = bytes_of(params)});
    Result<void> status;
    for (int i = 0; i < 10'000 && status; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        status = stream->status();
    }
    if (status || status.error().code != ErrorCode::DeviceLost) return give_up(message_of(status));
    if (status.error().message != "astray or a pass before it: cuStreamQuery: CUDA_ERROR_ILLEGAL_ADDRESS (700)")
        return give_up(status.error().message);
    stream->signal(timeline, 7);
    if (!timeline->wait(7, std::chrono::seconds(10))) return give_up("the host waits for ever");
    if (stream->synchronize()) return give_up("the error was forgotten before anyone saw it");
    std::exit(0);
}

TEST(CudaLostDevices, AreReportedByPassAndErrorAndReleaseEveryWait) {
    const std::string library = library_under_test();
    if (control_of(library) != nullptr) GTEST_SKIP() << "a stand-in runs: " << library;
    if (const auto devices = inspect_devices(library); !devices) GTEST_SKIP() << message_of(devices);
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(lose_a_real_device(library), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kinetograph::accel::cuda
