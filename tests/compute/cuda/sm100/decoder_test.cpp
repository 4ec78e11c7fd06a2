// The whole small Wan 2.1 decoder on a stand-in driver that poses as a B200 and runs the kernels in the host model.
#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>
#include <kinetograph/tests/compute/vae/step_convolutions.hpp>
#include <kinetograph/tests/golden/golden.hpp>

namespace kinetograph::vae {
namespace {

// Limits of tests/golden/README.md; fp16's storage has eight times bf16's resolution.
constexpr golden::Limit kBf16AgainstFp32{2.5e-2, 0.10};
constexpr golden::Limit kFp16AgainstFp32{4e-3, 0.02};

class Sm100Decoder : public test::CudaLane {
  protected:
    void SetUp() override {
        CudaLane::SetUp();
        if (device_ != nullptr && !device_->info().architecture.starts_with("sm_10"))
            GTEST_SKIP() << device_->info().name << " has no tcgen05";
    }
    standin::Options pose() const override { return {.name = "Stand-in B200", .architecture = "sm_100"}; }

    /// Decodes the first `steps` latent frames of the traced clip and holds them to the reference's frames.
    void expect_golden(Precision precision, std::int64_t steps, golden::Limit limit) {
        const golden::File file("wan21_dim32_trace.safetensors");
        const auto latents = file.tensor("latents");
        const auto model = Model::create(*device_, Checkpoint::open("synthetic:wan2.1,dim=32").value(),
                                         {.precision = precision, .latents = LatentScale::Raw, .clamp = false});
        ASSERT_TRUE(model) << model.error().message;
        const auto decoder = Decoder::create(*model, {latents.shape[2], latents.shape[3]});
        ASSERT_TRUE(decoder) << decoder.error().message;
        for (std::int64_t t = 0; t < steps; ++t) {
            const auto step = (*decoder)->step(golden::tchw(latents, t, 1));
            ASSERT_TRUE(step) << step.error().message;
            EXPECT_TRUE(golden::within(
                step->thwc, golden::thwc(file.tensor("frames"), step->frames.first, step->frames.count), limit))
                << "step " << t;
        }
    }
};

TEST_F(Sm100Decoder, OfDim32InBf16MatchesTheReferenceInAClipsFirstAndSecondStep) {
    expect_golden(Precision::Bf16, 2, kBf16AgainstFp32);
}

TEST_F(Sm100Decoder, OfDim32InFp16IsCloserThanBf16CanBe) { expect_golden(Precision::Fp16, 1, kFp16AgainstFp32); }

class Sm100Layers : public Sm100Decoder {
    bool is_little_work() const override { return true; }
};

/// A kernel that the stand-in lacks would leave its layer to another method, and the goldens would not show it.
TEST_F(Sm100Layers, EveryConvolutionOfTheSmallDecoderIsMadeForTcgen05) {
    const auto network = Checkpoint::open("synthetic:wan2.1,dim=32").value().network();
    for (const tensor::DType dtype : {tensor::DType::BF16, tensor::DType::F16})
        for (const StepConvolution& layer : step_convolutions(network, {4, 6}, dtype)) {
            const conv::ConvProblem& p = layer.problem;
            const std::vector<float> filter(static_cast<std::size_t>(p.filter_elements()));
            const std::vector<float> channels(static_cast<std::size_t>(p.filter.k));
            const auto made = conv::Convolution::create(
                *device_, p,
                conv::ConvParameters{.filter = filter,
                                     .bias = channels,
                                     .gamma = p.norm == conv::Norm::None ? std::span<const float>() : channels});
            ASSERT_TRUE(made) << layer.key << ": " << made.error().message;
            EXPECT_EQ((*made)->backend(), "implicit-gemm-sm100") << layer.key << ": " << p.to_string();
        }
}

TEST_F(Sm100Decoder, AttentionAgreesWithTheCpus) { nn::expect_attention(*device_); }

TEST_F(Sm100Layers, AttentionRunsOnTcgen05AndANarrowHeadFallsToSm80sWithTheReason) {
    const auto operators = nn::Operators::create(*device_).value();
    EXPECT_EQ(operators->attention({16, 384, tensor::DType::BF16}).value()->explanation(), "tcgen05-sm100");
    EXPECT_EQ(operators->attention({16, 64, tensor::DType::BF16}).value()->explanation(),
              "mma-sm80: tcgen05-sm100 wants a head of 72 to 384 channels, a multiple of 8, met 64");
}

}  // namespace
}  // namespace kinetograph::vae
