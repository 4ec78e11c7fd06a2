// Reencoder on the CPU.
#include "reencoding.hpp"

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/open.hpp>

#include <limits>

namespace kinetograph::stream {
namespace {

using testing::Directions;

class Reencoding : public ::testing::Test {
  protected:
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();

    Directions wan() { return Directions::of(*device_, "synthetic:wan2.1,dim=2", vae::Pictures::Clip); }
};

TEST_F(Reencoding, HasTheBitsOfTwoStepsHoweverAClipIsCut) {
    testing::expect_reencoded_as_in_two_steps(*device_, "synthetic:wan2.1,dim=2", {{5}, {1, 1, 1, 1, 1}, {2, 3}});
    testing::expect_reencoded_as_in_two_steps(*device_, "synthetic:wan2.2,dim=4", {{3}, {1, 2}});
}

TEST_F(Reencoding, HasThemOfEncodersThatTakeFourFramesFromTheFirstOn) {
    testing::expect_reencoded_as_in_two_steps(*device_, "synthetic:taew2.1,dim=8", {{4}, {1, 1, 2}, {3, 1}});
}

TEST_F(Reencoding, HasThemOfFamiliesForOnePicture) {
    for (const char* const family : {"flux.1", "taef1", "qwen-image"})
        testing::expect_reencoded_as_in_two_steps(*device_, fmt::format("synthetic:{},dim=4", family), {{1}},
                                                  vae::Pictures::One);
}

TEST_F(Reencoding, GivesFramesOnlyWhereTheyAreWanted) {
    const Directions both = wan();
    const auto latents = both.latents(2);
    const auto made = both.reencoder(false)->reencode(latents);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->frames.empty());
    EXPECT_EQ(made->latents.size(), 2U);
}

TEST_F(Reencoding, RefusesWhatItCannotDecodeAndStaysAsItWas) {
    const Directions both = wan();
    const auto reencoder = both.reencoder();
    auto latents = both.latents(3);
    const auto refused = [&](std::span<const float> given) {
        const auto made = reencoder->reencode(given);
        EXPECT_FALSE(made);
        return made ? "" : made.error().message;
    };
    EXPECT_EQ(refused(std::span(latents).first(33)), "33 values are no latent frames of 16x1x2, which have 32 each");
    EXPECT_EQ(refused({}), "0 values are no latent frames of 16x1x2, which have 32 each");
    latents[32 + 5] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_NE(refused(latents).find("latent frame 1"), std::string::npos);
    latents = both.latents(3);
    testing::expect_same(testing::in_calls(*reencoder, both, latents, {3}), testing::in_two_steps(both, latents));
    EXPECT_EQ(refused(latents), "the clip has ended: restart() begins the next one");
}

TEST_F(Reencoding, EndsTheClipWhereItIsCancelledUntilARestart) {
    const Directions both = wan();
    const auto reencoder = both.reencoder();
    const auto latents = both.latents(3);
    const auto cancelled = reencoder->reencode(latents, {.until = host_now()});
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(reencoder->reencode(latents).error().code, ErrorCode::Cancelled);
    ASSERT_TRUE(reencoder->restart());
    testing::expect_same(testing::in_calls(*reencoder, both, latents, {3}), testing::in_two_steps(both, latents));
}

TEST_F(Reencoding, TakesTheMemoryThatItStates) {
    const Directions both = wan();
    const std::uint64_t before = device_->bytes_allocated();
    const auto reencoder = both.reencoder();
    ASSERT_TRUE(reencoder->reencode(both.latents(2)));
    EXPECT_GT(reencoder->facts().memory.state(), 0U);
    EXPECT_LE(device_->bytes_allocated() - before, reencoder->facts().memory.total());
}

TEST_F(Reencoding, IsOfOneDevice) {
    const auto together = accel::open("cpu+cpu").value();
    const Directions both = Directions::of(*together, "synthetic:wan2.1,dim=2", vae::Pictures::Clip);
    const auto made = Reencoder::create(both.bridge, both.decoder, both.encoder, both.size, {});
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("frames that several devices decode are not encoded again"), std::string::npos)
        << made.error().message;
}

}  // namespace
}  // namespace kinetograph::stream
