// Families whose networks are data: frames of diffusers' decoders at odd sizes, and steps of any length.
#include <kinetograph/tests/compute/vae/decoder_golden.hpp>

#include <algorithm>
#include <numeric>

namespace kinetograph::families {
namespace {

struct Case {
    std::string family, checkpoint;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{{"wan2.2", "synthetic:wan2.2,dim=16"},
                                       {"lightvae", "synthetic:lightvae"},
                                       {"qwen-image", "synthetic:qwen-image,dim=16"}};
    return all;
}

using FamilyDecoder = test::DecoderGolden;

TEST_F(FamilyDecoder, MatchesDiffusersInEveryStep) {
    const golden::File file("families.safetensors");
    for (const auto& [family, checkpoint] : cases()) {
        SCOPED_TRACE(family);
        const auto latents = file.tensor(family + ".latents"), frames = file.tensor(family + ".frames");
        test::expect_decodes_to(*decoder(checkpoint, latents, vae::Precision::Fp32), latents, frames,
                                test::kFp32Decode);
        test::expect_decodes_to(*decoder(checkpoint, latents, vae::Precision::Bf16), latents, frames,
                                test::kBf16AgainstFp32);
    }
}

/// All frames of six latent frames of 2 x 1 pixels, in steps of `cut` latent frames each.
std::vector<float> decode(accel::Device& device, const std::string& checkpoint, const std::vector<std::int64_t>& cut) {
    const auto opened = vae::Checkpoint::open(checkpoint).value();
    const auto model = vae::Model::create(device, opened, {.precision = vae::Precision::Fp32}).value();
    const auto decoder = vae::Decoder::create(model, {2, 1}, {.max_frames = *std::ranges::max_element(cut)}).value();
    std::vector<float> frames;
    std::int64_t next = 0;
    for (const std::int64_t count : cut) {
        std::vector<float> latents(static_cast<std::size_t>(count * opened.z_dim() * 2));
        for (float& value : latents) value = static_cast<float>(next++ * 7919 % 2003 - 1001) / 500;
        const auto step = decoder->step(latents, count);
        EXPECT_TRUE(step) << step.error().message;
        if (!step) return {};
        frames.insert(frames.end(), step->thwc.begin(), step->thwc.end());
    }
    return frames;
}

TEST_F(FamilyDecoder, MakesTheSameFramesInStepsOfOneToFiveLatentFrames) {
    for (const std::string checkpoint : {"synthetic:wan2.2,dim=8", "synthetic:lightvae,dim=8"}) {
        SCOPED_TRACE(checkpoint);
        const auto singly = decode(*device, checkpoint, std::vector<std::int64_t>(6, 1));
        ASSERT_FALSE(singly.empty());
        for (const std::vector<std::int64_t>& cut : {std::vector<std::int64_t>{1, 5}, {1, 2, 3}, {1, 4, 1}})
            EXPECT_TRUE(golden::within(decode(*device, checkpoint, cut), singly, {1e-6, 1e-5}));
    }
}

}  // namespace
}  // namespace kinetograph::families
