// What the profiler costs: recording a span, and reading what was recorded into a profile.
#include <kinetograph/engine/profile/profile.hpp>

#include <benchmark/benchmark.h>
#include <fmt/core.h>

namespace kinetograph::profile {
namespace {

/// As lanes record: with names interned beforehand.
void record_span(benchmark::State& state) {
    static Recorder recorder;
    const NameId name = recorder.names().intern("decoder.upsamples.10.residual.6"),
                 track = recorder.names().intern("accelerator");
    std::int64_t at = 0;
    for (auto _ : state) {
        recorder.add(SpanRecord{name, track, 1, Nanoseconds(at), Nanoseconds(at + 10), static_cast<std::uint64_t>(at)});
        ++at;
    }
}
BENCHMARK(record_span)->Threads(1)->Threads(2);

void record_span_by_name(benchmark::State& state) {
    static Recorder recorder;
    std::int64_t at = 0;
    for (auto _ : state) {
        recorder.add(Span{"decoder.upsamples.10.residual.6", "accelerator", Nanoseconds(at), Nanoseconds(at + 10), 7});
        ++at;
    }
}
BENCHMARK(record_span_by_name)->Threads(1)->Threads(2);

/// Steps of state.range(0) passes, sixty steps a second.
void take_over_a_step(benchmark::State& state) {
    Recorder recorder;
    Profile profile(recorder);
    const NameId track = recorder.names().intern("accelerator");
    std::vector<NameId> names;
    for (std::int64_t i = 0; i < state.range(0); ++i)
        names.push_back(recorder.names().intern(fmt::format("pass {}", i)));
    Nanoseconds now{};
    for (auto _ : state) {
        const Nanoseconds length = std::chrono::milliseconds(15) / state.range(0);
        for (std::size_t i = 0; i < names.size(); ++i)
            recorder.add(SpanRecord{names[i], track, kNoPlan, now + length * static_cast<std::int64_t>(i),
                                    now + length * static_cast<std::int64_t>(i + 1), 1});
        now += std::chrono::microseconds(16'667);
        profile.update(now);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(take_over_a_step)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace kinetograph::profile

BENCHMARK_MAIN();
