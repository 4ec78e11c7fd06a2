// The stored Wan 2.1 operators (tests/golden/README.md) through norm, attention, upsampling and convolution.
#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/nn/enqueue.hpp>
#include <kinetograph/tests/golden/golden.hpp>

#include <gtest/gtest.h>

#include <map>

namespace kinetograph::nn {
namespace {

using conv::Activation;
using conv::FrameLayout;
using conv::TestFrames;
using tensor::DType;

class NnGolden : public testing::TestWithParam<DType> {
  protected:
    std::vector<float> values(const std::string& name) { return file_.tensor(name).values; }
    tensor::Shape shape(const std::string& name) { return file_.tensor(name).shape; }
    const float* gamma(const std::string& name) { return (gammas_[name] = values(name)).data(); }

    /// [C, T, H, W] as T frames [H, W, C].
    std::vector<float> channels_last(const std::string& name) {
        const tensor::Shape s = shape(name);
        const std::vector<float> stored = values(name);
        std::vector<float> moved(stored.size());
        const std::int64_t pixels = s[1] * s[2] * s[3];
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(stored.size()); ++i) {
            moved[i % pixels * s[0] + i / pixels] = stored[i];
        }
        return moved;
    }
    TestFrames frames(const std::string& name) {
        const tensor::Shape s = shape(name);
        TestFrames made(1, s[1], s[2] * s[3] * s[0], GetParam(), FrameLayout::Dense);
        const std::int64_t each = s[2] * s[3] * s[0];
        made.fill(
            [all = channels_last(name), each](std::int64_t frame, std::int64_t i) { return all[frame * each + i]; });
        return made;
    }
    TestFrames empty_frames(std::int64_t count, std::int64_t elements) {
        return {1, count, elements, GetParam(), FrameLayout::Dense};
    }

    /// A per-frame convolution named `name` with `taps` x `taps` taps.
    TestFrames convolve(const TestFrames& input, const std::string& name, std::int64_t height, std::int64_t width,
                        std::int64_t taps, const TestFrames* residual = nullptr) {
        const tensor::Shape s = shape(name + ".weight");
        conv::ConvProblem p;
        p.d = static_cast<std::int64_t>(input.writable().size());
        p.h = height;
        p.w = width;
        p.c_in = s[1];
        p.filter = {s[0], 1, taps, taps};
        p.pad = {0, 0, taps / 2, taps / 2, taps / 2, taps / 2};
        p.input = p.weight = p.output = p.normed = GetParam();
        p.residual = residual != nullptr;
        const auto filter = values(name + ".weight"), bias = values(name + ".bias");
        const auto convolution = conv::Convolution::create(*device_, p, {filter, bias}).value();
        const auto workspace = device_->allocate("workspace", convolution->workspace_bytes() + 64).value();
        TestFrames output = empty_frames(p.d, height * width * p.filter.k);
        const auto inputs = input.readable();
        const auto residuals = residual != nullptr ? residual->readable() : std::vector<const std::byte*>{};
        EXPECT_TRUE(convolution->enqueue(*stream_, name, {inputs, output.writable(), residuals, workspace->data()}));
        EXPECT_TRUE(stream_->synchronize());
        return output;
    }

    // Limits of tests/golden/README.md.
    void expect_one_operation(const TestFrames& output, const std::string& wanted) {
        const auto d = conv::difference(output.values(), channels_last(wanted));
        EXPECT_LE(d.relative_l2, GetParam() == DType::F32 ? 2e-6 : 2.5e-3) << wanted;
        if (GetParam() == DType::F32) {
            EXPECT_LE(d.max_abs, 1e-5) << wanted;
        } else {
            EXPECT_LE(d.worst_excess, 1.0) << wanted;
        }
    }
    void expect_several_operations(const TestFrames& output, const std::string& wanted) {
        const auto d = conv::difference(output.values(), channels_last(wanted));
        EXPECT_LE(d.relative_l2, GetParam() == DType::F32 ? 2e-6 : 6e-3) << wanted;
        EXPECT_LE(d.max_abs, GetParam() == DType::F32 ? 1e-5 : 0.04) << wanted;
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    std::unique_ptr<Operators> operators_ = Operators::create(*device_).value();
    std::unique_ptr<accel::Stream> stream_ = device_->create_stream("test").value();
    const golden::File file_{"wan21_units.safetensors"};
    std::map<std::string, std::vector<float>> gammas_;  ///< until the stream has passed
};

TEST_P(NnGolden, NormAndSiluAgree) {
    const TestFrames input = frames("rms_silu.input");
    const tensor::Shape s = shape("rms_silu.input");
    const auto inputs = input.readable();
    for (const auto& [activation, wanted] :
         {std::pair{Activation::None, "rms_silu.norm"}, std::pair{Activation::Silu, "rms_silu.output"}}) {
        TestFrames output = empty_frames(s[1], s[2] * s[3] * s[0]);
        ASSERT_TRUE(enqueue(*operators_, *stream_, "rms_silu",
                            conv::NormProblem{s[2] * s[3], s[0], GetParam(), GetParam(), activation},
                            {.input = inputs, .output = output.writable(), .parameters = gamma("rms_silu.gamma")}));
        ASSERT_TRUE(stream_->synchronize());
        expect_one_operation(output, wanted);
    }
}

TEST_P(NnGolden, AttentionBlockAgrees) {
    const TestFrames input = frames("attn.input");
    const tensor::Shape s = shape("attn.input");
    const std::int64_t tokens = s[2] * s[3];
    const auto inputs = input.readable();
    TestFrames normed = empty_frames(s[1], tokens * s[0]);
    ASSERT_TRUE(enqueue(*operators_, *stream_, "attn.norm", conv::NormProblem{tokens, s[0], GetParam(), GetParam()},
                        {.input = inputs, .output = normed.writable(), .parameters = gamma("attn.norm.gamma")}));
    const TestFrames qkv = convolve(normed, "attn.to_qkv", s[2], s[3], 1);
    const auto attention = operators_->get(conv::AttentionProblem{tokens, s[0], GetParam(), GetParam()}).value();
    const auto workspace = device_->allocate("workspace", attention->workspace_bytes()).value();
    TestFrames mixed = empty_frames(s[1], tokens * s[0]);
    const auto qkvs = qkv.readable();
    ASSERT_TRUE(attention->enqueue(*stream_, "attn",
                                   {.input = qkvs, .output = mixed.writable(), .workspace = workspace->data()}));
    expect_several_operations(convolve(mixed, "attn.proj", s[2], s[3], 1, &input), "attn.output");
}

TEST_P(NnGolden, UpsamplingAndItsConvolutionAgree) {
    const TestFrames input = frames("up2d.input");
    const tensor::Shape s = shape("up2d.input");
    TestFrames doubled = empty_frames(s[1], 4 * s[2] * s[3] * s[0]);
    const auto inputs = input.readable();
    ASSERT_TRUE(enqueue(*operators_, *stream_, "up2d", conv::UpsampleProblem{s[2], s[3], s[0], GetParam(), GetParam()},
                        {.input = inputs, .output = doubled.writable()}));
    ASSERT_TRUE(stream_->synchronize());
    expect_one_operation(convolve(doubled, "up2d.resample.1", 2 * s[2], 2 * s[3], 3), "up2d.output");
}

INSTANTIATE_TEST_SUITE_P(BothStorages, NnGolden, testing::Values(DType::F32, DType::BF16),
                         [](const testing::TestParamInfo<DType>& tested) {
                             return std::string(tensor::to_string(tested.param));
                         });

}  // namespace
}  // namespace kinetograph::nn
