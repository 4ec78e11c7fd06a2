// A decoder and a display as a profile sees them: steps of known lengths on two lanes.
#pragma once

#include <kinetograph/engine/profile/profile.hpp>

namespace kinetograph::ui::testing {

/// A plan: two passes on the accelerator, and on the graphics lane an upload and a picture, which wait for the decoder.
profile::PlanFacts decoder_and_display(profile::NameTable& names);

/// Records step `execution` of that plan from `begin` on: 100 ms long, in which decode takes `decode`.
void record_step(profile::Recorder& recorder, profile::PlanId plan, std::uint64_t execution, Nanoseconds begin,
                 Nanoseconds decode = std::chrono::milliseconds(60));

}  // namespace kinetograph::ui::testing
