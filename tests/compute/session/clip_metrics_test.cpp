// The figures of a runner as text for Prometheus.
#include <kinetograph/compute/session/clip_metrics.hpp>

#include <gtest/gtest.h>

namespace kinetograph::session {
namespace {

TEST(ClipMetrics, GiveEachClipASeriesOfEachMetric) {
    using std::chrono::milliseconds;
    vae::ClipFigures clip{.number = 3,
                          .state_bytes = 1024,
                          .frames = 9,
                          .busy = milliseconds(1500),
                          .steps = 3,
                          .misses = 1,
                          .waited = milliseconds(250),
                          .held_back = vae::HeldBack::Half,
                          .steps_held_back = 2};
    clip.latencies.first_frame = milliseconds(500);
    clip.latencies.pushed = {.steps = 3, .sum = milliseconds(750)};
    vae::ClipFigures second{.number = 4};
    EXPECT_EQ(metrics_text({.clips = {clip, second}, .demand = 1.25}, "a\"b"),
              R"(# HELP kinetograph_clips Open clips that share the runner
# TYPE kinetograph_clips gauge
kinetograph_clips{family="a\"b"} 2
# HELP kinetograph_demand Seconds of the device that clips want a second
# TYPE kinetograph_demand gauge
kinetograph_demand{family="a\"b"} 1.25
# HELP kinetograph_deadline_missed_total Steps that were done after they were due
# TYPE kinetograph_deadline_missed_total counter
kinetograph_deadline_missed_total{family="a\"b",clip="3"} 1
kinetograph_deadline_missed_total{family="a\"b",clip="4"} 0
# HELP kinetograph_frames_total Frames decoded
# TYPE kinetograph_frames_total counter
kinetograph_frames_total{family="a\"b",clip="3"} 9
kinetograph_frames_total{family="a\"b",clip="4"} 0
# HELP kinetograph_step_seconds_total Seconds of the device's work
# TYPE kinetograph_step_seconds_total counter
kinetograph_step_seconds_total{family="a\"b",clip="3"} 1.5
kinetograph_step_seconds_total{family="a\"b",clip="4"} 0
# HELP kinetograph_state_bytes Bytes of the clip's state on the device
# TYPE kinetograph_state_bytes gauge
kinetograph_state_bytes{family="a\"b",clip="3"} 1024
kinetograph_state_bytes{family="a\"b",clip="4"} 0
# HELP kinetograph_first_frame_seconds From the push of a clip's first latents to its first frame
# TYPE kinetograph_first_frame_seconds summary
kinetograph_first_frame_seconds_sum{family="a\"b",clip="3"} 0.5
kinetograph_first_frame_seconds_count{family="a\"b",clip="3"} 1
kinetograph_first_frame_seconds_sum{family="a\"b",clip="4"} 0
kinetograph_first_frame_seconds_count{family="a\"b",clip="4"} 0
# HELP kinetograph_latency_seconds From the push of latents to their first frame
# TYPE kinetograph_latency_seconds summary
kinetograph_latency_seconds_sum{family="a\"b",clip="3"} 0.75
kinetograph_latency_seconds_count{family="a\"b",clip="3"} 3
kinetograph_latency_seconds_sum{family="a\"b",clip="4"} 0
kinetograph_latency_seconds_count{family="a\"b",clip="4"} 0
# HELP kinetograph_input_latency_seconds From the input of latents to their first frame
# TYPE kinetograph_input_latency_seconds summary
kinetograph_input_latency_seconds_sum{family="a\"b",clip="3"} 0
kinetograph_input_latency_seconds_count{family="a\"b",clip="3"} 0
kinetograph_input_latency_seconds_sum{family="a\"b",clip="4"} 0
kinetograph_input_latency_seconds_count{family="a\"b",clip="4"} 0
# HELP kinetograph_queue_seconds Waits of steps for their turn
# TYPE kinetograph_queue_seconds summary
kinetograph_queue_seconds_sum{family="a\"b",clip="3"} 0.25
kinetograph_queue_seconds_count{family="a\"b",clip="3"} 3
kinetograph_queue_seconds_sum{family="a\"b",clip="4"} 0
kinetograph_queue_seconds_count{family="a\"b",clip="4"} 0
# HELP kinetograph_held_back How overload holds a clip back: 0 not, 1 skipped, 2 to 4: at 1/2, 1/4, 1/8 of its rate
# TYPE kinetograph_held_back gauge
kinetograph_held_back{family="a\"b",clip="3"} 2
kinetograph_held_back{family="a\"b",clip="4"} 0
# HELP kinetograph_steps_held_back_total Steps that overload held back
# TYPE kinetograph_steps_held_back_total counter
kinetograph_steps_held_back_total{family="a\"b",clip="3"} 2
kinetograph_steps_held_back_total{family="a\"b",clip="4"} 0
)");
}

}  // namespace
}  // namespace kinetograph::session
