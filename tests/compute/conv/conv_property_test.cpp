// Every back end against the fp64 reference on shapes that look for trouble.
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kinetograph::conv {
namespace {

using tensor::DType;

constexpr int kShapes = 480;

/// bf16-representable numbers: every dtype starts from the same.
void fill_random(TestConvolution& test, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto draw = [&] { return tensor::from_bf16(tensor::to_bf16(uniform(random))); };
    const ConvProblem& p = test.shape.problem;
    const auto fan_in = static_cast<float>(p.filter_elements() / p.filter.k);
    for (float& value : test.filter) {
        value = tensor::from_bf16(tensor::to_bf16(uniform(random) * std::sqrt(3 / fan_in)));
    }
    for (float& value : test.bias) value = draw();
    for (float& value : test.gamma) value = 1 + 0.25F * draw();
    test.input.fill([&](auto, auto) { return draw(); });
    test.residual.fill([&](auto, auto) { return draw(); });
}

/// Small integers: every product and every sum is exact in float32, whatever the order, and the output is known to the
/// last bit. |sum| <= 100 * 7 * 7 * 3 * 4 * 2 < 2^24.
void fill_integers(TestConvolution& test, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](int limit) {
        return static_cast<float>(std::uniform_int_distribution<int>(-limit, limit)(random));
    };
    for (float& value : test.filter) value = draw(2);
    for (float& value : test.bias) value = draw(8);
    test.input.fill([&](auto, auto) { return draw(4); });
    test.residual.fill([&](auto, auto) { return 4 * draw(16); });
}

/// The input says where it lies, and each filter picks one tap of one channel: a wrong address shows as a wrong number.
void fill_index_coded(TestConvolution& test, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::int64_t each = test.shape.problem.filter_elements() / test.shape.problem.filter.k;
    std::ranges::fill(test.filter, 0.0F);
    for (std::int64_t k = 0; k < test.shape.problem.filter.k; ++k) {
        test.filter[k * each + std::uniform_int_distribution<std::int64_t>(0, each - 1)(random)] = 1;
    }
    std::ranges::fill(test.bias, 0.0F);
    // 1 to 241: prime, so no shape's pitch is a multiple of it; exact in bf16.
    test.input.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((frame * 89 + i) % 241 + 1); });
    test.residual.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((frame * 7 + i) % 13); });
}

std::vector<float> rounded_once(std::vector<float> values, DType dtype) {
    if (dtype == DType::BF16) {
        for (float& value : values) value = tensor::from_bf16(tensor::to_bf16(value));
    }
    return values;
}

struct Combination {
    std::string_view backend;
    DType dtype, output_dtype;
};

std::string name_of(const testing::TestParamInfo<Combination>& info) {
    std::string name(info.param.backend);
    name += info.param.dtype == DType::F32 ? "_F32" : "_BF16";
    if (info.param.output_dtype != info.param.dtype) name += "_ToF32";
    std::ranges::replace(name, '-', '_');
    return name;
}

class ConvProperty : public testing::TestWithParam<Combination> {
  protected:
    /// The shape at this back end's element types; false if the back end declines it.
    bool adopt(ConvShape& shape) {
        shape.problem.dtype = GetParam().dtype;
        shape.problem.output_dtype = GetParam().output_dtype;
        for (const DispatchRow& row : explain(device_->info(), shape.problem)) {
            if (row.candidate == GetParam().backend) return row.open;
        }
        ADD_FAILURE() << "no back end is called " << GetParam().backend;
        return false;
    }

    /// float32 sums: 2e-6 (README of the goldens: torch's float32 measures 3.9e-7, factor 5). bf16: half an ulp is
    /// 2^-9 |wanted|, twice that allowed, plus cancellation in sums of magnitude rms.
    void expect_close(const std::vector<float>& got, const std::vector<float>& wanted) {
        const Difference d = difference(got, wanted);
        if (GetParam().output_dtype == DType::F32) {
            EXPECT_LE(d.relative_l2, 2e-6);
        } else {
            EXPECT_LE(d.relative_l2, 2.5e-3);
            EXPECT_LE(d.worst_excess, 1.0);
        }
    }

    /// Against the norm of what is stored: in bf16 that is the rounded output, and pixels whose channels nearly cancel
    /// carry its roundings, so two roundings of 2^-9 each on average are allowed for, and a little for cancellation.
    void expect_normed(const ConvProblem& p, const std::vector<float>& got, const std::vector<float>& bare,
                       const std::vector<float>& gamma) {
        std::vector<float> stored = bare;
        if (p.output_dtype == DType::BF16) {
            for (float& value : stored) value = tensor::from_bf16(tensor::to_bf16(value));
        }
        const Difference d = difference(got, normed_reference(p, stored, gamma));
        EXPECT_LE(d.relative_l2, GetParam().output_dtype == DType::F32 ? 1e-5 : 5e-3);
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    std::unique_ptr<accel::Stream> stream_ = device_->create_stream("test").value();
};

TEST_P(ConvProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    int tested = 0;
    std::uint64_t seed = 0;
    std::vector<ConvShape> shapes = awkward_shapes(7, kShapes);
    std::ranges::copy(ring_shapes(), std::back_inserter(shapes));
    for (ConvShape shape : shapes) {
        ++seed;
        if (!adopt(shape)) continue;
        SCOPED_TRACE(shape.problem.to_string());
        TestConvolution test(shape);
        fill_random(test, seed);
        const auto output = test.run(*device_, *stream_, GetParam().backend);
        if (!output && output.error().code == ErrorCode::Unsupported) continue;
        ASSERT_TRUE(output) << output.error().message;
        const auto wanted = test.reference(*device_, *stream_);
        if (!output->values.empty()) expect_close(output->values, wanted);
        if (!output->normed.empty()) expect_normed(shape.problem, output->normed, wanted, test.gamma);
        EXPECT_TRUE(output->gaps_untouched);
        ++tested;
    }
    RecordProperty("shapes", tested);
    EXPECT_GE(tested, 200);
}

TEST_P(ConvProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    std::uint64_t seed = 0;
    std::vector<ConvShape> shapes = awkward_shapes(11, kShapes / 2);
    std::ranges::copy(ring_shapes(), std::back_inserter(shapes));
    for (ConvShape shape : shapes) {
        ++seed;
        shape.problem.activation = Activation::None;
        shape.problem.norm = Norm::None;
        shape.problem.beta = shape.problem.beta == 0.0F ? -1.0F : std::copysign(1.0F, shape.problem.beta);
        if (!adopt(shape)) continue;
        SCOPED_TRACE(shape.problem.to_string());
        TestConvolution test(shape);
        fill_integers(test, seed);
        const auto output = test.run(*device_, *stream_, GetParam().backend);
        if (!output && output.error().code == ErrorCode::Unsupported) continue;
        ASSERT_TRUE(output) << output.error().message;
        ASSERT_EQ(output->values, rounded_once(test.reference(*device_, *stream_), GetParam().output_dtype));
    }
}

TEST_P(ConvProperty, TakesEveryNumberFromItsOwnPlace) {
    std::uint64_t seed = 0;
    std::vector<ConvShape> shapes = awkward_shapes(13, kShapes / 2);
    std::ranges::copy(ring_shapes(), std::back_inserter(shapes));
    for (ConvShape shape : shapes) {
        ++seed;
        shape.problem.activation = Activation::None;
        shape.problem.norm = Norm::None;
        shape.problem.beta = 1;
        if (!adopt(shape)) continue;
        SCOPED_TRACE(shape.problem.to_string());
        TestConvolution test(shape);
        fill_index_coded(test, seed);
        const auto output = test.run(*device_, *stream_, GetParam().backend);
        if (!output && output.error().code == ErrorCode::Unsupported) continue;
        ASSERT_TRUE(output) << output.error().message;
        ASSERT_EQ(output->values, rounded_once(test.reference(*device_, *stream_), GetParam().output_dtype));
    }
}

INSTANTIATE_TEST_SUITE_P(
    AllBackends, ConvProperty,
    testing::Values(Combination{"direct", DType::F32, DType::F32}, Combination{"direct", DType::BF16, DType::BF16},
                    Combination{"direct", DType::BF16, DType::F32}, Combination{"onednn", DType::F32, DType::F32},
                    Combination{"onednn", DType::BF16, DType::BF16}, Combination{"onednn", DType::BF16, DType::F32},
                    Combination{"onednn-f32", DType::BF16, DType::BF16},
                    Combination{"onednn-f32", DType::BF16, DType::F32}),
    name_of);

}  // namespace
}  // namespace kinetograph::conv
