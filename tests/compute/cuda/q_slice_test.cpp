// Q-slice on CUDA in both forms against the fp64 reference: how far each may be from it, and that neither takes a
// number from a wrong place.
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/planned.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/kernels/cuda/sm80/plan.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

#include <cmath>
#include <random>

namespace kinetograph::conv {
namespace {

using tensor::DType;

constexpr std::string_view kFused = "q-slice-sm80", kRounded = "q-slice-rounded-sm80";

float bf16(float value) { return static_cast<float>(rounded_element(value, DType::BF16)); }

ConvShape causal(std::int64_t c_in, std::int64_t k, FrameLayout input = FrameLayout::Dense) {
    ConvShape shape;
    shape.problem.d = 5;
    shape.problem.h = 6;
    shape.problem.w = 9;
    shape.problem.c_in = c_in;
    shape.problem.filter = {k, 3, 3, 3};
    shape.problem.pad = {0, 0, 1, 1, 1, 1};
    shape.input = input;
    shape.seam = input == FrameLayout::Ring ? 3 : 0;
    return shape;
}

void fill_random(TestConvolution& test) {
    std::mt19937_64 random(17);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& value : test.filter) value = bf16(0.1F * uniform(random));
    for (float& value : test.bias) value = uniform(random);
    test.input.fill([&](auto, auto) { return uniform(random); });
    test.residual.fill([&](auto, auto) { return uniform(random); });
}

/// What a bound is made of, for every output: the exact value, each slice's exact sum, and the sum of all products'
/// magnitudes.
class Exact {
  public:
    explicit Exact(const TestConvolution& test) : device_(accel::cpu::create_device()) {
        values = reference(test);
        TestConvolution bare(bare_shape(test.shape));
        copy(test, bare);
        for (std::int64_t q = 0; q < test.shape.problem.filter.q; ++q) slices.push_back(reference(only_tap(bare, q)));
        for (float& value : bare.filter) value = std::abs(value);
        fill(
            bare, [](float value) { return std::abs(value); }, test);
        magnitudes = reference(bare);
    }
    std::vector<float> values, magnitudes;
    std::vector<std::vector<float>> slices;

  private:
    static ConvShape bare_shape(ConvShape shape) {
        shape.problem.bias = shape.problem.residual = false;
        return shape;
    }
    template <class Function>
    static void fill(TestConvolution& to, const Function& function, const TestConvolution& from) {
        const ConvProblem& p = to.shape.problem;
        to.input.fill([&, values = from.input.values()](std::int64_t frame, std::int64_t i) {
            return function(values[frame * p.h * p.w * p.c_in + i]);
        });
    }
    static void copy(const TestConvolution& from, TestConvolution& to) {
        to.filter = from.filter;
        fill(
            to, [](float value) { return value; }, from);
    }
    static TestConvolution only_tap(const TestConvolution& bare, std::int64_t q) {
        TestConvolution one = bare;
        const Filter& f = bare.shape.problem.filter;
        for (std::size_t i = 0; i < one.filter.size(); ++i)
            if (static_cast<std::int64_t>(i) / (f.r * f.s) % f.q != q) one.filter[i] = 0;
        return one;
    }
    std::vector<float> reference(const TestConvolution& test) {
        const auto stream = device_->create_stream("reference").value();
        return test.reference(*device_, *stream);
    }
    std::unique_ptr<accel::Device> device_;
};

class CudaQSlice : public test::CudaLane {
  protected:
    TestConvolution::Output run(const TestConvolution& test, std::string_view backend) {
        const auto stream = device_->create_stream("test").value();
        auto output = test.run(*device_, *stream, backend);
        EXPECT_TRUE(output) << output.error().message;
        EXPECT_TRUE(!output || output->gaps_untouched);
        return output ? *output : TestConvolution::Output{};
    }
};

/// fp32 sums of K products in any order: each of K - 1 additions errs by half a step of a partial sum, which no sum of
/// magnitudes is below. The epilogue adds a few more.
double sum_error(const TestConvolution& test, double magnitudes) {
    const ConvProblem& p = test.shape.problem;
    const double terms = static_cast<double>(p.filter_elements() / p.filter.k + 8);
    return terms * 0x1p-24 * (magnitudes + 2);
}

// u = 2^-8, half a step of bf16 relative to a number just above a power of two. The fused form rounds once:
//   |out - exact| <= u |exact| + (1 + u) e,    e the error of the fp32 sums.
TEST_F(CudaQSlice, FusedSumsStayWithinOneRounding) {
    for (ConvShape shape :
         {causal(32, 24), causal(64, 72, FrameLayout::Ring), causal(96, 96, FrameLayout::Scattered)}) {
        shape.problem.residual = shape.problem.c_in == 64;
        shape.problem.beta = 0.5F;
        TestConvolution test(shape);
        fill_random(test);
        const Exact exact(test);
        const auto output = run(test, kFused);
        ASSERT_EQ(output.values.size(), exact.values.size());
        for (std::size_t i = 0; i < exact.values.size(); ++i) {
            const double bound = 0x1p-8 * std::abs(exact.values[i]) + 1.01 * sum_error(test, exact.magnitudes[i]);
            ASSERT_NEAR(output.values[i], exact.values[i], bound) << i << " of " << shape.problem.to_string();
        }
    }
}

// The documented form rounds every slice s_q to bf16 before it is added, then the whole:
//   |out - exact| <= u (1 + u) sum_q |s_q| + u |exact| + (1 + u)^2 e.
TEST_F(CudaQSlice, RoundedSlicesStayWithinOneRoundingASliceAndOneMore) {
    for (ConvShape shape : {causal(32, 24), causal(64, 72, FrameLayout::Ring)}) {
        shape.problem.residual = shape.problem.c_in == 64;
        shape.problem.beta = 0.5F;
        TestConvolution test(shape);
        fill_random(test);
        const Exact exact(test);
        const auto output = run(test, kRounded);
        ASSERT_EQ(output.values.size(), exact.values.size());
        double worst_fused = 0;
        for (std::size_t i = 0; i < exact.values.size(); ++i) {
            double slices = 0;
            for (const auto& slice : exact.slices) slices += std::abs(slice[i]);
            const double sums = 1.01 * sum_error(test, exact.magnitudes[i]), once = 0x1p-8 * std::abs(exact.values[i]);
            ASSERT_NEAR(output.values[i], exact.values[i], 1.004 * 0x1p-8 * slices + once + sums)
                << i << " of " << shape.problem.to_string();
            worst_fused = std::max(worst_fused, std::abs(output.values[i] - exact.values[i]) / (once + sums));
        }
        EXPECT_GT(worst_fused, 1.0) << "rounded slices would pass for fused sums";
    }
}

/// A large offset in the first temporal tap that the last one takes back: bf16 slices lose what is left of it.
TEST_F(CudaQSlice, FusedSumsSurviveACancellationThatRoundedSlicesDoNot) {
    TestConvolution test(causal(32, 8));
    fill_random(test);
    const Filter& f = test.shape.problem.filter;
    for (std::size_t i = 0; i < test.filter.size(); ++i) {
        const auto tap = static_cast<std::int64_t>(i) % (f.q * f.r * f.s);
        const std::int64_t channel = static_cast<std::int64_t>(i) / (f.q * f.r * f.s) % 32;
        if (channel == 0) test.filter[i] = tap == 4 ? 64.0F : tap == 22 ? -64.0F : 0.0F;  // the middle of a frame
    }
    constexpr std::int64_t elements = 6 * 9 * 32;
    test.input.fill([values = test.input.values()](std::int64_t frame, std::int64_t i) {
        return i % 32 == 0 ? 64.0F : values[frame * elements + i];
    });
    const Exact exact(test);
    const Difference fused = difference(run(test, kFused).values, exact.values);
    const Difference rounded = difference(run(test, kRounded).values, exact.values);
    EXPECT_LT(fused.relative_l2, 2.5e-3);
    EXPECT_GT(rounded.relative_l2, 0.1);  // 4096 in bf16 has steps of 16 to 32
}

TEST_F(CudaQSlice, FusedSumsAreExactOnIntegersAndTakeEveryNumberFromItsPlace) {
    std::vector<ConvShape> shapes = ring_shapes();
    shapes.resize(3);
    ConvShape two = causal(32, 40, FrameLayout::Scattered);
    two.problem.n = 2;
    two.problem.filter = {40, 2, 1, 3};
    two.problem.pad = {0, 0, 0, 0, 1, 1};
    two.output = FrameLayout::EveryOther;
    shapes.push_back(two);
    const Combination combination{kFused, DType::BF16, DType::BF16};
    EXPECT_EQ(expect_exactness(*device_, combination, shapes), 4);
    EXPECT_EQ(expect_places(*device_, combination, shapes), 4);
}

TEST_F(CudaQSlice, StoresFloat32AndFinishesWithSiluNormAndResidual) {
    std::vector<ConvShape> shapes;
    for (const Norm norm : {Norm::None, Norm::Beside, Norm::Instead})
        for (const std::int64_t k : {32, 264}) {  // a tile's channels; more than any tile's, normed by a pass
            ConvShape shape = causal(32, k, FrameLayout::Ring);
            shape.problem.d = 3;
            shape.problem.residual = true;
            shape.problem.beta = -0.75F;
            shape.problem.activation = Activation::Silu;
            shape.problem.norm = norm;
            shapes.push_back(shape);
        }
    EXPECT_EQ(expect_agreement(*device_, {kFused, DType::BF16, DType::BF16}, shapes), 6);
    EXPECT_EQ(expect_agreement(*device_, {kFused, DType::BF16, DType::F32}, std::span(shapes).first(2)), 2);
}

TEST_F(CudaQSlice, RoundedSlicesFinishWithSiluNormAndResidual) {
    for (const Norm norm : {Norm::Beside, Norm::Instead}) {
        ConvShape shape = causal(32, 32);
        shape.problem.residual = true;
        shape.problem.activation = Activation::Silu;
        shape.problem.norm = norm;
        TestConvolution test(shape);
        fill_random(test);
        const Exact exact(test);
        const auto output = run(test, kRounded);
        const Difference d = difference(output.normed, normed_reference(shape.problem, exact.values, test.gamma));
        EXPECT_LE(d.relative_l2, 2 * 2.5e-3);  // the slices' roundings and the output's
    }
}

TEST_F(CudaQSlice, OverAnotherNumberOfFramesGivesEachFrameTheSameBits) {
    TestConvolution test(causal(32, 24));
    fill_random(test);
    const ConvProblem& p = test.shape.problem;
    const auto stream = device_->create_stream("test").value();
    for (const std::string_view backend : {kFused, kRounded}) {
        Weights weights(HostParameters{test.filter, test.bias, {}, {}});
        auto whole = Convolution::create(*device_, p, weights, {.backend = backend}).value();
        const auto before = device_->bytes_allocated();
        ConvProblem shorter = p;
        shorter.d = 3;
        const auto one = Convolution::create(*device_, shorter, weights, {.backend = backend}).value();
        EXPECT_EQ(device_->bytes_allocated(), before);
        ASSERT_EQ(one->problem().d_out(), 1);
        EXPECT_EQ(one->backend(), backend);
        whole.reset();
        const auto input = DeviceFrames::upload(*device_, *stream, test.input).value();
        TestFrames stored(1, 3, p.h * p.w * p.filter.k, p.input.element, FrameLayout::Dense);
        const auto output = DeviceFrames::upload(*device_, *stream, stored).value();
        const auto workspace = device_->allocate("workspace", one->workspace_bytes()).value();
        const auto inputs = input.readable();
        for (std::size_t t = 0; t < 3; ++t)
            ASSERT_TRUE(one->enqueue(*stream, "one",
                                     {.input = std::span(inputs).subspan(t, 3),
                                      .output = std::span(output.writable()).subspan(t, 1),
                                      .residual = {},
                                      .workspace = workspace->data()}));
        ASSERT_TRUE(output.read_back(*stream, stored));
        EXPECT_EQ(stored.values(), run(test, backend).values) << backend;
    }
}

TEST_F(CudaQSlice, LeavesAResidualInPlaceWhenItIsTheOutput) {
    ConvShape shape = causal(32, 24);
    shape.problem.residual = true;
    TestConvolution test(shape);
    fill_random(test);
    for (const std::string_view backend : {kFused, kRounded, std::string_view("im2col-sm80")}) {
        test.shape.in_place = false;
        const auto apart = run(test, backend);
        test.shape.in_place = true;
        EXPECT_EQ(run(test, backend).values, apart.values) << backend;
    }
}

/// Bands of every height down to one row, with and without a rest, hold what one band of all rows holds.
TEST_F(CudaQSlice, GivesTheSameBitsInBandsOfAnyHeight) {
    for (const Norm norm : {Norm::Beside, Norm::Instead}) {
        ConvShape shape = causal(32, 24, FrameLayout::Ring);
        shape.problem.d = 3;
        shape.problem.filter.r = 4;
        shape.problem.pad.top = 2;
        shape.problem.residual = true;
        shape.problem.norm = norm;
        shape.seam = 1;
        TestConvolution test(shape);
        fill_random(test);
        const ConvProblem& p = shape.problem;
        const auto stream = device_->create_stream("test").value();
        for (const sm80::QSliceForm form : {sm80::QSliceForm::FusedSums, sm80::QSliceForm::RoundedSlices}) {
            const auto whole = run(test, form == sm80::QSliceForm::FusedSums ? kFused : kRounded);
            for (const std::int64_t rows : {1, 2, 4, 5}) {
                Weights weights(HostParameters{test.filter, test.bias, test.gamma, {}});
                const auto bytes = static_cast<std::uint64_t>(rows * p.w * 24 * 4);
                const auto made = create_planned(
                    *device_, p, sm80::plan_q_slice(p, chip_of(device_->info()), form, bytes), "bands", weights);
                ASSERT_TRUE(made);
                ASSERT_TRUE((*made)->pack());
                const auto banded = test.run(*device_, *stream, **made);
                ASSERT_TRUE(banded) << banded.error().message;
                EXPECT_EQ(banded->values, whole.values) << rows;
                EXPECT_EQ(banded->normed, whole.normed) << rows;
                EXPECT_TRUE(banded->gaps_untouched) << rows;
            }
        }
    }
}

TEST_F(CudaQSlice, StatesItsWorkspace) {
    const TestConvolution test(causal(32, 24));
    const ConvProblem& p = test.shape.problem;
    const auto fused = Convolution::create(*device_, p, {test.filter, test.bias}, {.backend = kFused}).value();
    const auto rounded = Convolution::create(*device_, p, {test.filter, test.bias}, {.backend = kRounded}).value();
    EXPECT_EQ(fused->workspace_bytes(), 3U * 5376);             // three frames of 6 x 9 x 24 fp32, aligned
    EXPECT_EQ(rounded->workspace_bytes(), 3U * (5376 + 2816));  // and of bf16
}

}  // namespace
}  // namespace kinetograph::conv
