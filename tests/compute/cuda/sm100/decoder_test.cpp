// The whole small Wan 2.1 decoder on a stand-in driver that poses as a B200 and runs the kernels in the host model.
#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>
#include <kinetograph/tests/compute/vae/step_convolutions.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tests/golden/golden.hpp>

#include <map>

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

/// What the decoder itself declares at full size, nothing of it packed, on a driver that has every kernel and runs
/// none: the layers that the document's tables list, by the methods that they name.
TEST(Sm100FullSize, DeclaresWhatTheDocumentLists) {
    standin::Control* const control = accel::control_of(STANDIN_CUDA_IDLE);
    if (control == nullptr) GTEST_SKIP() << STANDIN_CUDA_IDLE << " is not on this machine";
    control->reset({.name = "Stand-in B200", .architecture = "sm_100"});
    const auto device = accel::cuda::create_device({.library = STANDIN_CUDA_IDLE}).value();
    for (const LatentSize size : {LatentSize{88, 160}, LatentSize{60, 104}}) {
        const NetworkDesc network{.network = Checkpoint::open("synthetic:wan2.1").value().network()};
        const auto layers = step_convolutions(network.network, size, network.dtype);
        const auto operators = nn::Operators::create(*device).value();
        Parameters parameters(
            *device, [](const std::string&) { return std::vector<float>(3 * 384); }, conv::Sums::Exact);
        const FindKept find = [](const std::string&, std::uint64_t bytes) { return graph::Physical{0, 0, bytes}; };
        const StackSize stack{.height = size.height, .width = size.width};
        const StepKind later{.first = false};
        const std::uint64_t in = input_bytes(network, stack, 1), out = output_bytes(network, stack, later);
        graph::FrameGraph frame;
        const graph::Buffer latents =
            frame.import_buffer("latents", {in, 16, graph::MemoryDomain::Accelerator}, {0, 0, in});
        const auto declared = declare_step(frame, network, stack, later, {parameters, *operators, find}, latents,
                                           ClipValues{.output = {0, 0, out}});
        ASSERT_TRUE(declared) << declared.error().message;

        double declared_operations = 0, listed_operations = 0;
        std::map<std::string, graph::PassWork> passes;
        for (const graph::PassNode& pass : frame.passes())
            if (pass.work.kernel.ends_with("-sm100") && !pass.work.kernel.starts_with("tcgen05")) {
                declared_operations += pass.work.operations;
                passes[pass.name] = pass.work;
            }
        for (const StepConvolution& layer : layers) {
            listed_operations += static_cast<double>(layer.launches) * layer.problem.flops();
            const auto pass = passes.find(layer.key);
            ASSERT_NE(pass, passes.end()) << layer.key << " is no pass";
            EXPECT_EQ(pass->second.kernel, conv::explain(device->info(), layer.problem).front().candidate) << layer.key;
        }
        EXPECT_DOUBLE_EQ(declared_operations, listed_operations);
        EXPECT_GT(passes.size(), layers.size());
    }
}

}  // namespace
}  // namespace kinetograph::vae
