// What CUDA devices say of themselves, and how they live with an application's context; the rest is in
// driver_device_test.cpp.
#include "gpu_fixture.hpp"

#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <thread>

namespace kinetograph::accel::cuda {
namespace {

using CudaDevices = Gpu;

TEST_F(CudaDevices, DescribeThemselves) {
    const DeviceInfo& info = device->info();
    EXPECT_EQ(info.kind, "cuda");
    EXPECT_FALSE(info.name.empty());
    EXPECT_TRUE(info.driver.starts_with(library + ", driver 1")) << info.driver;
    EXPECT_TRUE(info.architecture.starts_with("sm_")) << info.architecture;
    EXPECT_EQ(info.features, info.architecture);
    EXPECT_TRUE(std::ranges::any_of(info.uuid, [](std::uint8_t byte) { return byte != 0; }));
    EXPECT_TRUE(info.pci);
    EXPECT_GE(info.memory_bytes, 1ULL << 30U);
    EXPECT_GT(info.compute_units, 0U);
    EXPECT_GE(info.shared_bytes_per_block, 96U << 10U);
    EXPECT_TRUE(info.can_load && info.can_capture && info.can_time_graphs && info.can_import_host &&
                info.can_import_memory && info.can_import_timeline);
    RecordProperty("device", info.name);
    RecordProperty("driver", info.driver);
}

TEST_F(CudaDevices, SayHowManyClustersRunAtOnce) {
    if (control == nullptr) {
        const DeviceInfo& info = device->info();
        for (std::uint32_t size = 2; const std::uint32_t clusters : info.resident_clusters) {
            EXPECT_LE(clusters * size, info.compute_units);
            RecordProperty(fmt::format("clusters of {}", size), static_cast<int>(clusters));
            size *= 2;
        }
        return;
    }
    EXPECT_EQ(device->info().resident_clusters, (std::array<std::uint32_t, 3>{66, 33, 16}));
    start({.architecture = "sm_100", .gpcs = {20, 18, 18, 18, 20, 18, 18, 18}});
    EXPECT_EQ(device->info().compute_units, 148U);
    EXPECT_EQ(device->info().resident_clusters, (std::array<std::uint32_t, 3>{74, 34, 16}));
    start({.architecture = "sm_80"});
    EXPECT_EQ(device->info().resident_clusters, (std::array<std::uint32_t, 3>{})) << "no clusters before sm_90";
    start({.injections = {{"cuModuleLoadDataEx", 1, Status::InvalidPtx}}});
    EXPECT_EQ(device->info().resident_clusters, (std::array<std::uint32_t, 3>{})) << "a driver without its compiler";
}

TEST_F(CudaDevices, AreListedAsTheyDescribeThemselves) {
    const auto devices = inspect_devices(library);
    ASSERT_TRUE(devices) << message_of(devices);
    EXPECT_EQ(devices->front().name, device->info().name);
    EXPECT_EQ(devices->front().uuid, device->info().uuid);
    const auto beyond = create_device({.library = library, .ordinal = 1000});
    EXPECT_EQ(message_of(beyond),
              fmt::format("CUDA device 1000: {} has {} devices, counted from 0", library, devices->size()));
}

TEST_F(CudaDevices, LeaveADescriptorThatTheyCannotImportToTheCaller) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const auto refused = device->import_memory("frame", {.fd = fd, .bytes = 4096});
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.starts_with("\"frame\", 4096 bytes of another API: cuImportExternalMemory: "))
        << message_of(refused);
    EXPECT_EQ(::close(fd), 0);
}

TEST_F(CudaDevices, LeaveTheThreadsContextAsItWas) {
    const auto driver = *Driver::open(library);
    const EntryPoints& cuda = driver->entry_points();
    const auto current = [&] {
        ContextHandle context = nullptr;
        EXPECT_EQ(cuda.cuCtxGetCurrent(&context), Status::Success);
        return context;
    };
    const auto use = [&] {
        const auto memory = *device->allocate("scratch", 4096);
        const auto stream = *device->create_stream("test");
        const auto timeline = *device->create_timeline();
        const auto event = *device->create_event();
        stream->fill(memory->data(), std::byte{1}, 4096);
        stream->signal(timeline, 1);
        stream->record(event);
        ASSERT_TRUE(stream->begin_capture());
        stream->fill(memory->data(), std::byte{2}, 4096);
        const auto graph = *stream->end_capture();
        stream->replay(*graph);
        ASSERT_TRUE(stream->synchronize());
    };
    EXPECT_EQ(current(), nullptr);
    use();
    EXPECT_EQ(current(), nullptr) << "a thread that had no context has none";

    ContextHandle primary = nullptr;
    ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&primary, 0), Status::Success);
    ASSERT_EQ(cuda.cuCtxPushCurrent_v2(primary), Status::Success);
    // The sixth reading is the first of the clock's own thread, which has its context by then.
    while (calls("cuEventSynchronize") < 6) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::uint64_t pushed = calls("cuCtxPushCurrent_v2");
    use();
    EXPECT_EQ(current(), primary);
    EXPECT_EQ(calls("cuCtxPushCurrent_v2"), pushed) << "the context was current already";
    ContextHandle popped = nullptr;
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&popped), Status::Success);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), Status::Success);
}

TEST_F(CudaDevices, CountTheDriversCalls) {
    const std::uint64_t before = calls("cuMemAlloc_v2"), all = driver_calls(*device)->calls();
    const auto memory = *device->allocate("counted", 4096);
    EXPECT_EQ(calls("cuMemAlloc_v2"), before + 1);
    EXPECT_GT(driver_calls(*device)->calls(), all);
    EXPECT_EQ(calls("cuNoSuchFunction"), 0U);
}

}  // namespace
}  // namespace kinetograph::accel::cuda
