// Whole small decoders on a Vulkan device, against the reference decoders' outputs.
#include <kinetograph/tests/compute/vae/encoder_golden.hpp>
#include <kinetograph/tests/compute/vae/taehv_cases.hpp>
#include <kinetograph/tests/compute/vulkan/vulkan_device.hpp>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

class VulkanDecoder : public test::VulkanDevice {
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
};

/// lavapipe takes a minute of a processor for the first step of this width and more for a later one: the other
/// precisions and later steps are those of narrower decoders below.
TEST_F(VulkanDecoder, OfDim32MatchesTheReferenceInEveryPrecisionAndAfterAReset) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents"), frames = file.tensor("frames.fp32");
    const std::int64_t steps = on_gpu() ? 3 : 1;
    for (const auto& [precision, limit] :
         {std::pair(Precision::Fp32, test::kFp32Decode), std::pair(Precision::Bf16, test::kBf16AgainstFp32),
          std::pair(Precision::Fp16, test::kFp16AgainstFp32)}) {
        if (!on_gpu() && precision != Precision::Fp16) continue;
        const auto decoder = this->decoder(latents, precision);
        ASSERT_NE(decoder, nullptr);
        const auto first = test::expect_decodes_to(*decoder, latents, frames, limit, steps);
        if (precision != Precision::Bf16) continue;
        ASSERT_TRUE(decoder->reset());
        EXPECT_EQ(test::expect_decodes_to(*decoder, latents, frames, limit, steps), first) << "bit for bit";
    }
}

/// The convolutions' and the attention's other methods.
TEST_F(VulkanDecoder, ByMatricesMatchesTheReference) {
    if (device_->info().features.find("matrix-bf16") == std::string::npos) GTEST_SKIP() << "the device has no matrices";
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    const auto decoder = this->decoder(latents, Precision::Bf16);
    ASSERT_NE(decoder, nullptr);
    test::expect_decodes_to(*decoder, latents, file.tensor("frames.fp32"), test::kBf16AgainstFp32, 3);
}

TEST_F(VulkanDecoder, OfTheTaehvFamilyMatchesAtSmallWidths) {
    for (const auto dtype : {tensor::DType::F32, tensor::DType::BF16, tensor::DType::F16})
        expect_taehv_units({*device_, dtype});
    expect_taehv_members(*device_, Precision::Bf16, test::kBf16AgainstFp32);
    expect_taehv_members(*device_, Precision::Fp16, test::kFp16AgainstFp32);
}

TEST_F(VulkanDecoder, OfEveryFamilyMatchesDiffusers) {
    const golden::File file("families.safetensors");
    for (const auto& [family, checkpoint] : test::family_clips()) {
        SCOPED_TRACE(family);
        const auto latents = file.tensor(family + ".latents"), frames = file.tensor(family + ".frames");
        const std::int64_t steps = std::min<std::int64_t>(2, latents.shape[1]);  // the second runs what later ones do
        const auto fp32 = decoder(latents, Precision::Fp32, checkpoint);
        ASSERT_NE(fp32, nullptr);
        test::expect_decodes_to(*fp32, latents, frames, test::kFp32Decode, steps);
        const auto bf16 = decoder(latents, Precision::Bf16, checkpoint);
        ASSERT_NE(bf16, nullptr);
        const auto first = test::expect_decodes_to(*bf16, latents, frames, test::kBf16AgainstFp32, 1);
        ASSERT_TRUE(bf16->reset());
        EXPECT_EQ(test::expect_decodes_to(*bf16, latents, frames, test::kBf16AgainstFp32, 1), first) << "bit for bit";
    }
}

TEST_F(VulkanDecoder, IsBesideAnEncoderThatMatchesDiffusers) {
    test::expect_encodes(*device_, Precision::Fp32, test::kFp32Decode, on_gpu() ? 3 : 2);
    test::expect_encodes(*device_, Precision::Bf16, test::kBf16AgainstFp32, on_gpu() ? 3 : 1);
}

TEST_F(VulkanDecoder, OfEveryFamilyMakesTheSameFramesHoweverStepsAreCut) {
    test::expect_cuts_agree(*device_, Precision::Bf16, on_gpu() ? 5 : 2);
}

}  // namespace
}  // namespace kinetograph::vae
