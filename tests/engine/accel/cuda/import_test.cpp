// Memory and timelines of another API. The stand-in takes any file for them; on a real driver they are Vulkan's, and
// tests of engine/interop have both.
#include "gpu_fixture.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>
#include <atomic>

namespace kinetograph::accel::cuda {
namespace {

struct CudaImports : Gpu {
    std::unique_ptr<Stream> stream;

    void SetUp() override {
        if (real()) GTEST_SKIP() << "a real driver imports from Vulkan";
        Gpu::SetUp();
        stream = std::move(*device->create_stream("test"));
    }
    void TearDown() override {
        stream.reset();
        if (!real()) Gpu::TearDown();
    }
};

TEST_F(CudaImports, WaitForAndSignalAnotherApisTimeline) {
    const int fd = ::memfd_create("a timeline semaphore of another API", 0);
    ASSERT_EQ(::ftruncate(fd, 4096), 0);
    const int mirror = ::dup(fd);
    auto* const counter =
        static_cast<std::uint64_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mirror, 0));
    {
        auto theirs = device->import_timeline(fd, std::make_shared<graph::HostTimeline>());
        ASSERT_TRUE(theirs) << message_of(theirs);
        EXPECT_EQ(::fcntl(fd, F_GETFD), -1) << "the descriptor is the device's now";
        const auto ours = *device->create_timeline();
        stream->wait(*theirs, 3);
        stream->signal(*theirs, 4);
        stream->signal(ours, 1);
        EXPECT_FALSE(ours->wait(1, std::chrono::milliseconds(2)));
        std::atomic_ref(*counter).store(3);
        EXPECT_TRUE(ours->wait(1, std::chrono::seconds(10)));
        EXPECT_EQ(std::atomic_ref(*counter).load(), 4U);
        ASSERT_TRUE(stream->synchronize());
    }
    ::munmap(counter, 4096);
    ::close(mirror);
}

}  // namespace
}  // namespace kinetograph::accel::cuda
