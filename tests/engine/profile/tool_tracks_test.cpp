// What a recorder tells Tracy in a build with KINETOGRAPH_TRACY. This program implements Tracy's part.
#include <kinetograph/engine/profile/recorder.hpp>

#include <tracy/TracyC.h>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace {

struct Zone {
    std::string name;
    int begin_query, end_query;
};
struct Context {
    std::string name;
    std::vector<Zone> zones;
    std::map<int, std::int64_t> times;  // of queries
    float period;
    std::int64_t began;
};
std::map<int, Context> told;
std::vector<std::string> places;

}  // namespace

extern "C" {
std::uint64_t ___tracy_alloc_srcloc_name(std::uint32_t, const char*, std::size_t, const char*, std::size_t,
                                         const char* name, std::size_t size, std::uint32_t) {
    places.emplace_back(name, size);
    return places.size() - 1;
}
void ___tracy_emit_gpu_zone_begin_alloc_serial(___tracy_gpu_zone_begin_data data) {
    told.at(data.context).zones.push_back({places.at(data.srcloc), data.queryId, -1});
}
void ___tracy_emit_gpu_zone_end_serial(___tracy_gpu_zone_end_data data) {
    told.at(data.context).zones.back().end_query = data.queryId;
}
void ___tracy_emit_gpu_time_serial(___tracy_gpu_time_data data) {
    told.at(data.context).times[data.queryId] = data.gpuTime;
}
void ___tracy_emit_gpu_new_context_serial(___tracy_gpu_new_context_data data) {
    told[data.context].period = data.period;
    told[data.context].began = data.gpuTime;
}
void ___tracy_emit_gpu_context_name_serial(___tracy_gpu_context_name_data data) {
    told.at(data.context).name = std::string(data.name, data.len);
}
void ___tracy_emit_gpu_time_sync_serial(___tracy_gpu_time_sync_data) {}
}

namespace kinetograph::profile {
namespace {

TEST(ToolTracks, TracyGetsAContextATrackAndAZoneASpanAtItsTimeOnTheHostAxis) {
    const Nanoseconds start = host_now();
    Recorder first, second;
    for (Recorder* recorder : {&first, &second})
        for (const Span& span : {Span{"conv1", "accelerator", start, start + Nanoseconds(40), 1},
                                 Span{"draw", "graphics", start + Nanoseconds(10), start + Nanoseconds(90), 1},
                                 Span{"conv2", "accelerator", start + Nanoseconds(40), start + Nanoseconds(70), 1}})
            recorder->add(span);
    ASSERT_EQ(told.size(), 4U) << "recorders share no context";
    int accelerators = 0;
    for (const auto& [id, context] : told) {
        EXPECT_EQ(context.period, 1.0F) << "nanoseconds";
        EXPECT_GE(context.began, start.count());
        EXPECT_LE(context.began, host_now().count()) << "the host axis, when the context began";
        if (context.name != "accelerator") continue;
        ++accelerators;
        ASSERT_EQ(context.zones.size(), 2U);
        EXPECT_EQ(context.zones[0].name, "conv1");
        EXPECT_EQ(context.zones[1].name, "conv2");
        EXPECT_EQ(context.times.at(context.zones[1].begin_query), (start + Nanoseconds(40)).count());
        EXPECT_EQ(context.times.at(context.zones[1].end_query), (start + Nanoseconds(70)).count());
        EXPECT_EQ(context.times.size(), 4U) << "every query has a number of its own";
    }
    EXPECT_EQ(accelerators, 2);
}

}  // namespace
}  // namespace kinetograph::profile
