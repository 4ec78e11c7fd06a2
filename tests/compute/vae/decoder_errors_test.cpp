// In what state an Error leaves a clip.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <limits>

#include "checkpoint_file.hpp"

namespace kinetograph::vae {
namespace {

using stream::Decoder;
using stream::first_module_not_finite;

class DecoderErrors : public ::testing::Test {
  protected:
    std::unique_ptr<Decoder> make() {
        const auto checkpoint = Checkpoint::open("synthetic:wan2.1,dim=2");
        return std::move(*Decoder::create(*Model::create(*device_, *checkpoint), {2, 1}));
    }
    static std::vector<float> latent(std::int64_t step) {
        std::vector<float> values = synthetic_tensor("latents", {16, 2, 1}).value();
        for (float& value : values) value += 0.125F * static_cast<float>(step);
        return values;
    }
    /// Frames of steps 0 to `steps` - 1.
    static std::vector<float> decode(Decoder& decoder, std::int64_t steps) {
        std::vector<float> frames;
        for (std::int64_t step = 0; step < steps; ++step) {
            const auto decoded = decoder.step(latent(step));
            EXPECT_TRUE(decoded) << decoded.error().message;
            decoded->append_to(frames);
        }
        return frames;
    }
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

TEST_F(DecoderErrors, EndTheClipAndAreReturnedAgainUntilResetBeginsANewOne) {
    const auto expected = decode(*make(), 3);
    const auto decoder = make();
    decode(*decoder, 2);
    decoder->runner().lane().stream().enqueue("a pass",
                                              [] { return Result<void>(fail(ErrorCode::OutOfMemory, "no more")); });
    for (int attempt = 0; attempt < 3; ++attempt) {
        const auto failed = decoder->step(latent(2));
        ASSERT_FALSE(failed) << "attempt " << attempt;
        EXPECT_EQ(failed.error().message, "a pass: no more");
    }
    EXPECT_EQ(decoder->trace(latent(2), "decoder.head.2").error().message, "a pass: no more");
    ASSERT_TRUE(decoder->reset());
    EXPECT_EQ(decode(*decoder, 3), expected);
}

TEST_F(DecoderErrors, ThatRefuseALatentLeaveTheClipAsItWas) {
    const auto expected = decode(*make(), 2);
    const auto decoder = make();
    auto frames = decode(*decoder, 1);
    std::vector<float> bad = latent(1);
    bad.pop_back();
    EXPECT_EQ(decoder->step(bad).error().code, ErrorCode::InvalidArgument);
    bad.push_back(std::numeric_limits<float>::infinity());
    EXPECT_EQ(decoder->step(bad).error().code, ErrorCode::InvalidArgument);
    const auto next = decoder->step(latent(1));
    ASSERT_TRUE(next) << next.error().message;
    next->append_to(frames);
    EXPECT_EQ(frames, expected);
}

/// Sums of a few of these go beyond fp32.
constexpr float kHuge = 3.3e38F;

TEST_F(DecoderErrors, FramesOfFiniteLatentsThatOverflowAreCountedUntilResetAndTheModuleIsNamed) {
    Latents clip{"clip", 16, 3, 2, 1, {}, 24.0, 0};
    clip.values.assign(16 * 3 * 2, 0.5F);
    for (std::size_t c = 0; c < 16; ++c) clip.values[(c * 3 + 1) * 2] = clip.values[(c * 3 + 1) * 2 + 1] = kHuge;
    const auto decoder = make();
    EXPECT_EQ(decoder->step(clip.frame(0))->not_finite, 0);
    const auto frames = decoder->step(clip.frame(1));
    ASSERT_TRUE(frames) << frames.error().message;
    EXPECT_GT(frames->not_finite, 0);
    EXPECT_EQ(frames->not_finite,
              std::ranges::count_if(frames->thwc(), [](float value) { return !std::isfinite(value); }));
    const auto module = first_module_not_finite(*decoder, clip, 1);
    ASSERT_TRUE(module) << module.error().message;
    const auto modules = decoder->modules();
    const auto found = std::ranges::find(modules, *module);
    ASSERT_NE(found, modules.end());
    // What the decoder itself traces agrees: all before it is finite, and it is not.
    for (auto it = modules.begin(); it <= found; ++it) {
        ASSERT_TRUE(decoder->reset());
        ASSERT_TRUE(decoder->step(clip.frame(0)));
        const auto values = decoder->trace(clip.frame(1), *it);
        ASSERT_TRUE(values) << values.error().message;
        EXPECT_EQ(std::ranges::all_of(*values, [](float value) { return std::isfinite(value); }), it != found) << *it;
    }
    ASSERT_TRUE(decoder->reset());
    EXPECT_EQ(decoder->step(clip.frame(0))->not_finite, 0);
    EXPECT_EQ(*first_module_not_finite(*decoder, clip, 0), "");
}

TEST_F(DecoderErrors, RefuseAPictureOfMorePixelsThanTheWidthAllowsBeforeAnythingIsLoaded) {
    const auto checkpoint = Checkpoint::open("synthetic:wan2.1");
    const auto decoder = Decoder::create(*Model::create(*device_, *checkpoint), {1024, 1024});
    ASSERT_FALSE(decoder);
    EXPECT_EQ(decoder.error().message,
              "latents of 1024x1024 are 67108864 pixels of video, synthetic:wan2.1 takes up to 11184810");
}

TEST_F(DecoderErrors, RefuseStatisticsThatDoNotFitThePrecision) {
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "vae.safetensors";
    auto file = test::CheckpointFile::synthetic(2);
    std::string means, deviations;
    for (int channel = 0; channel < 16; ++channel) {
        means += channel == 0 ? "0" : ",0";
        deviations += channel == 0 ? "1" : channel == 3 ? ",1e38" : ",1";
    }
    file.metadata = {{"latents_mean", means}, {"latents_std", deviations}};
    ASSERT_NO_FATAL_FAILURE(file.write(path));
    const auto checkpoint = Checkpoint::open(path.string());
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    const auto model = Model::create(*device_, *checkpoint);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().message,
              path.string() +
                  ": latents_mean 0 and latents_std 1e+38 of channel 3 are too large for BF16, which ends at "
                  "3.40282e+38");
    EXPECT_TRUE(Model::create(*device_, *checkpoint, {.latents = LatentScale::Raw}));
}

}  // namespace
}  // namespace kinetograph::vae
