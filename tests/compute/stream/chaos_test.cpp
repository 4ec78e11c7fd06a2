// A stream whose readers are slow, hold frames and give them back in any order, while others restart it, cancel it,
// loop it, ask it and destroy it, at drawn moments. Every frame that comes out is the one that it should be.
// KINETOGRAPH_CHAOS_SECONDS and KINETOGRAPH_CHAOS_SEED say for how long, and which chaos.
#include "stream_chaos.hpp"

#include <kinetograph/tests/engine/interop/held.hpp>
#include <kinetograph/tests/engine/interop/watchdog.hpp>

#include <algorithm>

namespace kinetograph::stream {
namespace {

using kinetograph::testing::chaos_seed;
using kinetograph::testing::chaos_time;
using kinetograph::testing::Dice;
using testing::Case;
using testing::FrameRecord;

class Chaos : public testing::StreamChaos, public ::testing::WithParamInterface<Case> {
  protected:
    void expect_allowed(const Error& error) override { EXPECT_EQ(error.code, ErrorCode::Cancelled) << error.message; }
    void check(const FrameRecord& record, const std::optional<FrameRecord>& before, bool pushed) override;
    void disturb(Dice& dice);
    void act(Dice& dice);

    std::vector<std::vector<std::uint8_t>> expected_, expected_of_pushed_;
};

void Chaos::check(const FrameRecord& record, const std::optional<FrameRecord>& before, bool pushed) {
    const auto index = static_cast<std::size_t>(record.label.index);
    const auto& expected = pushed ? expected_of_pushed_ : expected_;
    if (before && before->generation == record.generation) {
        const bool around = !pushed && before->label.index + 1 == static_cast<std::int64_t>(expected_.size());
        EXPECT_EQ(record.label.index, around ? 0 : before->label.index + 1);
    } else {
        EXPECT_EQ(record.label.index, 0);
        if (before) {
            EXPECT_GT(record.generation, before->generation);
        }
    }
    if (index < expected.size()) {
        EXPECT_EQ(read(record), expected[index]) << "frame " << index;
    }
}

void Chaos::disturb(Dice& dice) {
    switch (dice.roll(10)) {
        case 0:
            stream_->restart();
            break;
        case 1:
            stream_->cancel();
            dice.pause(std::chrono::milliseconds(2));
            stream_->restart();
            break;
        case 2:
            stream_->set_loop(dice.one_in(2));
            break;
        case 3:
            stream_->collect();
            break;
        case 4:
            EXPECT_LE(stream_->stats().held, kSlots);
            break;
        default:
            static_cast<void>(stream_->finished());
            dice.pause(std::chrono::milliseconds(10));
    }
}

/// One stream, from its making to its end.
void Chaos::act(Dice& dice) {
    const interop::testing::Watchdog watchdog("an act of the chaos", std::chrono::seconds(120));
    const bool pushed = dice.one_in(2);
    ASSERT_NO_FATAL_FAILURE(make_stream(GetParam().storage, pushed, dice.one_in(2)));
    use_stream(dice, pushed, [&] {
        for (std::uint32_t i = 20 + dice.roll(100); i > 0; --i) disturb(dice);
    });
    stream_.reset();
}

TEST_P(Chaos, OfAStreamLosesNoFrameAndLeavesNothing) {
    kind_ = "cpu";
    validation_ = vulkan::Validation::Off;
    ASSERT_NO_FATAL_FAILURE(open(GetParam().pairing));
    if (IsSkipped()) return;
    expected_ = testing::expected_frames(*testing::small_decoder(*accelerator_), clip_);
    vae::Latents same = clip_;
    for (std::size_t i = 0; i < same.values.size(); ++i) {
        const std::size_t pixels = same.values.size() / 16 / kLatents, channel = i / (pixels * kLatents);
        same.values[i] = clip_.frame(0)[channel * pixels + i % pixels];
    }
    expected_of_pushed_ = testing::expected_frames(*testing::small_decoder(*accelerator_), same);
    Dice dice(chaos_seed());
    SCOPED_TRACE(fmt::format("KINETOGRAPH_CHAOS_SEED={}", chaos_seed()));
    ASSERT_NO_FATAL_FAILURE(make_stream(GetParam().storage, false, false));
    const auto first = stream_->take(std::chrono::seconds(60));  // after which the bridge has its threads
    ASSERT_TRUE(first && *first && stream_->release(**first));
    stream_.reset();
    const interop::testing::Holders holders{.bytes = [&] { return accelerator_->bytes_allocated(); }};
    interop::testing::Held before = holders.now();
    const Nanoseconds end = host_now() + chaos_time() / 4;
    while ((host_now() < end || read_ == 0) && !HasFailure()) ASSERT_NO_FATAL_FAILURE(act(dice));
    before.vulkan_objects = vulkan::testing::faults().alive;  // timelines go later
    holders.expect(before);
}

INSTANTIATE_TEST_SUITE_P(Cases, Chaos, ::testing::ValuesIn(testing::cases_of_every_way()),
                         [](const auto& chosen) { return testing::name_of(chosen.param); });

}  // namespace
}  // namespace kinetograph::stream
