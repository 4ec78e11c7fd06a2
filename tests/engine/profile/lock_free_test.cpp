// What a lane does for every batch and pass takes no lock and allocates nothing: both are counted.
#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <new>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which count these calls themselves

namespace {
thread_local std::uint64_t locks = 0, allocations = 0;
}

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
    static auto* const real = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    ++locks;
    return real(mutex);
}

// Not inlined, or the compiler sees malloc's memory go to operator delete and takes that for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    ++allocations;
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace kinetograph::profile {
namespace {

struct AnyContext : graph::PassContext {
    static constexpr bool serves(graph::Lane) { return true; }
};
struct Nothing {};

/// Tells a recorder of its batches, as lanes do, and counts what that takes.
class CountingLane final : public graph::LaneBackend {
  public:
    explicit CountingLane(Recorder& recorder) : recorder_(recorder) {}
    graph::Lane lane() const override { return graph::Lane::Host; }
    Result<void> submit(const graph::BatchRecord& record) override {
        const std::uint64_t locks_before = locks, allocations_before = allocations;
        const PlanId plan = recorder_.note(record, *timeline_, track_.name());
        for (const graph::PassRecord& pass : record.passes)
            recorder_.add(SpanRecord{.name = recorder_.names().intern(pass.planned->name),
                                     .track = track_.name(),
                                     .plan = plan,
                                     .execution = record.execution});
        recorder_.note_clock(track_.name(), Nanoseconds(10), 0.5);
        taken_locks = locks - locks_before;
        made_allocations = allocations - allocations_before;
        timeline_->signal(record.signal);
        return {};
    }
    using LaneBackend::wait;
    Result<bool> wait(std::uint64_t, Nanoseconds) override { return true; }
    std::shared_ptr<graph::Timeline> timeline() const override { return timeline_; }

    std::uint64_t taken_locks = 0, made_allocations = 0;  ///< by the newest batch

  private:
    Recorder& recorder_;
    LaneTrack track_ = recorder_.open_track("host", "this one");
    std::shared_ptr<graph::HostTimeline> timeline_ = std::make_shared<graph::HostTimeline>();
};

TEST(Recording, TakesNoLockAndAllocatesNothingForABatchThatIsKnown) {
    Recorder recorder(64);  // the rings go round
    CountingLane lane(recorder);
    lane.timeline()->add_view(std::make_shared<graph::HostTimeline>());
    const auto executor = graph::Executor::create({.lanes = {&lane}, .memory = {}, .compile = {}});
    ASSERT_TRUE(executor);
    std::uint64_t storage = 0;
    const auto elsewhere = std::make_shared<graph::HostTimeline>();
    graph::FrameGraph frame;
    const graph::Buffer pixels =
        frame.import_buffer("pixels", {sizeof storage, 8, graph::MemoryDomain::Shared},
                            {reinterpret_cast<std::uintptr_t>(&storage), 0, sizeof storage}, {elsewhere, 1});
    frame.add_pass<Nothing>(
        "draw", graph::Lane::Host,
        [&](graph::PassBuilder& pass, Nothing&) {
            pass.read(pixels, graph::Access::HostRead);
            pass.has_side_effect();
        },
        [](const Nothing&, AnyContext&) {});
    ASSERT_TRUE((*executor)->execute(frame));
    EXPECT_GT(lane.taken_locks, 0U) << "the counting counts";
    EXPECT_GT(lane.made_allocations, 0U);
    for (int i = 0; i < 100; ++i) {
        if (i == 50) elsewhere->signal(1);
        ASSERT_TRUE((*executor)->execute(frame));
        ASSERT_EQ(lane.taken_locks, 0U) << i;
        ASSERT_EQ(lane.made_allocations, 0U) << i;
    }
    EXPECT_EQ(recorder.total_added(), 101U);
}

}  // namespace
}  // namespace kinetograph::profile

#endif
