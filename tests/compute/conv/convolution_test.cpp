// What Convolution::create and enqueue refuse, and with which sentences.
#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/base/host_pages.hpp>
#include <kinetograph/engine/base/processor.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace kinetograph::conv {
namespace {

using tensor::DType;

ConvProblem causal_problem() {
    ConvProblem p;
    p.d = 6;
    p.h = 4;
    p.w = 5;
    p.c_in = 8;
    p.filter = {16, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.input = p.weight = p.output = p.normed = DType::F32;
    return p;
}

class ConvolutionTest : public testing::Test {
  protected:
    Result<std::unique_ptr<Convolution>> make(const ConvProblem& p, std::string_view backend = {}) {
        filter_.assign(p.filter_elements(), 0.25F);
        bias_.assign(p.bias ? p.filter.k : 0, 1.0F);
        return Convolution::create(*device_, p, {filter_, bias_}, {.backend = backend});
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    std::unique_ptr<accel::Stream> stream_ = device_->create_stream("test").value();
    std::vector<float> filter_, bias_;
};

TEST_F(ConvolutionTest, RefusesAFilterOfTheWrongSize) {
    const std::vector<float> filter(17), bias(16);
    const auto made = Convolution::create(*device_, causal_problem(), {filter, bias});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(made.error().message.find("filter has 17 elements, wanted 3456"), std::string::npos)
        << made.error().message;
}

TEST_F(ConvolutionTest, RefusesABiasThatTheProblemDoesNotHave) {
    ConvProblem p = causal_problem();
    p.bias = false;
    const std::vector<float> filter(p.filter_elements()), bias(16);
    const auto made = Convolution::create(*device_, p, {filter, bias});
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("bias has 16 elements, wanted 0"), std::string::npos) << made.error().message;
}

TEST_F(ConvolutionTest, ScalesTheSumsByAlphaAndByChannelBeforeTheBias) {
    ConvProblem p;
    p.h = p.w = 1;
    p.c_in = 2;
    p.filter = {3};
    p.input = p.weight = p.output = p.normed = DType::F32;
    p.weight.scale = 0.5F;
    p.channel_scales = true;
    const std::vector<float> filter{1, 2, 3, 4, 5, 6}, bias{10, 20, 30}, scales{1, 2, 4};
    const auto made = Convolution::create(*device_, p, ConvParameters{filter, bias, {}, scales}).value();
    const float input[] = {2, 10};
    float output[3] = {};
    const std::byte* from = reinterpret_cast<const std::byte*>(input);
    std::byte* to = reinterpret_cast<std::byte*>(output);
    ASSERT_TRUE(made->enqueue(*stream_, "scaled", {.input = {&from, 1}, .output = {&to, 1}, .residual = {}}));
    ASSERT_TRUE(stream_->synchronize());
    EXPECT_EQ(output[0], 0.5F * 22 + 10);
    EXPECT_EQ(output[1], 0.5F * 2 * 46 + 20);
    EXPECT_EQ(output[2], 0.5F * 4 * 70 + 30);
    const auto missing = Convolution::create(*device_, p, ConvParameters{filter, bias});
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find("there are 0 channel scales, wanted 3"), std::string::npos)
        << missing.error().message;
}

TEST_F(ConvolutionTest, RefusesAMissingGamma) {
    ConvProblem p = causal_problem();
    p.norm = Norm::Beside;
    const auto made = make(p);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("gamma has 0 elements, wanted 16"), std::string::npos) << made.error().message;
}

TEST_F(ConvolutionTest, NormsItsOutputBitForBitAsASeparatePassDoes) {
    if (processor().uses < InstructionSet::Avx2) GTEST_SKIP() << "below AVX2 there are the plain loops alone";
    for (const DType dtype : {DType::F32, DType::BF16}) {
        for (const std::int64_t k : {32, 80, 128}) {  // one block of channels, two of different widths, two
            ConvShape shape{causal_problem()};
            shape.problem.input = shape.problem.weight = shape.problem.output = shape.problem.normed = dtype;
            shape.problem.filter.k = k;
            shape.problem.norm = Norm::Beside;
            TestConvolution test(shape);
            for (std::size_t i = 0; i < test.filter.size(); ++i) test.filter[i] = static_cast<float>(i % 13) - 6;
            for (std::size_t i = 0; i < test.gamma.size(); ++i) test.gamma[i] = 1 + static_cast<float>(i) / 64;
            test.input.fill(
                [](std::int64_t frame, std::int64_t i) { return static_cast<float>((7 * frame + i) % 11) - 5; });
            const auto beside = test.run(*device_, *stream_, {}).value();
            test.shape.problem.norm = Norm::Instead;
            EXPECT_EQ(test.run(*device_, *stream_, {}).value().normed, beside.normed);
            EXPECT_EQ(test.run(*device_, *stream_, "onednn-f32-cpu").has_value(), dtype == DType::BF16);
            const auto after = test.run(*device_, *stream_, "reference-cpu").value();
            EXPECT_EQ(after.normed, beside.normed) << k;  // integers: all back ends store the same output
        }
    }
}

TEST_F(ConvolutionTest, OverAnotherNumberOfFramesSharesThePackedFilterAndOutlivesTheFirst) {
    ConvProblem p = causal_problem();
    p.norm = Norm::Beside;
    std::vector<float> filter(p.filter_elements()), gamma(p.filter.k, 1.5F);
    for (std::size_t i = 0; i < filter.size(); ++i) filter[i] = static_cast<float>(i % 7) - 3;
    const std::vector<float> bias(p.filter.k, 0.5F);
    ConvProblem shorter = p;
    shorter.d = 4;
    const std::int64_t elements = p.h_out() * p.w_out() * p.filter.k;
    TestFrames input(1, shorter.d, p.h * p.w * p.c_in, p.input.element, FrameLayout::Dense);
    input.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((5 * frame + i) % 9) - 4; });
    const auto run = [&](const Convolution& convolution) {
        TestFrames output(1, shorter.d_out(), elements, p.input.element, FrameLayout::Dense);
        TestFrames normed(1, shorter.d_out(), elements, p.input.element, FrameLayout::Dense);
        const auto workspace = device_->allocate("workspace", convolution.workspace_bytes() + 64).value();
        const auto inputs = input.readable();
        EXPECT_TRUE(convolution.enqueue(*stream_, "conv",
                                        {inputs, output.writable(), {}, workspace->data(), normed.writable()}));
        EXPECT_TRUE(stream_->synchronize());
        return std::pair(output.values(), normed.values());
    };
    for (const std::string_view backend : {"direct-cpu", "winograd-time-cpu", "reference-cpu"}) {
        const auto fresh =
            Convolution::create(*device_, shorter, ConvParameters{filter, bias, gamma}, {.backend = backend});
        if (!fresh) GTEST_SKIP() << fresh.error().message;
        Weights weights(HostParameters{filter, bias, gamma, {}});
        auto first = Convolution::create(*device_, p, weights, {.backend = backend}).value();
        const auto other = Convolution::create(*device_, shorter, weights, {.backend = backend}).value();
        EXPECT_EQ(weights.packings(), backend == "reference-cpu" ? 2 : 1);
        first.reset();
        EXPECT_EQ(other->problem(), shorter);
        EXPECT_EQ(run(*other), run(**fresh));
    }
}

/// oneDNN multiplies by filters in the layout that suits a problem: with a residual another one than without, where the
/// processor has AVX-512.
TEST_F(ConvolutionTest, AnnouncesTheLayoutsThatEachProblemOfALayerWants) {
    if (processor().uses < InstructionSet::Avx2) GTEST_SKIP() << "below AVX2 there are the plain loops alone";
    for (const DType dtype : {DType::F32, DType::BF16}) {
        ConvProblem p = causal_problem();
        p.c_in = 32;
        p.filter.k = 3;
        p.input = p.weight = dtype;
        p.output = p.normed = DType::F32;
        ConvProblem first = p, continued = p;
        first.pad.front = 2;
        continued.residual = true;
        Weights weights(HostParameters{std::vector<float>(p.filter_elements(), 1.0F), {1, 2, 3}, {}, {}});
        std::vector<std::unique_ptr<Convolution>> made;
        const ConvOptions options{.backend = "onednn-cpu", .packing = Packing::Later};
        for (const ConvProblem& problem : {p, first, continued}) {
            auto convolution = Convolution::create(*device_, problem, weights, options);
            if (convolution) made.push_back(std::move(*convolution));  // not bf16 below AVX-512
        }
        const std::uint64_t before = device_->bytes_allocated();
        const std::uint64_t announced = weights.expected_bytes(whole_host_pages);
        for (const auto& convolution : made) ASSERT_TRUE(convolution->pack());
        EXPECT_EQ(device_->bytes_allocated() - before, announced);
        EXPECT_EQ(weights.expected_bytes(whole_host_pages), 0);
    }
}

TEST_F(ConvolutionTest, RefusesAnUnknownBackendAndNamesTheKnownOnes) {
    const auto made = make(causal_problem(), "cudnn");
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument);
    EXPECT_TRUE(made.error().message.starts_with("convolution: no back end is called \"cudnn\"; there are "))
        << made.error().message;
    for (const Candidate& known : candidates())
        EXPECT_NE(made.error().message.find(known.name), std::string::npos) << known.name;
}

TEST_F(ConvolutionTest, SaysWhyTheBackendAskedForIsClosed) {
    ConvProblem p = causal_problem();
    p.groups = 2;
    const auto made = make(p, "direct-cpu");
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::Unsupported);
    EXPECT_NE(made.error().message.find("wants groups 1, met 2"), std::string::npos) << made.error().message;
}

TEST_F(ConvolutionTest, RefusesTheWrongNumberOfFramesNamingThePass) {
    const auto convolution = make(causal_problem(), "reference-cpu").value();
    const std::vector<const std::byte*> input(5);
    const std::vector<std::byte*> output(4);
    const auto enqueued =
        convolution->enqueue(*stream_, "up2.res1.conv1", {.input = input, .output = output, .residual = {}});
    ASSERT_FALSE(enqueued);
    EXPECT_NE(
        enqueued.error().message.find("pass \"up2.res1.conv1\": 5 input, 4 output, 0 residual and 0 normed frames "
                                      "given, wanted 6, 4, 0 and 0"),
        std::string::npos)
        << enqueued.error().message;
}

TEST_F(ConvolutionTest, RefusesAMissingWorkspace) {
    if (processor().uses < InstructionSet::Avx2) GTEST_SKIP() << "below AVX2 there are the plain loops alone";
    const auto convolution = make(causal_problem(), "onednn-cpu").value();
    ASSERT_GT(convolution->workspace_bytes(), 0);
    TestFrames input(1, 6, 4 * 5 * 8, DType::F32, FrameLayout::Dense);
    TestFrames output(1, 4, 4 * 5 * 16, DType::F32, FrameLayout::Dense);
    const auto inputs = input.readable();
    const auto enqueued =
        convolution->enqueue(*stream_, "conv1", {.input = inputs, .output = output.writable(), .residual = {}});
    ASSERT_FALSE(enqueued);
    EXPECT_NE(enqueued.error().message.find("pass \"conv1\": no workspace given"), std::string::npos)
        << enqueued.error().message;
}

TEST_F(ConvolutionTest, CopiesTheFrameAddressesBeforeEnqueueReturns) {
    const ConvProblem p = causal_problem();
    const auto convolution = make(p).value();
    const auto workspace = device_->allocate("workspace", convolution->workspace_bytes() + 64).value();
    TestFrames input(1, 6, 4 * 5 * 8, DType::F32, FrameLayout::Dense);
    TestFrames output(1, 4, 4 * 5 * 16, DType::F32, FrameLayout::Dense);
    input.fill([](auto, auto) { return 1.0F; });
    stream_->enqueue("slow", []() -> Result<void> {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return {};
    });
    {
        std::vector<const std::byte*> inputs = input.readable();
        std::vector<std::byte*> outputs = output.writable();
        ASSERT_TRUE(convolution->enqueue(*stream_, "conv1", {inputs, outputs, {}, workspace->data()}));
        std::ranges::fill(inputs, nullptr);
        std::ranges::fill(outputs, nullptr);
    }
    ASSERT_TRUE(stream_->synchronize());
    // 3 x 3 x 3 taps of 8 channels of 0.25, plus a bias of 1, where no tap is in the padding.
    EXPECT_EQ(output.values()[(1 * 5 + 1) * 16], 27 * 8 * 0.25F + 1);
}

TEST_F(ConvolutionTest, LeavesAResidualInPlaceWhenItIsTheOutput) {
    for (const std::int64_t c_in : {8, 96, 128}) {  // few enough to be summed at once, and more
        ConvProblem p = causal_problem();
        p.residual = true;
        p.c_in = c_in;
        for (const std::string_view backend :
             {"direct-cpu", "winograd-planes-cpu", "winograd-time-cpu", "onednn-cpu", "reference-cpu"}) {
            const auto convolution = make(p, backend);
            if (!convolution) continue;  // no AVX-512 here
            const auto workspace = device_->allocate("workspace", (*convolution)->workspace_bytes() + 64).value();
            TestFrames input(1, 6, 4 * 5 * c_in, DType::F32, FrameLayout::Dense);
            TestFrames output(1, 4, 4 * 5 * 16, DType::F32, FrameLayout::Dense);
            input.fill([](auto, auto) { return 1.0F; });
            output.fill([](auto, std::int64_t i) { return static_cast<float>(i); });
            const auto inputs = input.readable(), residuals = output.readable();
            ASSERT_TRUE(
                (*convolution)->enqueue(*stream_, "conv1", {inputs, output.writable(), residuals, workspace->data()}));
            ASSERT_TRUE(stream_->synchronize());
            const std::int64_t at = (1 * 5 + 1) * 16;
            EXPECT_EQ(output.values()[at], static_cast<float>(27 * c_in) * 0.25F + 1 + static_cast<float>(at))
                << backend << " with " << c_in << " channels";
        }
    }
}

}  // namespace
}  // namespace kinetograph::conv
