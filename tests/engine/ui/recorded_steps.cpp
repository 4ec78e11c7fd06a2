#include "recorded_steps.hpp"

namespace kinetograph::ui::testing {

using profile::ResourceFacts;

profile::PlanFacts decoder_and_display(profile::NameTable& names) {
    const profile::NameId accelerator = names.intern("accelerator"), graphics = names.intern("graphics");
    profile::PlanFacts plan;
    plan.passes = {{.name = names.intern("conv_in"),
                    .track = accelerator,
                    .batch = 0,
                    .operations = 3e9,
                    .bytes = 4'000'000,
                    .barriers = 1,
                    .kernel = "direct-cpu",
                    .reason = "first of the open; next onednn-cpu"},
                   {.name = names.intern("up2.conv1"),
                    .track = accelerator,
                    .batch = 0,
                    .operations = 60e9,
                    .bytes = 900'000'000,
                    .barriers = 2,
                    .kernel = "direct-cpu",
                    .reason = "first of the open; next onednn-cpu"},
                   {.name = names.intern("upload"), .track = graphics, .batch = 1, .bytes = 8'000'000},
                   {.name = names.intern("picture"), .track = graphics, .batch = 2, .barriers = 1}};
    plan.batches = {{.track = accelerator, .first_pass = 0, .last_pass = 1},
                    {.track = graphics, .first_pass = 2, .last_pass = 2},
                    {.track = graphics,
                     .waits = {{.batch = 0, .hand_over = std::chrono::microseconds(50)}},
                     .first_pass = 3,
                     .last_pass = 3}};
    plan.resources = {
        {.name = "conv_in.out", .domain = "accelerator", .bytes = 3U << 20U, .first_pass = 0, .last_pass = 1},
        {.name = "frames",
         .domain = "accelerator",
         .bytes = 1U << 20U,
         .offset = 3U << 20U,
         .first_pass = 1,
         .last_pass = 3},
        {.name = "conv1.kept", .imported = true, .domain = "accelerator", .bytes = 2U << 20U}};
    plan.arenas = {{"accelerator", 4U << 20U}};
    plan.transient_bytes = 6U << 20U;
    plan.dependencies = {{0, 1, 0}, {1, 3, 1}, {2, 3, profile::kNone}};
    plan.culled = {{"unused_output", "nothing reads \"spare\""}};
    plan.hand_over_cost = std::chrono::microseconds(50);
    plan.batches_told = 3;
    return plan;
}

void record_step(profile::Recorder& recorder, profile::PlanId plan, std::uint64_t execution, Nanoseconds begin,
                 Nanoseconds decode) {
    using std::chrono::milliseconds;
    const auto add = [&](const char* name, const char* track, Nanoseconds from, Nanoseconds to) {
        recorder.add(profile::Span{name, track, begin + from, begin + to, execution, plan});
    };
    add("conv_in", "accelerator", milliseconds(0), milliseconds(10));
    add("up2.conv1", "accelerator", milliseconds(10), milliseconds(10) + decode);
    add("upload", "graphics", milliseconds(2), milliseconds(6));
    add("picture", "graphics", milliseconds(15) + decode, milliseconds(40) + decode);
}

}  // namespace kinetograph::ui::testing
