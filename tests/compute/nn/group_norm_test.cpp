#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/nn/enqueue.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kinetograph::nn {
namespace {

using conv::Activation;
using conv::FrameLayout;
using conv::GroupNormProblem;
using conv::TestFrames;
using tensor::DType;

/// The definition, in fp64, of frames one after the other.
std::vector<float> group_norm_of(const GroupNormProblem& p, const std::vector<float>& x,
                                 const std::vector<float>& parameters) {
    const std::int64_t width = p.channels / p.groups, elements = p.pixels * p.channels;
    std::vector<float> y(x.size());
    for (std::int64_t part = 0; part < std::ssize(x) / elements * p.groups; ++part) {
        const std::int64_t first = part / p.groups * elements + part % p.groups * width;
        const auto each = [&](const auto& body) {
            for (std::int64_t pixel = 0; pixel < p.pixels; ++pixel)
                for (std::int64_t c = 0; c < width; ++c)
                    body(first + pixel * p.channels + c, part % p.groups * width + c);
        };
        double sum = 0, squares = 0;
        each([&](std::int64_t at, std::int64_t) { sum += x[at]; });
        const double count = static_cast<double>(p.pixels * width), mean = sum / count;
        each([&](std::int64_t at, std::int64_t) { squares += (x[at] - mean) * (x[at] - mean); });
        const double scale = 1 / std::sqrt(squares / count + static_cast<double>(p.epsilon));
        each([&](std::int64_t at, std::int64_t c) {
            const double value = (x[at] - mean) * scale * parameters[c] + parameters[p.channels + c];
            y[at] = static_cast<float>(p.activation == Activation::Silu ? value / (1 + std::exp(-value)) : value);
        });
    }
    return y;
}

class GroupNormTest : public testing::Test {
  protected:
    Result<void> run(const GroupNormProblem& problem, const TestFrames& input, const TestFrames& output,
                     const std::vector<float>& parameters) {
        KG_TRY(const auto norm, operators_->get(problem));
        std::vector<std::byte> workspace(norm->workspace_bytes());
        const auto inputs = input.readable();
        KG_CHECK(norm->enqueue(*stream_, "norm",
                               {.input = inputs,
                                .output = output.writable(),
                                .workspace = workspace.data(),
                                .parameters = parameters.data()}));
        return stream_->synchronize();
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    std::unique_ptr<Operators> operators_ = Operators::create(*device_).value();
    std::unique_ptr<accel::Stream> stream_ = device_->create_stream("test").value();
};

TEST_F(GroupNormTest, AgreesWithItsDefinitionAlsoOfAMeanThatIsLargeBesideTheDeviation) {
    std::mt19937_64 random(3);
    std::normal_distribution<float> normal(0, 1);
    for (const auto& [channels, groups] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {12, 4}, {32, 32}, {512, 32}}) {
        for (const float mean : {0.0F, 200.0F}) {
            for (const DType dtype : {DType::F32, DType::BF16}) {
                const GroupNormProblem problem{
                    1 + 40'000 / channels,
                    channels,
                    groups,
                    1e-6F,
                    dtype,
                    dtype,
                    groups == 4 ? Activation::None : Activation::Silu};  // several tiles and a ragged one
                std::vector<float> parameters(2 * channels);
                for (float& value : parameters) value = 1 + 0.1F * normal(random);
                TestFrames input(1, 2, problem.pixels * channels, dtype, FrameLayout::Scattered);
                TestFrames output(1, 2, problem.pixels * channels, dtype, FrameLayout::EveryOther);
                input.fill([&](auto, auto) { return mean + 2 * normal(random); });
                ASSERT_TRUE(run(problem, input, output, parameters));
                const auto d = conv::difference(output.values(), group_norm_of(problem, input.values(), parameters));
                SCOPED_TRACE(fmt::format("{} channels, {}, mean {}", channels, tensor::to_string(dtype), mean));
                // float32: rounding to the mean, 2^-24 * 200 / 2, and the rest 2e-6; bf16: one rounding, at most 2^-8.
                EXPECT_LE(d.relative_l2, dtype == DType::BF16 ? 0x1p-8 : mean == 0 ? 2e-6 : 1e-5);
                EXPECT_TRUE(output.gaps_untouched());
            }
        }
    }
}

TEST_F(GroupNormTest, DividesByEpsilonWhereAllValuesAreEqual) {
    const GroupNormProblem problem{5, 4, 2, 1e-2F, DType::F32, DType::F32};
    TestFrames input(1, 1, 20, DType::F32, FrameLayout::Dense), output(1, 1, 20, DType::F32, FrameLayout::Dense);
    input.fill([](auto, auto element) { return element == 0 ? 7.1F : 7.0F; });
    const std::vector<float> parameters{1, 1, 1, 1, 0, 0, 0, 0.5F};
    ASSERT_TRUE(run(problem, input, output, parameters));
    const std::vector<float> values = output.values();
    EXPECT_EQ(values[2], 0.0F);
    EXPECT_EQ(values[3], 0.5F);
    EXPECT_NEAR(values[0], 0.09 / std::sqrt(0.0009 + 0.01), 1e-5);
}

TEST_F(GroupNormTest, MakesOfAFrameTheSameBitsWhateverElseIsNormed) {
    const GroupNormProblem problem{3000, 64, 32, 1e-6F, DType::BF16, DType::BF16};
    const std::int64_t elements = problem.pixels * problem.channels;
    TestFrames input(1, 3, elements, DType::BF16, FrameLayout::Dense);
    TestFrames output(1, 3, elements, DType::BF16, FrameLayout::Dense);
    input.fill([](auto frame, auto element) { return std::sin(0.1F * static_cast<float>(element + frame)); });
    TestFrames last(1, 1, elements, DType::BF16, FrameLayout::Dense);
    TestFrames alone(1, 1, elements, DType::BF16, FrameLayout::Dense);
    last.fill([](auto, auto element) { return std::sin(0.1F * static_cast<float>(element + 2)); });
    const std::vector<float> parameters(2 * problem.channels, 1.0F);
    ASSERT_TRUE(run(problem, input, output, parameters));
    ASSERT_TRUE(run(problem, last, alone, parameters));
    const auto all = output.values(), one = alone.values();
    EXPECT_TRUE(std::equal(one.begin(), one.end(), all.end() - std::ssize(one)));
}

}  // namespace
}  // namespace kinetograph::nn
