// What a frame graph of 1,000 passes costs on the host: declaring it, compiling it, and starting it again.
#include <kinetograph/engine/graph/executor.hpp>

#include <benchmark/benchmark.h>

#include "thousand_passes.hpp"

namespace kinetograph::graph {
namespace {

/// A lane that takes batches and runs nothing, so that only the executor's own cost is measured.
class IdleLane final : public LaneBackend {
  public:
    explicit IdleLane(Lane lane) : lane_(lane) {}
    Lane lane() const override { return lane_; }
    Result<void> submit(const BatchRecord& record) override {
        benchmark::DoNotOptimize(record.passes.data());
        return {};
    }
    Result<bool> wait(std::uint64_t, Nanoseconds) override { return true; }
    std::shared_ptr<Timeline> timeline() const override { return timeline_; }

  private:
    Lane lane_;
    std::shared_ptr<HostTimeline> timeline_ = std::make_shared<HostTimeline>();
};

/// Hands out an address without allocating any memory.
class NoMemory final : public MemoryBackend {
  public:
    Result<std::unique_ptr<PlanMemory>> realize(const Plan&, MemoryDomain) override {
        struct Nowhere final : PlanMemory {
            Physical physical(std::uint32_t) const override { return {.object = 4096}; }
        };
        return std::unique_ptr<PlanMemory>(new Nowhere);
    }
};

void declare(benchmark::State& state) {
    FrameGraph frame;
    for (auto _ : state) {
        frame.clear();
        declare_thousand_passes(frame);
    }
}
BENCHMARK(declare)->Unit(benchmark::kMicrosecond);

void compile_plan(benchmark::State& state) {
    FrameGraph frame;
    declare_thousand_passes(frame);
    for (auto _ : state) {
        auto plan = compile(frame);
        if (!plan) state.SkipWithError(plan.error().message.c_str());
        benchmark::DoNotOptimize(plan);
    }
    state.counters["passes"] = static_cast<double>(frame.passes().size());
}
BENCHMARK(compile_plan)->Unit(benchmark::kMicrosecond);

void reuse_plan(benchmark::State& state) {
    NoMemory memory;
    std::vector<std::unique_ptr<IdleLane>> lanes;
    ExecutorDesc desc;
    for (Lane lane : LaneTopology::all().lanes())
        desc.lanes.push_back(lanes.emplace_back(std::make_unique<IdleLane>(lane)).get());
    for (MemoryDomain domain : kDomains) desc.memory.emplace_back(domain, &memory);
    auto executor = Executor::create(desc);
    FrameGraph frame;
    declare_thousand_passes(frame);
    for (auto _ : state) {
        auto execution = (*executor)->execute(frame);
        if (!execution) state.SkipWithError(execution.error().message.c_str());
        benchmark::DoNotOptimize(execution);
    }
    state.counters["passes"] = static_cast<double>(frame.passes().size());
}
BENCHMARK(reuse_plan)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kinetograph::graph

BENCHMARK_MAIN();
