// Calls of kinetograph.h with memory of a GPU, by several threads at a time and in drawn order.
#include "c_gpu_fixture.hpp"
#include "races.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace kinetograph::c::testing {
namespace {

class CGpuRaces : public CInterfaceOnGpus {
  protected:
    void import() {
        memory_.renew("kg_memory_import", [&](kg_memory** made) {
            constexpr std::uint64_t kBytes = 65536;
            const int fd = ::memfd_create("latents", 0);
            EXPECT_EQ(::ftruncate(fd, kBytes), 0);
            const kg_result result = kg_memory_import(model_.get(), fd, kBytes, 0, made);
            if (result != KG_OK) ::close(fd);
            return result;
        });
    }
    void take_a_frame(kg_clip* clip) {
        auto frame = sized<kg_frame>();
        const kg_result got = kg_clip_acquire(clip, KG_ACQUIRE_AHEAD, kShort, &frame);
        expect_status(got, "kg_clip_acquire");
        if (got != KG_OK) return;
        expect_status(kg_clip_wait(clip, frame.id, application_->stream), "kg_clip_wait");
        const kg_moment done = stream_moment();
        EXPECT_EQ(kg_clip_release(clip, frame.id, &done), KG_OK) << kg_last_error();
    }

    Slot<kg_memory> memory_;
};

TEST_P(CGpuRaces, OfCallsWithItsMemoryLeaveTheClipUsable) {
    const auto values = latents_of(1);
    const auto wanted = decode(clip().get(), values);
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(values);
    race({
        [&] { import(); },
        [&] { import(); },
        [&] {
            void* address = nullptr;
            expect_status(kg_memory_address(memory_.get(), &address), "kg_memory_address");
        },
        [&] { expect_status(kg_clip_push(made.get(), &latents, kShort, nullptr), "kg_clip_push"); },
        [&] { take_a_frame(made.get()); },
        [&] { take_a_frame(made.get()); },
        [&] { expect_status(kg_clip_reset(made.get()), "kg_clip_reset"); },
    });
    memory_.put(nullptr);
    ASSERT_EQ(kg_clip_reset(made.get()), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    const auto frames = read_ahead(made.get(), stream_moment(), kLong);
    application_->synchronize();
    expect_pictures(frames, wanted);
}

INSTANTIATE_TEST_SUITE_P(Drivers, CGpuRaces, ::testing::ValuesIn(kDrivers), kNameOfDriver);

}  // namespace
}  // namespace kinetograph::c::testing
