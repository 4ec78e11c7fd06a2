#include "gpu_fixture.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <thread>

namespace kinetograph::accel::cuda {
namespace {

using CudaDevices = Gpu;

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + 3);
    return made;
}

TEST_F(CudaDevices, DescribeThemselves) {
    const DeviceInfo& info = device->info();
    EXPECT_EQ(info.kind, Kind::Cuda);
    EXPECT_FALSE(info.name.empty());
    EXPECT_TRUE(info.driver.starts_with(library + ", driver 1")) << info.driver;
    EXPECT_TRUE(info.architecture.starts_with("sm_")) << info.architecture;
    EXPECT_EQ(info.features, info.architecture);
    EXPECT_TRUE(std::ranges::any_of(info.uuid, [](std::uint8_t byte) { return byte != 0; }));
    EXPECT_TRUE(info.pci);
    EXPECT_GE(info.memory_bytes, 1ULL << 30U);
    EXPECT_GT(info.compute_units, 0U);
    EXPECT_EQ(info.wave_size, 32U);
    EXPECT_GE(info.shared_bytes_per_block, 96U << 10U);
    EXPECT_TRUE(info.can_load && info.can_capture && info.can_time_graphs && info.can_import_host &&
                info.can_import_memory && info.can_import_timeline);
    RecordProperty("device", info.name);
    RecordProperty("driver", info.driver);
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

TEST_F(CudaDevices, MemoryIsNotTheHostsAndIsCounted) {
    {
        const auto weights = *device->allocate("weights", 10'000);
        const auto arena = *device->allocate("arena", 1U << 20U);
        EXPECT_EQ(weights->host_data(), nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weights->data()) % 256, 0U);
        EXPECT_EQ(device->bytes_allocated(), 10'000U + (1U << 20U));
    }
    EXPECT_EQ(device->bytes_allocated(), 0U);
    EXPECT_EQ(device->peak_bytes(), 10'000U + (1U << 20U));
}

TEST_F(CudaDevices, RefuseMoreThanIsFreeNamingWhatWasAskedAndWhatIsFree) {
    const auto refused = device->allocate("transient arena", 1ULL << 45U);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_TRUE(refused.error().message.starts_with("\"transient arena\" needs 35184372088832 bytes, "));
    EXPECT_TRUE(refused.error().message.ends_with(" bytes are free on " + device_name() +
                                                  ": cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"))
        << message_of(refused);
    EXPECT_EQ(device->bytes_allocated(), 0U);
}

TEST_F(CudaDevices, MemoryMayOutliveItsDevice) {
    auto memory = std::move(*device->allocate("kept", 4096));
    device.reset();
    if (control != nullptr) {
        EXPECT_EQ(control->live().device_allocations, 1U);
    }
}

TEST_F(CudaDevices, ReadBackWhatWasUploaded) {
    const auto stream = *device->create_stream("test");
    const auto memory = *device->allocate("weights", 100'000);
    const auto given = pattern(100'000);
    std::vector<std::byte> got(given.size());
    ASSERT_TRUE(stream->upload(memory->data(), given));
    ASSERT_TRUE(stream->read_back(got, memory->data()));
    EXPECT_EQ(got, given);
}

TEST_F(CudaDevices, PinnedMemoryIsSeenFromBothSides) {
    const auto stream = *device->create_stream("test");
    const auto pinned = *device->allocate_pinned("staging", 5000);
    EXPECT_EQ(pinned->bytes(), 8192U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pinned->host_data()) % 4096, 0U);
    EXPECT_EQ(device->bytes_allocated(), 0U);
    ASSERT_NE(pinned->host_data(), nullptr);
    const auto memory = *device->allocate("frame", 5000);
    const auto given = pattern(5000);
    std::ranges::copy(given, pinned->host_data());
    stream->copy(memory->data(), pinned->data(), 5000);
    stream->fill(pinned->data(), std::byte{0}, 5000);
    stream->copy(pinned->data(), memory->data(), 4000);
    ASSERT_TRUE(stream->synchronize());
    EXPECT_TRUE(std::equal(given.begin(), given.begin() + 4000, pinned->host_data()));
    EXPECT_TRUE(std::all_of(pinned->host_data() + 4000, pinned->host_data() + 5000,
                            [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_F(CudaDevices, AddressTheCallersHostMemory) {
    const auto stream = *device->create_stream("test");
    const auto pages = static_cast<std::byte*>(std::aligned_alloc(4096, 8192));
    {
        const auto imported = device->import_host("frame", {pages, 8192});
        ASSERT_TRUE(imported) << message_of(imported);
        stream->fill((*imported)->data() + 100, std::byte{9}, 50);
        ASSERT_TRUE(stream->synchronize());
        EXPECT_EQ(pages[149], std::byte{9});
        EXPECT_EQ(message_of(device->import_host("frame", {pages, 8192})),
                  "\"frame\": cuMemHostRegister: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712)");
    }
    const auto ragged = device->import_host("frame", {pages + 1, 100});
    ASSERT_FALSE(ragged);
    EXPECT_EQ(ragged.error().code, ErrorCode::InvalidArgument);
    std::free(pages);
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
