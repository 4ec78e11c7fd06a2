// The events of a decoder whose steps `kinetograph bench` times alone: on the CPU's lane, which runs every pass, and on
// the CUDA lane, which replays them.
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tools/kinetograph/plain_decode.hpp>

#include <cmath>

namespace kinetograph::cli {
namespace {

class PlainDecodes : public ::testing::TestWithParam<std::string_view> {
  protected:
    void SetUp() override {
        if (GetParam() == "cpu") {
            device_ = accel::cpu::create_device();
        } else {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
            GTEST_SKIP() << "whole decoders in the host model take minutes under a sanitizer";
#endif
            const std::string library = KINETOGRAPH_STANDIN_CUDA_LIBRARY;
            if (library.empty()) GTEST_SKIP() << "this build has no stand-in driver that runs kernels";
            control_ = accel::control_of(library);
            control_->reset({});
            auto created = accel::cuda::create_device({.library = library});
            ASSERT_TRUE(created) << created.error().message;
            device_ = std::move(*created);
        }
        const auto checkpoint = vae::Checkpoint::open("synthetic:wan2.1,dim=2");
        ASSERT_TRUE(checkpoint) << checkpoint.error().message;
        model_ = vae::Model::create(*device_, *checkpoint).value();
    }
    std::size_t live_events() const { return control_->live().events; }

    standin::Control* control_ = nullptr;
    std::unique_ptr<accel::Device> device_;
    std::shared_ptr<vae::Model> model_;
};

double sum_of_passes(const EventTimes& times) {
    double sum = 0;
    for (const auto& [name, seconds] : times.passes) sum += seconds;
    return sum;
}

/// Passes whose shares of the step differ. A new reading of the device's clock stretches all times of the same events
/// alike, apart from one pass at most, whose two events are read before and after it.
std::size_t changed(const EventTimes& before, const EventTimes& after) {
    std::size_t changed = 0;
    const double stretched = sum_of_passes(after) / sum_of_passes(before);
    for (const auto& [name, seconds] : before.passes)
        if (std::abs(after.passes.at(name) - stretched * seconds) > 0.01 * seconds) ++changed;
    return changed;
}

TEST_P(PlainDecodes, HaveEventsAroundThePassesOfOneStepInSoManyWithoutDisturbingTheOthers) {
    const auto decode = PlainDecode::create(model_, {1, 1}, {.stamp_every = 3}).value();
    EXPECT_TRUE(decode->event_times().passes.empty());
    ASSERT_TRUE(decode->run(6));
    const EventTimes third = decode->event_times();
    EXPECT_GT(third.passes.size(), 50U);

    ASSERT_TRUE(decode->run(1));  // step 6 has events again
    const EventTimes sixth = decode->event_times();
    EXPECT_EQ(sixth.passes.size(), third.passes.size());
    EXPECT_GT(changed(third, sixth), third.passes.size() / 4);
    EXPECT_GT(sum_of_passes(sixth), 0.0);
    EXPECT_LT(sum_of_passes(sixth), 1.01 * sixth.step);

    ASSERT_TRUE(decode->run(1));  // step 7 has none
    const EventTimes seventh = decode->event_times();
    EXPECT_LE(changed(sixth, seventh), 1U);
    EXPECT_NE(seventh.step, sixth.step);
}

using ReplayedPlainDecodes = PlainDecodes;

TEST_P(ReplayedPlainDecodes, BeginAPassOfAReplayedBatchWithTheEventThatEndsTheOneBefore) {
    const auto decode = PlainDecode::create(model_, {1, 1}, {.stamp_every = 2}).value();
    ASSERT_TRUE(decode->run(2));
    const std::size_t before = live_events();
    ASSERT_TRUE(decode->run(1));
    // unpack_latents, the first pass of the replayed batch and write_frames have an event of their own in front.
    EXPECT_EQ(live_events() - before, decode->event_times().passes.size() + 3);
}

TEST_P(ReplayedPlainDecodes, CreateNoEventsWhereNoneAreAskedFor) {
    const std::size_t before = live_events();
    const auto decode = PlainDecode::create(model_, {1, 1}).value();
    ASSERT_TRUE(decode->run(3));
    EXPECT_EQ(live_events(), before);
    EXPECT_TRUE(decode->event_times().passes.empty());
}

std::string name_of(const testing::TestParamInfo<std::string_view>& lane) { return std::string(lane.param); }
INSTANTIATE_TEST_SUITE_P(Lanes, PlainDecodes, ::testing::Values("cpu", "cuda"), name_of);
INSTANTIATE_TEST_SUITE_P(Lanes, ReplayedPlainDecodes, ::testing::Values("cuda"), name_of);

}  // namespace
}  // namespace kinetograph::cli
