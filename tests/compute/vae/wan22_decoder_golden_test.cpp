// The Wan 2.2 decoder, through the real frame graph, against the reference decoder's outputs.
#include <gtest/gtest.h>
#include <kinetograph/tests/compute/vae/decoder_golden.hpp>

namespace kinetograph::vae {
namespace {

using Wan22Decoder = test::DecoderGolden;

TEST_F(Wan22Decoder, InFp32MatchesTheReferenceStepByStep) {
    const golden::File file("wan22_dim32.safetensors");
    const auto latents = file.tensor("latents");
    test::expect_decodes_to(*decoder("synthetic:wan2.2,dim=32", latents, Precision::Fp32), latents,
                            file.tensor("frames.fp32"), test::kFp32Decode);
}

TEST_F(Wan22Decoder, InBf16StaysWithinTheBf16ToleranceInEveryStep) {
    const golden::File file("wan22_dim32.safetensors");
    const auto latents = file.tensor("latents");
    const auto bf16 = decoder("synthetic:wan2.2,dim=32", latents, Precision::Bf16);
    test::expect_decodes_to(*bf16, latents, file.tensor("frames.bf16all"), test::kBf16AgainstBf16All);
    ASSERT_TRUE(bf16->reset());
    test::expect_decodes_to(*bf16, latents, file.tensor("frames.fp32"), test::kBf16AgainstFp32);
}

TEST_F(Wan22Decoder, WithFastSumsStaysWithinTheTolerancesOfEachTypeInEveryStep) {
    const golden::File file("wan22_dim32.safetensors");
    const auto latents = file.tensor("latents"), wanted = file.tensor("frames.fp32");
    for (const auto& [precision, limit] :
         {std::pair(Precision::Fp32, test::kFp32Decode), std::pair(Precision::Bf16, test::kBf16AgainstFp32)})
        test::expect_decodes_to(
            *decoder("synthetic:wan2.2,dim=32", latents, precision, LatentScale::Raw, conv::Sums::Fast), latents,
            wanted, test::of_fast_sums(limit));
}

TEST_F(Wan22Decoder, MatchesTheReferenceModuleByModule) {
    const golden::File file("wan22_dim32_trace.safetensors");
    const auto latents = file.tensor("latents");
    const auto made = decoder("synthetic:wan2.2,dim=32", latents, Precision::Fp32);
    std::vector<std::string> modules{"conv2", "decoder.conv1", "decoder.head.2", "decoder.upsamples.2.upsamples.0"};
    for (const char* i : {"0", "1", "2"}) {
        modules.push_back(std::string("decoder.middle.") + i);
        modules.push_back(std::string("decoder.upsamples.") + i + ".avg_shortcut");
        modules.push_back(std::string("decoder.upsamples.") + i);
    }
    test::expect_traces_match(*made, file, modules);
    ASSERT_TRUE(made->reset());
    test::expect_decodes_to(*made, latents, file.tensor("frames"), test::kFp32Decode);
}

}  // namespace
}  // namespace kinetograph::vae
