// The Hopper back ends, whole: from a ConvProblem through dispatch, filter packing, the driver's tensor maps and
// launches by name to numbers. On a stand-in driver that poses as an H200 a few problems, on the GPU itself hundreds.
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/tests/compute/conv/conv_golden_cases.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

#include <algorithm>
#include <set>

namespace kinetograph::conv {
namespace {

using tensor::DType;

std::int64_t next_multiple_of_8(std::int64_t value) { return (value + 7) / 8 * 8; }

/// The awkward shapes bent to what TMA and wgmma take: whole groups of 8 channels, square taps of 1 or 3, no strides,
/// dilations or groups. Sides, paddings, frames, layouts and epilogues stay awkward.
ConvShape bent(ConvShape shape) {
    ConvProblem& p = shape.problem;
    p.groups = 1;
    p.stride = p.dilation = {1, 1, 1};
    p.filter.r = p.filter.s = p.filter.r == 1 ? 1 : 3;
    for (std::int64_t* pad : {&p.pad.top, &p.pad.bottom, &p.pad.left, &p.pad.right})
        *pad = std::min(*pad, p.filter.r / 2);
    p.c_in = next_multiple_of_8(p.c_in);
    p.filter.k = next_multiple_of_8(p.filter.k);
    return shape;
}

/// The same with the doubled input of a decoder, which four 2x2 convolutions on the small image compute.
ConvShape doubled(ConvShape shape) {
    ConvProblem& p = shape.problem;
    p.upsample = true;
    p.filter.r = p.filter.s = 3;
    p.pad.top = p.pad.bottom = p.pad.left = p.pad.right = 1;
    return shape;
}

/// A head's: few output channels and no epilogue that looks at all of them.
ConvShape narrow(ConvShape shape) {
    ConvProblem& p = shape.problem;
    p.filter.k = std::clamp<std::int64_t>(p.filter.k / 8, 1, p.filter.r == 1 ? 32 : 12);
    if (p.filter.r == 3 && p.filter.k > 3) p.filter.k -= p.filter.k % 4;
    p.residual = false;
    p.norm = Norm::None;
    return shape;
}

/// 3x3x3 taps on two output frames or more.
ConvShape in_time(ConvShape shape) {
    ConvProblem& p = shape.problem;
    p.upsample = false;
    p.filter.q = p.filter.r = p.filter.s = 3;
    p.pad.front = std::min<std::int64_t>(p.pad.front, 2);
    p.pad.back = std::min<std::int64_t>(p.pad.back, 2);
    p.d = std::max<std::int64_t>(p.d, 4 - p.pad.front - p.pad.back);
    return shape;
}

/// An even number of them.
ConvShape in_pairs(ConvShape shape) {
    shape = in_time(std::move(shape));
    shape.problem.d += shape.problem.d_out() % 2;
    return shape;
}

/// The same without padding in time, output in the input's type.
ConvShape sliced(ConvShape shape) {
    shape = in_time(std::move(shape));
    ConvProblem& p = shape.problem;
    p.d += p.pad.front + p.pad.back;
    p.pad.front = p.pad.back = 0;
    return shape;
}

template <class Bend>
void append_valid(std::vector<ConvShape>& shapes, std::uint64_t seed, int count, Bend bend) {
    for (const ConvShape& shape : awkward_shapes(seed, count)) {
        ConvShape candidate = bend(bent(shape));
        if (validate(candidate.problem)) shapes.push_back(std::move(candidate));
    }
}

class Sm90ConvProperty : public test::CudaLane, public testing::WithParamInterface<Combination> {
  protected:
    standin::Options pose() const override { return {.name = "Stand-in H200", .architecture = "sm_90"}; }

    std::vector<ConvShape> shapes(std::uint64_t seed) const {
        std::vector<ConvShape> all;
        if (GetParam().backend == "narrow-gemm-sm90") {
            append_valid(all, seed, on_gpu() ? 120 : 4, narrow);
            return all;
        }
        append_valid(all, seed, on_gpu() ? 300 : 5, std::identity());
        append_valid(all, seed + 1, on_gpu() ? 60 : 2, doubled);
        const auto rings = ring_shapes();
        all.insert(all.end(), rings.begin(), on_gpu() ? rings.end() : rings.begin() + 1);
        return all;
    }
    int least() const {
        const bool narrow_ones = GetParam().backend == "narrow-gemm-sm90";
        return on_gpu() ? narrow_ones ? 80 : 280 : narrow_ones ? 2 : 5;
    }
};

TEST_P(Sm90ConvProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    const int tested = expect_agreement(*device_, GetParam(), shapes(7));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

TEST_P(Sm90ConvProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    const int tested = expect_exactness(*device_, GetParam(), shapes(11));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

TEST_P(Sm90ConvProperty, TakesEveryNumberFromItsOwnPlace) {
    const int tested = expect_places(*device_, GetParam(), shapes(13));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

TEST_P(Sm90ConvProperty, ReproducesEveryStoredCaseThatItsGatesLetIn) {
    const int tested = expect_golden_cases(*device_, GetParam());
    RecordProperty("problems", tested);
    EXPECT_EQ(tested, GetParam().backend == "narrow-gemm-sm90" ? 3 : 12);
}

class Sm90InTimeProperty : public Sm90ConvProperty {
  protected:
    std::vector<ConvShape> shapes(std::uint64_t seed) const {
        std::vector<ConvShape> all;
        append_valid(all, seed, on_gpu() ? 150 : 3, GetParam().backend == "q-slice-sm90" ? sliced : in_time);
        return all;
    }
    int least() const { return on_gpu() ? 100 : 2; }
};

TEST_P(Sm90InTimeProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    const int tested = expect_agreement(*device_, GetParam(), shapes(17));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

TEST_P(Sm90InTimeProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    const int tested = expect_exactness(*device_, GetParam(), shapes(19));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

/// Products of integers are not exact in fp16; those of an index code are.
class Sm90VolumeProperty : public Sm90ConvProperty {
  protected:
    std::vector<ConvShape> shapes(std::uint64_t seed) const {
        std::vector<ConvShape> all;
        append_valid(all, seed, on_gpu() ? 150 : 3, in_pairs);
        return all;
    }
    int least() const { return on_gpu() ? 100 : 2; }
};

TEST_P(Sm90VolumeProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    const int tested = expect_agreement(*device_, GetParam(), shapes(17));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

TEST_P(Sm90VolumeProperty, TakesEveryNumberFromItsOwnPlace) {
    const int tested = expect_places(*device_, GetParam(), shapes(19));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

/// A head's sums that go on from call to call.
class Sm90CarriedProperty : public Sm90ConvProperty {
  protected:
    std::vector<ConvShape> shapes(std::uint64_t seed) const {
        std::vector<ConvShape> all;
        append_valid(all, seed, on_gpu() ? 150 : 3, [](ConvShape shape) {
            shape = narrow(in_time(std::move(shape)));
            ConvProblem& p = shape.problem;
            p.n = 1;
            p.d = std::min<std::int64_t>(p.d, 4);
            shape.seam %= p.d;
            p.filter.k = std::min<std::int64_t>(p.filter.k, 4);
            p.pad.front = p.pad.back = 2;
            p.activation = Activation::None;
            p.carried = true;
            return shape;
        });
        return all;
    }
    int least() const { return on_gpu() ? 100 : 2; }
};

TEST_P(Sm90CarriedProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    const int tested = expect_agreement(*device_, GetParam(), shapes(17));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

TEST_P(Sm90CarriedProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    const int tested = expect_exactness(*device_, GetParam(), shapes(19));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

TEST_P(Sm90CarriedProperty, TakesEveryNumberFromItsOwnPlace) {
    const int tested = expect_places(*device_, GetParam(), shapes(21));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least());
}

/// Methods add in different orders: a decoder's bits would depend on how many latent frames a step takes.
TEST(Sm90Dispatch, DoesNotDependOnTheNumberOfFrames) {
    const accel::DeviceInfo device = describe_known_device("sm_90").value();
    std::set<std::string_view> chosen;
    for (const auto& [height, width] : {std::pair(3, 5), std::pair(24, 40), std::pair(60, 104), std::pair(88, 160)})
        for (NamedProblem& layer : decoder_problems(96, 8 * height, 8 * width, DType::BF16)) {
            const std::int64_t reach = layer.problem.filter.q - 1;
            layer.problem.d = reach + 1;
            const std::string_view once = explain(device, layer.problem).front().candidate;
            chosen.insert(once);
            for (const std::int64_t frames : {2, 3, 4, 8, 16}) {
                layer.problem.d = reach + frames;
                EXPECT_EQ(explain(device, layer.problem).front().candidate, once) << layer.problem.to_string();
            }
        }
    EXPECT_GE(chosen.size(), 3U) << "one method for everything would not have been a choice";
}

INSTANTIATE_TEST_SUITE_P(Hopper, Sm90ConvProperty,
                         testing::Values(Combination{"implicit-gemm-sm90", DType::BF16, DType::BF16},
                                         Combination{"implicit-gemm-sm90", DType::F16, DType::F16},
                                         Combination{"narrow-gemm-sm90", DType::BF16, DType::F32},
                                         Combination{"narrow-gemm-sm90", DType::F16, DType::F16}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Hopper, Sm90VolumeProperty,
                         testing::Values(Combination{"winograd-volume-sm90", DType::BF16, DType::BF16}), name_of);

INSTANTIATE_TEST_SUITE_P(Hopper, Sm90CarriedProperty,
                         testing::Values(Combination{"narrow-gemm-sm90", DType::BF16, DType::F32},
                                         Combination{"narrow-gemm-sm90", DType::F16, DType::F32}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Hopper, Sm90InTimeProperty,
                         testing::Values(Combination{"winograd-time-sm90", DType::BF16, DType::BF16},
                                         Combination{"winograd-time-sm90", DType::F16, DType::F16},
                                         Combination{"q-slice-sm90", DType::BF16, DType::BF16}),
                         name_of);

}  // namespace
}  // namespace kinetograph::conv
