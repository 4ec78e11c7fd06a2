// Families whose networks are data: frames of diffusers' decoders at odd sizes, and steps of any length.
#include <kinetograph/tests/compute/vae/decoder_golden.hpp>

namespace kinetograph::families {
namespace {

using FamilyDecoder = test::DecoderGolden;

TEST_F(FamilyDecoder, MatchesDiffusersInEveryStep) {
    const golden::File file("families.safetensors");
    for (const auto& [family, checkpoint] : test::family_clips()) {
        SCOPED_TRACE(family);
        const auto latents = file.tensor(family + ".latents"), frames = file.tensor(family + ".frames");
        test::expect_decodes_to(*decoder(checkpoint, latents, vae::Precision::Fp32), latents, frames,
                                test::kFp32Decode);
        test::expect_decodes_to(*decoder(checkpoint, latents, vae::Precision::Bf16), latents, frames,
                                test::kBf16AgainstFp32);
    }
}

TEST_F(FamilyDecoder, MakesTheSameFramesInStepsOfOneToFiveLatentFrames) {
    for (const std::string checkpoint : {"synthetic:wan2.2,dim=8", "synthetic:lightvae,dim=8"}) {
        SCOPED_TRACE(checkpoint);
        const auto singly =
            test::decode_in_steps(*device, checkpoint, vae::Precision::Fp32, std::vector<std::int64_t>(6, 1));
        ASSERT_FALSE(singly.empty());
        for (const std::vector<std::int64_t>& cut : {std::vector<std::int64_t>{1, 5}, {1, 2, 3}, {1, 4, 1}})
            EXPECT_TRUE(golden::within(test::decode_in_steps(*device, checkpoint, vae::Precision::Fp32, cut), singly,
                                       {1e-6, 1e-5}));
    }
}

}  // namespace
}  // namespace kinetograph::families
