// The measurements of `kinetograph bench interop`, in process: also with timelines shared by accelerator and Vulkan,
// which the program cannot do on lavapipe.
#include <kinetograph/tests/engine/interop/cuda_side.hpp>
#include <kinetograph/tests/engine/interop/interop_fixture.hpp>
#include <kinetograph/tests/engine/vulkan/blocked_queue.hpp>
#include <kinetograph/tools/kinetograph/hand_overs.hpp>
#include <kinetograph/tools/kinetograph/presented_decode.hpp>

namespace kinetograph::cli {
namespace {

using interop::testing::Pairing;

/// None: the CUDA lane on the GPU that draws.
using Sides = std::optional<Pairing>;

class PresentedDecodes : public interop::testing::InteropTest, public ::testing::WithParamInterface<Sides> {
  protected:
    void set_up() {
        validation_ = vulkan::Validation::WithoutSynchronization;  // relays signal while others wait
        if (GetParam()) {
            kind_ = "cpu";
            return open(*GetParam());
        }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        GTEST_SKIP() << "whole decoders in the host model take minutes under a sanitizer";
#endif
        rounds_ = 2;  // of a decoder in the host model
        open(cuda_);
    }
    void TearDown() override {
        InteropTest::TearDown();
        EXPECT_EQ(cuda_.complaints(), "");
    }
    interop::testing::CudaSide cuda_{KINETOGRAPH_STANDIN_CUDA_LIBRARY};
    std::int64_t rounds_ = 3;
};

TEST_P(PresentedDecodes, FollowHandOversAndOneAnotherOnOneBridge) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    {
        auto hand_overs = HandOvers::create(*bridge_);
        ASSERT_TRUE(hand_overs) << hand_overs.error().message;
        ASSERT_TRUE((*hand_overs)->time(Route::ThereAndBack, 2));
    }
    const auto checkpoint = vae::Checkpoint::open("synthetic:wan2.1,dim=2");
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    profile::Recorder recorder;
    const std::uint64_t held = accelerator_->bytes_allocated();
    // Later decoders take more steps than the earlier ones whose memory they may reuse.
    for (std::int64_t round = 0; round < rounds_; ++round) {
        auto decode = PresentedDecode::create(*bridge_, *vae::Model::create(*accelerator_, *checkpoint), {1, 1},
                                              {.passes = round == 0 ? &recorder : nullptr, .draw_over = {}});
        ASSERT_TRUE(decode) << decode.error().message;
        for (std::int64_t part = 0; part <= round; ++part) {
            const auto times = (*decode)->run(4);
            ASSERT_TRUE(times) << times.error().message;
        }
        const PresentedState state = (*decode)->state();
        EXPECT_EQ(state.steps, static_cast<std::uint64_t>(4 * (round + 1)));
        EXPECT_EQ(state.published, state.frames);
        EXPECT_EQ(state.picture_value, state.frames);
        decode->reset();
        EXPECT_EQ(accelerator_->bytes_allocated(), held) << round;
    }
    EXPECT_GT(recorder.total_added(), 0U);
}

/// A drawing queue that does not go on, although every frame that it is to draw is ready.
TEST_P(PresentedDecodes, EndWithTheStatesOfTheLanesWhenNothingMoves) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    const auto checkpoint = vae::Checkpoint::open("synthetic:wan2.1,dim=2");
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    auto decode = PresentedDecode::create(*bridge_, *vae::Model::create(*accelerator_, *checkpoint), {1, 1},
                                          {.patience = std::chrono::seconds(3), .draw_over = {}});
    ASSERT_TRUE(decode) << decode.error().message;
    const auto gate = vulkan::TimelineSemaphore::create(*display_, "gate").value();
    vulkan::testing::block(*display_, graph::Lane::Graphics, *gate);
    const auto stood = (*decode)->run(4);
    gate->signal(1);
    ASSERT_FALSE(stood);
    EXPECT_EQ(stood.error().code, ErrorCode::DeviceLost);
    EXPECT_NE(stood.error().message.find("waiting for a picture: nothing has moved for 3 s:\nlane accelerator: "),
              std::string::npos)
        << stood.error().message;
    EXPECT_NE(stood.error().message.find("\nlane graphics: submitted "), std::string::npos) << stood.error().message;
    const auto times = (*decode)->run(4);
    EXPECT_TRUE(times) << times.error().message;
    decode->reset();
}

INSTANTIATE_TEST_SUITE_P(Sides, PresentedDecodes,
                         ::testing::Values(interop::testing::kSharedTimelines, interop::testing::kSharedRelayed,
                                           interop::testing::kStagedPinned, std::nullopt),
                         [](const auto& sides) { return sides.param ? sides.param->name : "CudaShared"; });

}  // namespace
}  // namespace kinetograph::cli
