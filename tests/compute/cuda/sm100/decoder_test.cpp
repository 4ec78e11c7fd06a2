// The whole small Wan 2.1 decoder on a stand-in driver that poses as a B200 and runs the kernels in the host model.
#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tests/golden/golden.hpp>
#include <kinetograph/tests/kernels/cuda/sm100/decoder_rows.hpp>

#include <fmt/format.h>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

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
                step->thwc(), golden::thwc(file.tensor("frames"), step->frames.first, step->frames.count), limit))
                << "step " << t;
        }
    }
};

TEST_F(Sm100Decoder, OfDim32InBf16MatchesTheReferenceInAClipsFirstAndSecondStep) {
    expect_golden(Precision::Bf16, 2, kBf16AgainstFp32);
}

TEST_F(Sm100Decoder, OfDim32InFp16IsCloserThanBf16CanBe) { expect_golden(Precision::Fp16, 1, kFp16AgainstFp32); }

/// A later step's passes by the dispatch of that device.
StepPasses step_on(const accel::Device& device, const NetworkDesc& network, LatentSize size,
                   StepKind kind = {.first = false}) {
    const auto method_of = [&](const conv::ConvProblem& problem) -> std::string_view {
        const conv::DispatchRow first = conv::explain(device.info(), problem).front();
        return first.open ? first.candidate : "";
    };
    return step_passes(network, size, method_of, kind).value();
}

class Sm100Layers : public Sm100Decoder {
    bool is_little_work() const override { return true; }
};

/// A kernel that the stand-in lacks would leave its layer to another method, and the goldens would not show it.
TEST_F(Sm100Layers, EveryConvolutionOfTheSmallDecoderIsMadeForTcgen05) {
    const auto network = Checkpoint::open("synthetic:wan2.1,dim=32").value().network();
    for (const tensor::DType dtype : {tensor::DType::BF16, tensor::DType::F16})
        for (const StepConvolution& layer :
             step_on(*device_, {.network = network, .dtype = dtype}, {4, 6}).convolutions()) {
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
    EXPECT_EQ(operators->get(conv::AttentionProblem{16, 384}).value()->explanation(), "tcgen05-sm100");
    EXPECT_EQ(operators->get(conv::AttentionProblem{16, 64}).value()->explanation(),
              "mma-sm80: tcgen05-sm100 wants a head of 72 to 384 channels, a multiple of 8, met 64");
}

/// On a driver that has every kernel and runs none.
class Sm100FullSize : public testing::Test {
  protected:
    void SetUp() override {
        standin::Control* const control = accel::control_of(STANDIN_CUDA_IDLE);
        if (control == nullptr) GTEST_SKIP() << STANDIN_CUDA_IDLE << " is not on this machine";
        control->reset({.name = "Stand-in B200", .architecture = "sm_100"});
        device_ = accel::cuda::create_device({.library = STANDIN_CUDA_IDLE}).value();
    }

    std::shared_ptr<accel::Device> device_;
};

constexpr LatentSize kSizes[] = {{88, 160}, {60, 104}};

using Passes = std::vector<std::pair<std::string, double>>;  ///< names, operations of matrix products

/// Names and operations of matrix products of the passes that a decoder declares; nothing is packed.
Passes declared(accel::Device& device, const NetworkDesc& network, const StackSize& size, StepKind kind) {
    const auto operators = nn::Operators::create(device).value();
    Parameters parameters(device, [](const std::string&) { return std::vector<float>(3 * 384); }, conv::Sums::Exact,
                          {});
    const FindKept find = [](const std::string&, std::uint64_t, std::uint32_t) { return graph::Physical{}; };
    graph::FrameGraph frame;
    const graph::Buffer latents =
        frame.import_buffer("latents", {input_bytes(network, size, 1), 16, graph::MemoryDomain::Accelerator}, {});
    const auto made = declare_step(frame, network, size, kind, {{.parameters = &parameters}, *operators, find}, latents,
                                   StepOutput{FrameFormat::Float32});
    EXPECT_TRUE(made) << made.error().message;
    Passes passes;
    for (const graph::PassNode& pass : frame.passes()) {
        passes.emplace_back(pass.name, pass.work.operations);
        EXPECT_TRUE(pass.work.operations == 0 || pass.work.kernel.ends_with("-sm100"))
            << pass.name << ": " << pass.work.kernel;
    }
    return passes;
}

/// The passes that the document's tables and sums are made of are those that a decoder declares, in their order.
TEST_F(Sm100FullSize, TheListedPassesAreThoseThatADecoderDeclares) {
    const NetworkDesc network{.network = Checkpoint::open("synthetic:wan2.1").value().network()};
    for (const LatentSize size : kSizes) {
        for (const StepKind kind : {StepKind{.first = false}, StepKind{.first = true}}) {
            Passes listed;
            for (const StepPass& pass : step_on(*device_, network, size, kind).passes)
                listed.emplace_back(pass.name, pass.operations);
            EXPECT_EQ(listed, declared(*device_, network, {.height = size.height, .width = size.width}, kind))
                << size.width << (kind.first ? ", a clip's first" : "");
        }
    }
}

/// A row a kind of convolution: launches in a step, channels, frames and kernels.
std::vector<std::string> launched(LatentSize size) {
    std::vector<std::string> rows;
    for (const sm100::DecoderRow& row : sm100::decoder_rows(size)) {
        const conv::ConvProblem& p = row.layer.problem;
        rows.push_back(fmt::format("{} x {} {}>{}, {} frame{}: {}\n", row.layer.launches, sm100::short_key(row.layer),
                                   p.c_in, p.filter.k, p.d_out(), p.d_out() == 1 ? "" : "s", sm100::kernel_names(row)));
    }
    return rows;
}

TEST_F(Sm100FullSize, LaunchesTheseTiles) {
    const std::vector<std::string> large = launched(kSizes[0]), small = launched(kSizes[1]);
    EXPECT_EQ(fmt::format("{}", fmt::join(large, "")),
              "1 x conv1 16>384, 1 frame: n384_16x8_3_32\n"
              "5 x middle.0.residual.2 384>384, 1 frame: n384_16x8_3_64\n"
              "1 x middle.0.residual.6 384>384, 1 frame: n384_16x8_3_64\n"
              "1 x middle.1.to_qkv 384>1152, 1 frame: conv2d_Frames2d_2sm_128b_n192_cluster_42\n"
              "3 x middle.2.residual.6 384>384, 1 frame: n384_16x8_3_64\n"
              "1 x upsamples.2.residual.6 384>384, 1 frame: n192_16x8_3_64_shared\n"
              "2 x upsamples.3.time_conv 384>384, 1 frame: conv2d_Window3d_2sm_128b_n192_cluster_42\n"
              "1 x upsamples.3.resample.1 384>192, 2 frames: n192_16x8_2_64_shared\n"
              "1 x upsamples.4.residual.2 192>384, 2 frames: n384_16x8_3_64\n"
              "1 x upsamples.4.shortcut 192>384, 2 frames: conv2d_Frames2d_2sm_128b_n192\n"
              "2 x upsamples.4.residual.6 384>384, 2 frames: n384_16x8_3_64\n"
              "2 x upsamples.5.residual.2 384>384, 2 frames: n384_16x8_3_64\n"
              "1 x upsamples.6.residual.6 384>384, 2 frames: n192_16x8_3_64_shared\n"
              "2 x upsamples.7.time_conv 384>384, 2 frames: conv2d_Window3d_2sm_128b_n192_cluster_42\n"
              "2 x upsamples.7.resample.1 384>192, 2 frames: n192_16x8_2_64_shared\n"
              "6 x upsamples.8.residual.2 192>192, 2 frames: n192_16x8_3_64_shared\n"
              "4 x upsamples.8.residual.6 192>192, 2 frames: n192_16x8_3_64_shared\n"
              "2 x upsamples.10.residual.6 192>192, 2 frames: n192_16x8_3_64_shared\n"
              "2 x upsamples.11.resample.1 192>96, 2 frames: n96_32x8_2_64\n"
              "6 x upsamples.12.residual.2 96>96, 2 frames: n96_32x8_3_32\n"
              "6 x upsamples.12.residual.6 96>96, 2 frames: n96_32x8_3_32\n"
              "2 x head.2 96>3, 2 frames: n16_32x8_3_32\n");
    ASSERT_EQ(small.size(), large.size());
    std::string others;
    for (std::size_t i = 0; i < large.size(); ++i) others += small[i] == large[i] ? "" : small[i];
    EXPECT_EQ(others,
              "1 x middle.1.to_qkv 384>1152, 1 frame: conv2d_Frames2d_2sm_128b_n256_cluster_41\n"
              "1 x upsamples.6.residual.6 384>384, 2 frames: n384_16x8_3_64\n");
}

}  // namespace
}  // namespace kinetograph::vae
