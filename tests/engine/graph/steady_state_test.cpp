// What an engine pays every frame: nothing is compiled and nothing is allocated to start a known plan again.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "host_memory.hpp"
#include "thousand_passes.hpp"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

#if !defined(__SANITIZE_THREAD__)  // whose runtime library defines these operators, and not weakly
// Not inlined, or the compiler sees malloc's memory go to operator delete and takes that for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    ++allocations;
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace kinetograph::graph {
namespace {

class IdleLane final : public LaneBackend {
  public:
    explicit IdleLane(Lane lane) : lane_(lane) {}
    Lane lane() const override { return lane_; }
    Result<void> submit(const BatchRecord& record) override {
        passes += record.passes.size();
        return {};
    }
    Result<bool> wait(std::uint64_t, Nanoseconds) override { return true; }
    std::shared_ptr<Timeline> timeline() const override { return timeline_; }
    std::size_t passes = 0;

  private:
    Lane lane_;
    std::shared_ptr<HostTimeline> timeline_ = std::make_shared<HostTimeline>();
};

TEST(SteadyState, StartingAKnownPlanAllocatesNothing) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "allocations are not counted under the thread sanitizer";
#endif
    HostMemory memory;
    std::array<IdleLane, 5> lanes{IdleLane(Lane::Graphics), IdleLane(Lane::AsyncCompute), IdleLane(Lane::Transfer),
                                  IdleLane(Lane::Accelerator), IdleLane(Lane::Host)};
    ExecutorDesc desc;
    for (IdleLane& lane : lanes) desc.lanes.push_back(&lane);
    for (MemoryDomain domain : kDomains) desc.memory.emplace_back(domain, &memory);
    const auto executor = Executor::create(desc).value();
    FrameGraph frame;
    declare_thousand_passes(frame);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(executor->execute(frame));

    const std::uint64_t before = allocations;
    for (int i = 0; i < 10; ++i) {
        const auto execution = executor->execute(frame);
        ASSERT_TRUE(execution && execution->reused_plan);
    }
    EXPECT_EQ(allocations - before, 0U);
    EXPECT_EQ(lanes[Lane::Accelerator.index()].passes, 12U * 920);
}

TEST(SteadyState, AThousandPassesCompileInMilliseconds) {
    FrameGraph frame;
    declare_thousand_passes(frame);
    ASSERT_EQ(frame.passes().size(), kThousandPasses);
    auto best = Nanoseconds::max();
    for (int i = 0; i < 20; ++i) {
        const Nanoseconds begin = host_now();
        const auto plan = compile(frame);
        best = std::min(best, host_now() - begin);
        ASSERT_TRUE(plan) << plan.error().message;
    }
    // Under 2 ms in a release build on an idle machine (bench/results/graph_compile.json); here also under sanitizers
    // and beside other tests. What must not happen is a phase that grows with the square of the graph.
    EXPECT_LT(best, std::chrono::milliseconds(200));
}

}  // namespace
}  // namespace kinetograph::graph
