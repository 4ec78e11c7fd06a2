// Encoders: moments of diffusers' on a small clip, and steps of any length.
#include <kinetograph/tests/compute/vae/encoder_golden.hpp>

namespace kinetograph::families {
namespace {

using test::Cut;

/// Encoders of width 8 on parameters by rule.
class Encoder : public testing::TestWithParam<std::string> {
  protected:
    std::vector<float> encode(const golden::Tensor& pictures, vae::Precision precision, const Cut& cut) {
        return test::encode_in_steps(*device_, GetParam(), pictures, precision, cut);
    }
    bool takes_clips() const { return !find(GetParam())->one_latent_frame; }

    const golden::File file_{"encoders.safetensors"};
    const golden::Tensor pictures_ = file_.tensor("wan2.1.pictures"), moments_ = file_.tensor("wan2.1.moments");
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

TEST_P(Encoder, MatchesDiffusers) {
    if (!takes_clips()) GTEST_SKIP() << "a clip is one picture";
    const auto wanted = golden::thwc(moments_, 0, moments_.shape[1]);
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Fp32, {1, 4, 4}), wanted, test::kFp32Decode));
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Bf16, {1, 4, 4}), wanted, test::kBf16AgainstFp32));
}

TEST_P(Encoder, EncodesTheFirstFrameAlone) {
    const auto wanted = golden::thwc(moments_, 0, 1);
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Fp32, {1}), wanted, test::kFp32Decode));
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Bf16, {1}), wanted, test::kBf16AgainstFp32));
}

TEST_P(Encoder, MakesTheSameLatentsInStepsOfAnyLength) {
    if (!takes_clips()) GTEST_SKIP() << "a clip is one picture";
    constexpr std::int64_t kFrames = 13;
    const tensor::Shape shape{3, kFrames, pictures_.shape[2], pictures_.shape[3]};
    const golden::Tensor pictures{shape, vae::synthetic_tensor("latents", shape).value()};
    for (const vae::Precision precision : {vae::Precision::Fp32, vae::Precision::Bf16}) {
        const auto in_fours = encode(pictures, precision, {1, 4, 4, 4});
        ASSERT_FALSE(in_fours.empty());
        for (const Cut& cut : {Cut{1, 8, 4}, Cut{1, 4, 8}, Cut{1, 12}})
            EXPECT_EQ(encode(pictures, precision, cut), in_fours) << "steps of " << testing::PrintToString(cut);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Encoder, testing::Values("wan2.1", "qwen-image", "lightvae"), [](const auto& each) {
    return each.param == "wan2.1" ? "Wan21" : each.param == "qwen-image" ? "QwenImage" : "LightVae";
});

}  // namespace
}  // namespace kinetograph::families
