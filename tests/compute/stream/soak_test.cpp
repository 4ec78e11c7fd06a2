// Decoders and streams that come and go on one device and one model leave nothing behind: no memory, descriptor, thread
// or object of Vulkan. KINETOGRAPH_SOAK_ROUNDS scales their number.
#include "stream_fixture.hpp"

#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/tests/engine/interop/held.hpp>
#include <kinetograph/tests/engine/interop/watchdog.hpp>

namespace kinetograph::stream {
namespace {

using testing::Case;

class StreamsThatComeAndGo : public testing::StreamTest, public ::testing::WithParamInterface<Case> {};

TEST_P(StreamsThatComeAndGo, LeaveNothingOnTheModelNorOnTheDevices) {
    const interop::testing::Watchdog watchdog("streams", std::chrono::seconds(3600));
    kind_ = "cpu";
    validation_ = vulkan::Validation::Off;  // the layers grow with every object
    ASSERT_NO_FATAL_FAILURE(open(GetParam().pairing));
    if (IsSkipped()) return;
    const auto model = testing::small_model(*accelerator_);
    const vae::Latents clip = testing::small_clip(2);
    const interop::testing::Holders holders{
        .bytes = [&] { return accelerator_->bytes_allocated() + display_->memory().bytes_held(); }};
    // Timelines that were retired go again after as many others.
    interop::testing::expect_nothing_grows(
        holders, 2 * vulkan::Device::kRetired, interop::testing::soak_rounds(4), [&] {
            const auto stream = StepLoop::of_clip(bridge(), model, clip, {.storage = GetParam().storage, .slots = 6});
            ASSERT_TRUE(stream) << stream.error().message;
            const auto frame = (*stream)->take(std::chrono::seconds(60));
            ASSERT_TRUE(frame && *frame);
            ASSERT_TRUE((*stream)->release(**frame));
        });
}

INSTANTIATE_TEST_SUITE_P(Cases, StreamsThatComeAndGo, ::testing::ValuesIn(testing::cases_of_every_way()),
                         [](const auto& chosen) { return testing::name_of(chosen.param); });

}  // namespace
}  // namespace kinetograph::stream
