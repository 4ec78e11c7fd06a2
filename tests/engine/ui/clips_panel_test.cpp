// The panel of clips that share a runner.
#include "panels_fixture.hpp"

namespace kinetograph::ui::testing {
namespace {

TEST_F(Panels, ClipsShowsStepsLateOnesAndWaitsOfEachClip) {
    expect_all(open(make_clips_panel()).text, {"no clips share a runner"});
    for (int i = 0; i < 4; ++i) {
        const Nanoseconds begin = now_ + milliseconds(100) * i;
        recorder_.add(
            profile::Span{.name = "queue", .track = "clip 1", .begin = begin, .end = begin + milliseconds(2)});
        recorder_.add(
            profile::Span{.name = "step", .track = "clip 1", .begin = begin, .end = begin + milliseconds(20)});
        recorder_.add(
            profile::Span{.name = "queue", .track = "clip 12", .begin = begin, .end = begin + milliseconds(40 + i)});
        recorder_.add(profile::Span{
            .name = i < 3 ? "late step" : "step", .track = "clip 12", .begin = begin, .end = begin + milliseconds(30)});
    }
    now_ += milliseconds(500);
    profile_.update(now_);
    const Overheard& panel = open(make_clips_panel());
    expect_all(panel.text, {"2 clips share a runner: 3 of 8 steps were late", "clip 1 | 4 | 0 | 20.0 ms | 2.00 ms",
                            "clip 12 | 4 | 3 | 30.0 ms | 42.2 ms | 43.0 ms"});
    EXPECT_LT(panel.text.find("clip 12 |"), panel.text.find("clip 1 |")) << "those with late steps first";
    const float x = panel.place.Min.x + 30;
    EXPECT_TRUE(explains(panel, {x, panel.place.Min.y + 40}, {x, panel.place.Max.y},
                         "clip 12: 3 of 4 steps were late; its longest step took 30.0 ms"));
}

}  // namespace
}  // namespace kinetograph::ui::testing
