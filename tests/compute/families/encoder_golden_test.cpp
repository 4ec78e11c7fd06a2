// Encoders: moments of diffusers' on a small clip, and steps of any length.
#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/tests/compute/vae/decoder_golden.hpp>

#include <map>

namespace kinetograph::families {
namespace {

using Cut = std::vector<std::int64_t>;

/// Encoders of width 8 on parameters by rule.
class Encoder : public testing::TestWithParam<std::string> {
  protected:
    /// Latents of the clip, cut into steps of so many frames: [t, h, w, 2 z_dim].
    std::vector<float> encode(const golden::Tensor& pictures, vae::Precision precision, const Cut& cut) {
        const Family& family = *find(GetParam());
        const nn::Network network = family.encoder({.dim = 8, .z_dim = family.published.z_dim});
        std::map<std::string, tensor::Shape> shapes;
        for (const nn::Parameter& parameter : nn::parameters(network)) shapes[parameter.name] = parameter.shape;
        const bool exact = precision == vae::Precision::Fp32;
        const auto model = vae::Model::create(
            *device_, "an encoder", {.network = network, .dtype = exact ? tensor::DType::F32 : tensor::DType::BF16},
            [&](const std::string& name) { return vae::synthetic_tensor(name, shapes.at(name)).value(); });
        EXPECT_TRUE(model) << model.error().message;
        const auto stepper = stream::Decoder::create(*model, {pictures.shape[2], pictures.shape[3]},
                                                     {.latent_frames = *std::ranges::max_element(cut)});
        EXPECT_TRUE(stepper) << stepper.error().message;
        std::vector<float> made;
        std::int64_t next = 0;
        for (const std::int64_t count : cut) {
            const auto step = (*stepper)->step(golden::tchw(pictures, next, count), count);
            EXPECT_TRUE(step) << step.error().message;
            if (!step) return {};
            step->append_to(made);
            next += count;
        }
        return made;
    }

    const golden::File file_{"encoders.safetensors"};
    const golden::Tensor pictures_ = file_.tensor("wan2.1.pictures"), moments_ = file_.tensor("wan2.1.moments");
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

TEST_P(Encoder, MatchesDiffusers) {
    const auto wanted = golden::thwc(moments_, 0, moments_.shape[1]);
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Fp32, {1, 4, 4}), wanted, test::kFp32Decode));
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Bf16, {1, 4, 4}), wanted, test::kBf16AgainstFp32));
}

TEST_P(Encoder, EncodesTheFirstFrameAlone) {
    const auto wanted = golden::thwc(moments_, 0, 1);
    EXPECT_TRUE(golden::within(encode(pictures_, vae::Precision::Fp32, {1}), wanted, test::kFp32Decode));
}

TEST_P(Encoder, MakesTheSameLatentsInStepsOfAnyLength) {
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

INSTANTIATE_TEST_SUITE_P(Families, Encoder, testing::Values("wan2.1", "qwen-image"),
                         [](const auto& each) { return each.param == "wan2.1" ? "Wan21" : "QwenImage"; });

/// Of the families on Wan 2.1's network, LightVAE's encoder has been compared with no reference.
TEST(Encoders, AreOfNetworksThatAReferenceHasProven) {
    for (const Family& family : all())
        EXPECT_EQ(family.encoder != nullptr, family.name == "wan2.1" || family.name == "qwen-image") << family.name;
}

}  // namespace
}  // namespace kinetograph::families
