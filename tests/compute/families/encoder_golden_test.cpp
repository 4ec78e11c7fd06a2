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

    const golden::File file_{"encoders.safetensors"};
    const golden::Tensor pictures_ = file_.tensor("wan2.1.pictures"), moments_ = file_.tensor("wan2.1.moments");
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

/// Of families whose clips are more than one picture.
class ClipEncoder : public Encoder {};

TEST_P(ClipEncoder, MatchesDiffusers) {
    const auto wanted = golden::thwc(moments_, 0, moments_.shape[1]);
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Fp32, {1, 4, 4}), wanted, test::kFp32Decode));
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Bf16, {1, 4, 4}), wanted, test::kBf16AgainstFp32));
}

TEST_P(Encoder, EncodesTheFirstFrameAlone) {
    const auto wanted = golden::thwc(moments_, 0, 1);
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Fp32, {1}), wanted, test::kFp32Decode));
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Bf16, {1}), wanted, test::kBf16AgainstFp32));
}

TEST_P(ClipEncoder, MakesTheSameLatentsInStepsOfAnyLength) {
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

/// Of pictures that are not stored.
class LargerEncoder : public Encoder {
  protected:
    /// The latents of those pictures, against the first of the stored ones.
    void expect_latents(const Cut& cut, const Cut& other, std::int64_t latents) {
        const auto wanted = golden::thwc(file_.tensor(GetParam() + ".moments"), 0, latents);
        for (const auto& [precision, limit] : {std::pair(vae::Precision::Fp32, test::kFp32Decode),
                                               std::pair(vae::Precision::Bf16, test::kBf16AgainstFp32)}) {
            const auto made = encode(larger_, precision, cut);
            EXPECT_TRUE(golden::within(made, wanted, limit)) << vae::to_string(precision);
            EXPECT_EQ(encode(larger_, precision, other), made);
        }
    }

    const golden::Tensor larger_ = test::larger_pictures();
};

class LargerClipEncoder : public LargerEncoder {};
TEST_P(LargerClipEncoder, MatchesDiffusersInStepsOfAnyLength) { expect_latents({1, 4, 4}, {1, 8}, 3); }
INSTANTIATE_TEST_SUITE_P(Families, LargerClipEncoder, testing::Values("wan2.2"), [](const auto&) { return "wan22"; });

class PictureEncoder : public LargerEncoder {};
TEST_P(PictureEncoder, MatchesDiffusers) { expect_latents({1}, {1}, 1); }

/// The first latent frame is made of four pictures, as all are.
class GroupEncoder : public LargerEncoder {};
TEST_P(GroupEncoder, MatchesTheReferenceInStepsOfAnyLength) { expect_latents({4, 4}, {8}, 2); }

std::string name_of(const testing::TestParamInfo<std::string>& each) {
    std::string name = each.param;
    std::erase_if(name, [](char c) { return c == '.' || c == '-'; });
    return name;
}
INSTANTIATE_TEST_SUITE_P(Families, Encoder, testing::Values("wan2.1", "qwen-image", "lightvae"), name_of);
INSTANTIATE_TEST_SUITE_P(Families, ClipEncoder, testing::Values("wan2.1", "lightvae"), name_of);
INSTANTIATE_TEST_SUITE_P(Families, PictureEncoder, testing::Values("taef1", "sd", "flux.1", "flux.2"), name_of);
INSTANTIATE_TEST_SUITE_P(Families, GroupEncoder, testing::Values("taew2.1", "taew2.2"), name_of);

}  // namespace
}  // namespace kinetograph::families
