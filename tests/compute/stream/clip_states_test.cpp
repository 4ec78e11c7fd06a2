// The state of clips as a value, on the CPU; and files of it that are refused.
#include "clip_states.hpp"
#include "shared_clips.hpp"

#include <kinetograph/engine/accel/cpu/device.hpp>

#include <fstream>
#include <iterator>

namespace kinetograph::stream {
namespace {

class ClipStates : public ::testing::Test {
  protected:
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

TEST_F(ClipStates, ContinueInAnotherClipByWayOfMemoryAndOfAFile) { testing::expect_saved_states_continue(*device_); }
TEST_F(ClipStates, ContinueInBranchesWhichDoNotChangeEachOther) { testing::expect_branches_continue(*device_); }
TEST_F(ClipStates, ContinueFromBeforeTheStepsThatAreTakenBack) { testing::expect_rewound_clips_continue(*device_); }
TEST_F(ClipStates, LeaveTheDeviceWhileTheClipIsParked) { testing::expect_parked_clips_give_back_their_state(*device_); }
TEST_F(ClipStates, TakeTheBytesThatWereDeclared) { testing::expect_clips_take_what_is_declared(*device_); }

TEST_F(ClipStates, OfClipsThatShareARunnerAreThoseOfClipsAlone) {
    testing::expect_clips_that_share_to_be_as_alone(*device_);
}
TEST_F(ClipStates, AndFramesAreWhatAFurtherClipOfARunnerTakes) {
    testing::expect_further_clips_to_take_their_state_and_frames(*device_);
}
TEST_F(ClipStates, ChangeInTheOrderInWhichStepsAreDue) {
    testing::expect_steps_in_the_order_in_which_they_are_due(*device_);
}

TEST_F(ClipStates, OfClipsThatShareARunnerAreTouchedByNoOthersTrouble) {
    testing::expect_trouble_of_a_clip_to_stop_no_other(*device_);
}
TEST_F(ClipStates, InTheBackgroundWaitUnderOverloadAndFurtherOnesAreRefused) {
    std::vector<std::string> said;
    Mutex mutex;
    const auto device = accel::cpu::create_device({.log = Log([&](LogLevel, std::string_view line) {
                                                       const Lock lock(mutex);
                                                       said.emplace_back(line);
                                                   })});
    testing::expect_overload_to_hold_the_background_back(*device, [&](std::string_view begin) {
        const Lock lock(mutex);
        return std::ranges::any_of(said, [&](const std::string& line) { return line.starts_with(begin); });
    });
}

/// A file of a state, and what reading it says after a change.
class ClipStateFiles : public ClipStates {
  protected:
    void SetUp() override {
        testing::PushedClip clip(*device_, model_);
        clip.decode(0);
        state_ = clip.latents().save(testing::PushedClip::kLong).value().value();
        ASSERT_TRUE(state_.write(path_));
        std::ifstream file(path_, std::ios::binary);
        contents_.assign(std::istreambuf_iterator<char>(file), {});
    }
    std::string refusal(const std::string& contents) {
        std::ofstream(path_, std::ios::binary) << contents;
        const auto read = vae::ClipState::read(path_);
        EXPECT_FALSE(read);
        return read ? "" : read.error().message;
    }
    std::string replaced(const std::string& text, const std::string& by) const {
        std::string changed = contents_;
        EXPECT_NE(changed.find(text), std::string::npos);
        return changed.replace(changed.find(text), text.size(), by);
    }

    const test::TemporaryFolder folder_;
    const std::filesystem::path path_ = folder_.path() / "clip.state";
    std::shared_ptr<vae::Model> model_ = testing::small_model(*device_);
    vae::ClipState state_;
    std::string contents_;
};

TEST_F(ClipStateFiles, AreRefusedByNameIfTruncatedOrAltered) {
    for (const std::size_t left : {std::size_t{0}, std::size_t{7}, contents_.size() / 2, contents_.size() - 1})
        EXPECT_NE(refusal(contents_.substr(0, left)).find("clip.state"), std::string::npos) << left;
    std::string changed = contents_;
    changed[changed.size() - 5] = static_cast<char>(changed[changed.size() - 5] ^ 1);
    EXPECT_EQ(refusal(changed), path_.string() + ": its contents do not match their hash: the file was altered");
    EXPECT_EQ(refusal(replaced(R"("latent_frames":"1")", R"("latent_frames":"2")")),
              path_.string() + ": its contents do not match their hash: the file was altered");
    EXPECT_EQ(refusal(replaced(R"("latent_frames":"1")", R"("latent_frames":"x")")),
              path_.string() + ": its latent_frames is \"x\"");
    EXPECT_EQ(refusal(replaced(R"("kinetograph.clip_state":"1")", R"("kinetograph.clip_state":"2")")),
              path_.string() + ": a state of version 2; this library reads up to version 1");
    EXPECT_EQ(refusal(replaced(R"("kinetograph.clip_state")", R"("kinetograph.clip_other")")),
              path_.string() + ": it is no state of a clip");
}

TEST_F(ClipStateFiles, AreRefusedByClipsOfOtherSizesAndWeights) {
    const auto refused = [&](const vae::ClipState& state) {
        testing::PushedClip clip(*device_, model_);
        const auto loaded = clip.latents().load(state, testing::PushedClip::kLong);
        EXPECT_FALSE(loaded);
        EXPECT_EQ(clip.decode(0), testing::PushedClip(*device_, model_).decode(0)) << "a new clip has begun";
        return loaded ? "" : loaded.error().message;
    };
    const auto read = vae::ClipState::read(path_).value();
    vae::ClipState other = read;
    other.owner.weights ^= 1;
    EXPECT_NE(refused(other).find(path_.string() + " is of another decoder or size: it is of "), std::string::npos);
    other = read;
    other.owner.size.width = 2;
    EXPECT_NE(refused(other).find("latents of 2x1"), std::string::npos);
    other = read;
    other.owner.family = "Wan 2.2";
    EXPECT_NE(refused(other).find("it is of Wan 2.2, "), std::string::npos);
    other = read;
    other.owner.dtype = tensor::DType::F16;
    EXPECT_NE(refused(other).find("F16"), std::string::npos);
    other = read;
    other.kept.erase(other.kept.begin());
    EXPECT_NE(refused(other).find("in other bands, or by other methods"), std::string::npos);
}

/// A restart that the loop has not seen yet when the state is loaded would begin a new clip afterwards.
TEST_F(ClipStates, AreKeptWhereTheClipWasRestartedJustBefore) {
    const auto model = testing::small_model(*device_);
    testing::PushedClip clip(*device_, model);
    clip.decode(0);
    const auto state = clip.latents().save(testing::PushedClip::kLong).value().value();
    const auto wanted = clip.decode(1);
    for (int round = 0; round < 1000; ++round) {
        clip.frames().restart();
        const Nanoseconds until = host_now() + round % 100 * std::chrono::microseconds(1);
        while (host_now() < until) continue;
        ASSERT_TRUE(clip.latents().load(state, testing::PushedClip::kLong).value());
        ASSERT_EQ(clip.decode(1), wanted) << round;
    }
}

TEST_F(ClipStates, AreNotGivenWhileReadersHoldTheFramesOfLatentsThatWait) {
    testing::PushedClip clip(*device_, testing::small_model(*device_), {.slots = 5});
    clip.push(0);
    clip.push(1);
    clip.push(2);
    const auto early = clip.latents().save(std::chrono::milliseconds(30));
    ASSERT_TRUE(early) << early.error().message;
    EXPECT_FALSE(*early);
    clip.take(9, 0);
    EXPECT_TRUE(clip.latents().save(testing::PushedClip::kLong).value());
    clip.frames().cancel();
    EXPECT_EQ(clip.latents().save(testing::PushedClip::kLong).error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace kinetograph::stream
