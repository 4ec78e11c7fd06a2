// What the lane says and does when the driver refuses: on the stand-in, which refuses as it is told. What a real GPU
// does when a kernel goes astray is met in a process of its own, because the whole process loses the device.
#include "gpu_fixture.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace kinetograph::accel::cuda {
namespace {

using standin::ScaleAddParams;
constexpr std::uint32_t kCount = 256;

struct CudaFaults : Gpu {
    std::shared_ptr<Kernel> scale_add;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Memory> value;

    void SetUp() override {
        if (real()) GTEST_SKIP() << "a real driver refuses nothing at will";
        Gpu::SetUp();
    }
    void prepare(const standin::Options& options) {
        release();
        start(options);
        scale_add = *load_test_kernels()->kernel("standin_scale_add");
        stream = std::move(*device->create_stream("decode"));
        value = std::move(*device->allocate("value", kCount * sizeof(float)));
        stream->fill(value->data(), std::byte{0}, kCount * sizeof(float));
    }
    void release() {
        stream.reset();
        scale_add.reset();
        value.reset();
    }
    void TearDown() override {
        release();
        if (!real()) Gpu::TearDown();
    }
    void add(std::string_view pass, float offset) {
        const ScaleAddParams params{reinterpret_cast<const float*>(value->data()),
                                    reinterpret_cast<float*>(value->data()), kCount, 1, offset};
        stream->launch(
            {.name = pass, .kernel = *scale_add, .grid = {1}, .block = {kCount}, .arguments = bytes_of(params)});
    }
    float first_value() {
        float read = 0;
        const auto done = stream->read_back(std::as_writable_bytes(std::span(&read, 1)), value->data());
        EXPECT_TRUE(done) << message_of(done);
        return read;
    }
};

TEST_F(CudaFaults, MemoryTouchedByTheHostEndsTheProgramSoThatNoTestDoesItUnseen) {
    prepare({});
    EXPECT_DEATH(*value->data() = std::byte{1}, "");
}

TEST_F(CudaFaults, OfALaunchNamePassKernelCallAndErrorAndSkipLaterWork) {
    prepare({.injections = {{"cuLaunchKernelEx", 2, Status::OutOfMemory}}});
    auto timeline = *device->create_timeline();
    add("up2.res1.conv1", 2);
    add("up2.res1.conv2", 3);
    add("up2.res1.conv3", 4);
    stream->fill(value->data(), std::byte{0}, kCount * sizeof(float));
    stream->signal(timeline, 1);
    EXPECT_TRUE(timeline->wait(1, std::chrono::seconds(10))) << "nobody hangs";
    const std::string sentence =
        "up2.res1.conv2: launching \"standin_scale_add\": cuLaunchKernelEx: CUDA_ERROR_OUT_OF_MEMORY (2)";
    EXPECT_EQ(message_of(stream->status()), sentence);
    const auto result = stream->synchronize();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(result.error().message, sentence);
    EXPECT_TRUE(stream->synchronize()) << "a reported error is forgotten";
    EXPECT_EQ(first_value(), 2.F) << "what came after the error was skipped";
}

TEST_F(CudaFaults, ThatAppearLateNameWhoMayBeMeantAndLetNobodyWaitForEver) {
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
    EXPECT_TRUE(status.error().message.starts_with("conv2 or a pass before it: cuStreamQuery: CUDA_ERROR_"))
        << message_of(status);
    stream->signal(timeline, 7);
    EXPECT_TRUE(timeline->wait(7, std::chrono::seconds(10))) << "a lost device signals through the host";
    EXPECT_FALSE(stream->synchronize());
}

TEST_F(CudaFaults, OfFillsAndCopiesSayHowMuch) {
    prepare({.injections = {{"cuMemsetD8Async", 2, Status::InvalidValue}, {"cuMemcpyAsync", 1, Status::InvalidValue}}});
    stream->fill(value->data(), std::byte{0}, 100);
    EXPECT_EQ(message_of(stream->synchronize()), "filling 100 bytes: cuMemsetD8Async: CUDA_ERROR_INVALID_VALUE (1)");
    stream->copy(value->data(), value->data() + 100, 50);
    EXPECT_EQ(message_of(stream->synchronize()), "copying 50 bytes: cuMemcpyAsync: CUDA_ERROR_INVALID_VALUE (1)");
}

TEST_F(CudaFaults, OfAHostFunctionReleaseAndReportIt) {
    prepare({.injections = {{"cuLaunchHostFunc", 1, Status::OutOfMemory}}});
    const auto witness = std::make_shared<int>(1);
    stream->enqueue("relay", [witness]() -> Result<void> { return {}; });
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_EQ(message_of(stream->synchronize()), "relay: cuLaunchHostFunc: CUDA_ERROR_OUT_OF_MEMORY (2)");
}

TEST_F(CudaFaults, OfALaunchInACaptureFailTheCaptureAlone) {
    prepare({.injections = {{"cuLaunchKernelEx", 1, Status::InvalidValue}}});
    ASSERT_TRUE(stream->begin_capture());
    add("add", 1);
    add("add", 1);
    EXPECT_EQ(message_of(stream->end_capture()),
              "add: launching \"standin_scale_add\": cuLaunchKernelEx: CUDA_ERROR_INVALID_VALUE (1)");
    add("add", 5);
    EXPECT_EQ(first_value(), 5.F);
}

TEST_F(CudaFaults, OfCapturesAndReplaysAreNamed) {
    prepare({.injections = {{"cuStreamBeginCapture_v2", 1, Status::IllegalState},
                            {"cuGraphInstantiateWithFlags", 1, Status::OutOfMemory},
                            {"cuGraphLaunch", 1, Status::InvalidHandle}}});
    EXPECT_EQ(message_of(stream->begin_capture()),
              "capturing stream \"decode\": cuStreamBeginCapture: CUDA_ERROR_ILLEGAL_STATE (401)");
    ASSERT_TRUE(stream->begin_capture());
    EXPECT_EQ(message_of(stream->begin_capture()), "stream \"decode\" is being captured already");
    add("add", 1);
    EXPECT_EQ(message_of(stream->end_capture()),
              "capturing stream \"decode\": a graph of 1 nodes: cuGraphInstantiateWithFlags: CUDA_ERROR_OUT_OF_MEMORY "
              "(2)");
    EXPECT_EQ(message_of(stream->end_capture()), "stream \"decode\" is not being captured");
    ASSERT_TRUE(stream->begin_capture());
    add("add", 1);
    const auto graph = *stream->end_capture();
    stream->replay(*graph);
    EXPECT_EQ(message_of(stream->synchronize()),
              "stream \"decode\" replaying a graph of 1 nodes: cuGraphLaunch: CUDA_ERROR_INVALID_HANDLE (400)");
}

TEST_F(CudaFaults, OfAClockThatCannotStartAreNotItsLastWord) {
    prepare({.injections = {{"cuEventSynchronize", 1, Status::LaunchFailed}}});
    EXPECT_EQ(message_of(device->create_event()), "device clock: cuEventSynchronize: CUDA_ERROR_LAUNCH_FAILED (719)");
    EXPECT_TRUE(device->create_event()) << "the next try starts over";
}

TEST_F(CudaFaults, OfImportsLeaveTheDescriptorToTheCaller) {
    for (const char* call : {"cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer"}) {
        prepare({.injections = {{call, 1, Status::InvalidValue}}});
        const int fd = ::memfd_create("exported by another API", 0);
        ASSERT_EQ(::ftruncate(fd, 4096), 0);
        EXPECT_EQ(message_of(device->import_memory("frame", {.fd = fd, .bytes = 4096})),
                  fmt::format("\"frame\", 4096 bytes of another API: {}: CUDA_ERROR_INVALID_VALUE (1)", call));
        EXPECT_EQ(::close(fd), 0);
    }
    prepare({.injections = {{"cuImportExternalSemaphore", 1, Status::NotSupported}}});
    const int fd = ::memfd_create("a semaphore of another API", 0);
    const auto refused = device->import_timeline(fd);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(refused.error().message, "imported timeline: cuImportExternalSemaphore: CUDA_ERROR_NOT_SUPPORTED (801)");
    EXPECT_EQ(::close(fd), 0);
}

TEST_F(CudaFaults, OfADeviceAreDeclinedWithItsReason) {
    prepare({.waits_for_values = false, .registers_host_memory = false, .imports_timelines = false});
    EXPECT_EQ(message_of(device->create_timeline()),
              "timeline: streams of Stand-in H200 cannot wait for values "
              "(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS is 0)");
    EXPECT_EQ(
        message_of(device->import_host("frame", {})),
        "importing \"frame\" into Stand-in H200: the device reports CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED 0");
    EXPECT_EQ(message_of(device->import_timeline(3)),
              "importing a timeline into Stand-in H200: the device reports "
              "CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED 0");
}

TEST_F(CudaFaults, OfCodeForOtherChipsNameTheChip) {
    prepare({.injections = {{"cuModuleLoadDataEx", 2, Status::NoBinaryForGpu}}});
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

TEST(CudaLostDevices, AreReportedByPassAndErrorAndLetNobodyWaitForEver) {
    const std::string library = library_under_test();
    if (control_of(library) != nullptr) GTEST_SKIP() << "a stand-in runs: " << library;
    if (const auto devices = inspect_devices(library); !devices) GTEST_SKIP() << message_of(devices);
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(lose_a_real_device(library), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kinetograph::accel::cuda
