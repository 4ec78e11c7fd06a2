// Whole small decoders on the HIP lane, against the reference decoder's outputs.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/tests/compute/hip/hip_lane.hpp>
#include <kinetograph/tests/compute/vae/encoder_golden.hpp>
#include <kinetograph/tests/compute/vae/taehv_cases.hpp>
#include <kinetograph/tests/sanitizers.hpp>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

using test::kBf16AgainstBf16All;
using test::kBf16AgainstFp32;
using test::kFp16AgainstFp32;

class HipDecoder : public test::HipLane {
  protected:
    std::unique_ptr<Decoder> decoder(const golden::Tensor& latents, Precision precision,
                                     const std::string& name = "synthetic:wan2.1,dim=32") {
        const auto checkpoint = Checkpoint::open(name).value();
        const auto model =
            Model::create(*device_, checkpoint, {.precision = precision, .latents = LatentScale::Raw, .clamp = false});
        auto created = Decoder::create(model.value(), {latents.shape[2], latents.shape[3]});
        EXPECT_TRUE(created) << created.error().message;
        return created ? std::move(*created) : nullptr;
    }
    /// The frames of the first `steps` latent frames, one a step.
    static std::vector<float> decode(Decoder& decoder, const golden::Tensor& latents, std::int64_t steps) {
        std::vector<float> all;
        for (std::int64_t t = 0; t < steps; ++t) {
            const auto step = decoder.step(golden::tchw(latents, t, 1));
            EXPECT_TRUE(step) << step.error().message;
            if (!step) return {};
            EXPECT_EQ(step->frames.count, t == 0 ? 1 : 4);
            step->append_to(all);
        }
        return all;
    }
};

TEST_F(HipDecoder, IsBesideAnEncoderThatMatchesDiffusers) {
    test::expect_encodes(*device_, Precision::Bf16, kBf16AgainstFp32, 2);
    test::expect_encodes(*device_, Precision::Fp16, kFp16AgainstFp32, 1);
}

TEST_F(HipDecoder, OfDim32InBf16MatchesTheReference) {
    if (test::kAddressSanitized) GTEST_SKIP() << "the fp16 decoder below walks the same code";
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    const auto decoder = this->decoder(latents, Precision::Bf16);
    ASSERT_NE(decoder, nullptr);
    const std::int64_t steps = 2, count = 4 * steps - 3;
    const auto frames = decode(*decoder, latents, steps);
    EXPECT_TRUE(golden::within(frames, golden::thwc(file.tensor("frames.bf16all"), 0, count), kBf16AgainstBf16All));
    EXPECT_TRUE(golden::within(frames, golden::thwc(file.tensor("frames.fp32"), 0, count), kBf16AgainstFp32));
}

TEST_F(HipDecoder, OfDim32InFp16IsCloserThanBf16CanBeAndTheSameAfterAReset) {
    const golden::File file("wan21_dim32_trace.safetensors");
    const auto latents = file.tensor("latents");
    const auto decoder = this->decoder(latents, Precision::Fp16);
    ASSERT_NE(decoder, nullptr);
    const std::int64_t steps = test::kAddressSanitized ? 1 : 2;
    const auto frames = decode(*decoder, latents, steps);
    EXPECT_TRUE(golden::within(frames, golden::thwc(file.tensor("frames"), 0, 4 * steps - 3), kFp16AgainstFp32));
    ASSERT_TRUE(decoder->reset());
    const auto replays = [&] { return control_ == nullptr ? 0 : control_->calls("hipGraphLaunch"); };
    const auto before = replays();
    EXPECT_EQ(decode(*decoder, latents, steps), frames);  // bit for bit, now partly from graphs captured before
    if (control_ != nullptr) {
        EXPECT_EQ(replays(), before + steps);
    }
}

TEST_F(HipDecoder, OfTheTaehvFamilyMatchesAtSmallWidths) {
    for (const auto dtype : {tensor::DType::BF16, tensor::DType::F16}) expect_taehv_units({*device_, dtype});
    if (test::kAddressSanitized) return;
    expect_taehv_members(*device_, Precision::Bf16, kBf16AgainstFp32);
    expect_taehv_members(*device_, Precision::Fp16, kFp16AgainstFp32);
}

TEST_F(HipDecoder, OfEveryFamilyMatchesDiffusers) {
    if (test::kAddressSanitized) GTEST_SKIP() << "takes minutes where the address sanitizer watches";
    const golden::File file("families.safetensors");
    for (const auto& [family, checkpoint] : test::family_clips()) {
        SCOPED_TRACE(family);
        const auto latents = file.tensor(family + ".latents"), frames = file.tensor(family + ".frames");
        const std::int64_t steps = std::min<std::int64_t>(2, latents.shape[1]);  // the second runs what later ones do
        const auto bf16 = decoder(latents, Precision::Bf16, checkpoint);
        ASSERT_NE(bf16, nullptr);
        test::expect_decodes_to(*bf16, latents, frames, kBf16AgainstFp32, steps);
        const auto fp16 = decoder(latents, Precision::Fp16, checkpoint);
        ASSERT_NE(fp16, nullptr);
        test::expect_decodes_to(*fp16, latents, frames, kFp16AgainstFp32, 1);
    }
}

TEST_F(HipDecoder, OfEveryFamilyMakesTheSameFramesHoweverStepsAreCut) {
    if (test::kAddressSanitized) GTEST_SKIP() << "takes minutes where the address sanitizer watches";
    test::expect_cuts_agree(*device_, Precision::Bf16, 2);
}

TEST_F(HipDecoder, TracesAModuleWithoutDisturbingTheClip) {
    const golden::File file("wan21_dim32_trace.safetensors");
    const auto latents = file.tensor("latents");
    const auto decoder = this->decoder(latents, Precision::Bf16);
    ASSERT_NE(decoder, nullptr);
    const auto traced = decoder->trace(golden::tchw(latents, 0, 1), "decoder.middle.1");
    ASSERT_TRUE(traced) << traced.error().message;
    EXPECT_TRUE(golden::within(*traced, golden::thwc(file.tensor("chunk0.decoder.middle.1"), 0, 1), kBf16AgainstFp32));
}

TEST_F(HipDecoder, InAPrecisionThatTheLaneLacksSaysWhichItHas) {
    const auto checkpoint = Checkpoint::open("synthetic:wan2.1,dim=32").value();
    const auto created = Model::create(*device_, checkpoint, {.precision = Precision::Fp32});
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(created.error().message, "precision fp32: the hip lane runs bf16 and fp16");
}

}  // namespace
}  // namespace kinetograph::vae
