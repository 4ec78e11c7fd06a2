#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

namespace kinetograph::conv {
namespace {

using tensor::DType;

float bf16(float value) { return static_cast<float>(rounded_element(value, DType::BF16)); }

/// bf16-representable numbers, so that every dtype starts from the same.
void fill_random(TestConvolution& test, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto draw = [&] { return bf16(uniform(random)); };
    const ConvProblem& p = test.shape.problem;
    const auto fan_in = static_cast<float>(p.filter_elements() / p.filter.k);
    for (float& value : test.filter) value = bf16(uniform(random) * std::sqrt(3 / fan_in));
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

/// The input encodes its position, and each filter picks one tap of one channel: a wrong address gives a wrong number.
void fill_index_coded(TestConvolution& test, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::int64_t each = test.shape.problem.filter_elements() / test.shape.problem.filter.k;
    std::ranges::fill(test.filter, 0.0F);
    for (std::int64_t k = 0; k < test.shape.problem.filter.k; ++k) {
        test.filter[k * each + std::uniform_int_distribution<std::int64_t>(0, each - 1)(random)] = 1;
    }
    std::ranges::fill(test.bias, 0.0F);
    // 1 to 113: prime, so no shape's pitch is a multiple of it; sums and differences of two are exact in bf16, too.
    test.input.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((frame * 89 + i) % 113 + 1); });
    test.residual.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((frame * 7 + i) % 13); });
}

std::vector<float> rounded_once(std::vector<float> values, DType dtype) {
    for (float& value : values) value = static_cast<float>(rounded_element(value, dtype));
    return values;
}

/// One back end on one device, and the reference beside it.
class Trial {
  public:
    Trial(accel::Device& device, const Combination& combination)
        : device_(device), stream_(device.create_stream("test").value()), combination_(combination) {}

    /// The shape at the back end's element types; false if the back end declines it.
    bool adopt(ConvShape& shape) {
        shape.problem.input = shape.problem.weight = combination_.dtype;
        shape.problem.output = shape.problem.normed = combination_.output_dtype;
        for (const DispatchRow& row : explain(device_.info(), shape.problem))
            if (row.candidate == combination_.backend) {
                rounding_ = row.rounding;
                // The norm of pixels of which a ReLU leaves only roundings has no bound.
                if (transforms_operands() && shape.problem.norm != Norm::None &&
                    shape.problem.activation == Activation::Relu)
                    shape.problem.activation = Activation::None;
                return row.open;
            }
        ADD_FAILURE() << "no back end is called " << combination_.backend;
        return false;
    }

    /// None if the back end's library declines, or if it fails, which fails the test.
    std::optional<TestConvolution::Output> run(const TestConvolution& test) const {
        auto output = test.run(device_, *stream_, combination_.backend);
        if (output) {
            EXPECT_TRUE(output->gaps_untouched);
            return std::move(*output);
        }
        if (output.error().code != ErrorCode::Unsupported) ADD_FAILURE() << output.error().message;
        return std::nullopt;
    }

    std::vector<float> reference(const TestConvolution& test) const { return test.reference(*host_, *host_stream_); }

    /// float32 sums: 2e-6 (README of the goldens: torch's float32 measures 3.9e-7, factor 5). bf16: half an ulp is
    /// 2^-9 |wanted|, twice that allowed, plus cancellation in sums of magnitude rms. Folded taps are rounded again,
    /// which adds in quadrature as much as the output's rounding, of the sum's terms and not of the sum: no bound an
    /// element, but 2^-7 of the largest. Winograd along time rounds filters and frames of a product, 1.65e-3 each in
    /// bf16; on frames that know nothing of each other its products have 5/3 of the sum's variance, so that with the
    /// output's rounding 3.4e-3 are expected, and a third more allowed. In float32 its operands' roundings are nothing
    /// beside its sums'.
    void expect_close(const ConvProblem& p, const std::vector<float>& got, const std::vector<float>& wanted) const {
        const bool f16 = combination_.dtype == DType::F16, f32 = combination_.dtype == DType::F32;
        const double half_step = f16 ? 0x1p-11 : f32 ? 0x1p-18 : 0x1p-8;
        const Difference d = difference(got, wanted, half_step);
        const double rounding = f16 ? 3.2e-4 : f32 ? float32_limit(device_.info(), p) : 2.5e-3;
        float largest = 0;
        for (const float value : wanted) largest = std::max(largest, std::abs(value));
        if (folds_taps(p) || transforms_operands()) {
            EXPECT_LE(d.relative_l2, (folds_taps(p) ? 1.6 : 1.84) * rounding);
            EXPECT_LE(d.max_abs, 2 * half_step * largest);
        } else if (combination_.output_dtype == DType::F32) {
            EXPECT_LE(d.relative_l2, float32_limit(device_.info(), p));
        } else {
            EXPECT_LE(d.relative_l2, rounding);
            EXPECT_LE(d.worst_excess, 1.0);
        }
    }

    /// Against the norm of what is stored: in bf16 that is the rounded output, and pixels whose channels nearly cancel
    /// carry its roundings, so two roundings of 2^-9 each on average are allowed for, and a little for cancellation.
    void expect_normed(const ConvProblem& p, const std::vector<float>& got, const std::vector<float>& bare,
                       const std::vector<float>& gamma) const {
        const Difference d = difference(got, normed_reference(p, rounded_once(bare, p.output.element), gamma));
        const double rounding = combination_.dtype == DType::F16   ? 7e-4
                                : combination_.dtype == DType::F32 ? 1e-5
                                                                   : 5e-3;
        if (folds_taps(p) || transforms_operands()) {
            EXPECT_LE(d.relative_l2, 2 * rounding);
        } else {
            EXPECT_LE(d.relative_l2, p.output.element == DType::F32 ? 1e-5 : rounding);
        }
    }

  private:
    /// Methods before which a pass doubles the input have the taps as given.
    bool folds_taps(const ConvProblem& p) const {
        return p.upsample && std::ranges::find(candidates(), combination_.backend, &Candidate::name)->upsamples;
    }

    bool transforms_operands() const { return rounding_ == Rounding::Operands || rounding_ == Rounding::Finer; }

    accel::Device& device_;
    std::unique_ptr<accel::Stream> stream_;
    std::unique_ptr<accel::Device> host_ = accel::cpu::create_device();
    std::unique_ptr<accel::Stream> host_stream_ = host_->create_stream("reference").value();
    Combination combination_;
    Rounding rounding_ = Rounding::Once;  ///< of the back end
};

/// Problems whose numbers are known to the last bit, with data from `fill`.
int expect_equality(accel::Device& device, const Combination& combination, std::span<const ConvShape> shapes,
                    const std::function<void(TestConvolution&, std::uint64_t seed)>& fill) {
    Trial trial(device, combination);
    int tested = 0;
    std::uint64_t seed = 0;
    for (ConvShape shape : shapes) {
        ++seed;
        shape.problem.activation = Activation::None;
        shape.problem.norm = Norm::None;
        shape.problem.beta = shape.problem.beta == 0.0F ? -1.0F : std::copysign(1.0F, shape.problem.beta);
        if (!trial.adopt(shape)) continue;
        SCOPED_TRACE(shape.problem.to_string());
        TestConvolution test(shape);
        fill(test, seed);
        const auto output = trial.run(test);
        if (!output) continue;
        ++tested;
        EXPECT_EQ(output->values, rounded_once(trial.reference(test), combination.output_dtype));
        if (testing::Test::HasFailure()) break;  // one problem suffices
    }
    return tested;
}

}  // namespace

std::string missing_instructions(const accel::DeviceInfo& cpu, const Combination& combination) {
    ConvProblem plain;
    plain.d = 4;
    plain.h = plain.w = 8;
    plain.c_in = 16;
    plain.filter = {16, 3, 3, 3};
    plain.upsample = combination.backend == "doubled-direct-cpu";
    plain.input = plain.weight = combination.dtype;
    plain.output = plain.normed = combination.output_dtype;
    const auto row = [&](const accel::DeviceInfo& device) {
        const auto rows = explain(device, plain);
        return *std::ranges::find(rows, combination.backend, &DispatchRow::candidate);
    };
    const bool has_processor = std::ranges::any_of(std::array{"avx2", "avx2 avx512f avx512_bf16"}, [&](auto features) {
        accel::DeviceInfo other = cpu;
        other.features = features;
        return row(other).open;
    });
    return has_processor ? row(cpu).reason : "";
}

double float32_limit(const accel::DeviceInfo& device, const ConvProblem& problem) {
    const auto products = static_cast<double>(problem.filter_elements() / problem.filter.k);
    return device.kind == "cuda" ? 2e-6 + products / 16 * 0x1p-24 : 2e-6;
}

std::string name_of(const testing::TestParamInfo<Combination>& info) {
    std::string name = fmt::format("{}_{}", info.param.backend, tensor::to_string(info.param.dtype));
    if (info.param.output_dtype != info.param.dtype) name += "_ToF32";
    std::ranges::replace(name, '-', '_');
    return name;
}

int expect_agreement(accel::Device& device, const Combination& combination, std::span<const ConvShape> shapes) {
    Trial trial(device, combination);
    int tested = 0;
    std::uint64_t seed = 0;
    for (ConvShape shape : shapes) {
        ++seed;
        if (!trial.adopt(shape)) continue;
        SCOPED_TRACE(shape.problem.to_string());
        TestConvolution test(shape);
        fill_random(test, seed);
        const auto output = trial.run(test);
        if (!output) continue;
        ++tested;
        const auto wanted = trial.reference(test);
        if (!output->values.empty()) trial.expect_close(shape.problem, output->values, wanted);
        if (!output->normed.empty()) trial.expect_normed(shape.problem, output->normed, wanted, test.gamma);
        if (testing::Test::HasFailure()) break;  // one problem suffices
    }
    return tested;
}

int expect_exactness(accel::Device& device, const Combination& combination, std::span<const ConvShape> shapes) {
    return expect_equality(device, combination, shapes, fill_integers);
}

int expect_places(accel::Device& device, const Combination& combination, std::span<const ConvShape> shapes) {
    return expect_equality(device, combination, shapes, fill_index_coded);
}

}  // namespace kinetograph::conv
