// Every back end of the CPU against the fp64 reference on difficult shapes.
#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include <algorithm>
#include <array>
#include <iterator>

namespace kinetograph::conv {
namespace {

using tensor::DType;

constexpr int kShapes = test::kAddressSanitized ? 60 : 480;
constexpr int kDoubledShapes = test::kAddressSanitized ? 40 : 160;
constexpr int kShapesInTime = test::kAddressSanitized ? 32 : 160;

std::vector<ConvShape> shapes(std::uint64_t seed, int count) {
    std::vector<ConvShape> all = awkward_shapes(seed, count);
    std::ranges::copy(ring_shapes(), std::back_inserter(all));
    return all;
}

class ConvProperty : public CpuBackendTest {};

TEST_P(ConvProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    const int tested = expect_agreement(*device_, GetParam(), shapes(7, kShapes));
    RecordProperty("shapes", tested);
    EXPECT_GE(tested, kShapes * 5 / 12);
}

TEST_P(ConvProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    EXPECT_GE(expect_exactness(*device_, GetParam(), shapes(11, kShapes / 2)), kShapes * 5 / 24);
}

TEST_P(ConvProperty, TakesEveryNumberFromItsOwnPlace) {
    EXPECT_GE(expect_places(*device_, GetParam(), shapes(13, kShapes / 2)), kShapes * 5 / 24);
}

/// Three temporal taps on two output frames or more, without strides, dilations and groups.
std::vector<ConvShape> shapes_in_time(std::uint64_t seed, int count) {
    std::vector<ConvShape> all;
    for (ConvShape shape : shapes(seed, count)) {
        ConvProblem& p = shape.problem;
        p.stride = p.dilation = {1, 1, 1};
        p.groups = 1;
        p.filter.q = 3;
        p.filter.k = std::max<std::int64_t>(p.filter.k, 5);
        p.d = std::max<std::int64_t>(p.d, 4 - p.pad.front - p.pad.back);
        if (validate(p)) all.push_back(std::move(shape));
    }
    return all;
}

class ConvInTimeProperty : public ConvProperty {};

TEST_P(ConvInTimeProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    EXPECT_GE(expect_agreement(*device_, GetParam(), shapes_in_time(17, kShapesInTime)), kShapesInTime * 5 / 8);
}

TEST_P(ConvInTimeProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    EXPECT_GE(expect_exactness(*device_, GetParam(), shapes_in_time(19, kShapesInTime / 2)), kShapesInTime * 5 / 16);
}

TEST_P(ConvInTimeProperty, TakesEveryNumberFromItsOwnPlace) {
    EXPECT_GE(expect_places(*device_, GetParam(), shapes_in_time(23, kShapesInTime / 2)), kShapesInTime * 5 / 16);
}

TEST_P(ConvInTimeProperty, HoldsWhereARowIsManyTilesAndManyBlocksOfChannels) {
    ConvShape shape;
    ConvProblem& p = shape.problem;
    p.d = 5;
    p.h = 5;
    p.w = 200;  // more tiles than share a product's sums
    p.c_in = 8;
    p.filter = {144, 3, 3, 3};  // three blocks of channels
    p.pad = {1, 0, 1, 1, 1, 1};
    p.norm = Norm::Instead;
    EXPECT_EQ(expect_agreement(*device_, GetParam(), std::array{shape}), 1);
    shape.problem.norm = Norm::None;
    EXPECT_EQ(expect_places(*device_, GetParam(), std::array{shape}), 1);
}

class ConvDoubledProperty : public CpuBackendTest {};

TEST_P(ConvDoubledProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    const int tested = expect_agreement(*device_, GetParam(), doubled(shapes(29, kDoubledShapes)));
    RecordProperty("shapes", tested);
    EXPECT_GE(tested, kDoubledShapes * 3 / 8);
}

TEST_P(ConvDoubledProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    EXPECT_GE(expect_exactness(*device_, GetParam(), doubled(shapes(31, kDoubledShapes / 2))), kDoubledShapes * 3 / 16);
}

TEST_P(ConvDoubledProperty, TakesEveryNumberFromItsOwnPlace) {
    EXPECT_GE(expect_places(*device_, GetParam(), doubled(shapes(37, kDoubledShapes / 2))), kDoubledShapes * 3 / 16);
}

/// In both types the filter of a parity is more than stays in the cache at a time.
TEST_P(ConvDoubledProperty, HoldsWhereARowIsManyTilesAndTheFilterIsManyChunks) {
    ConvShape shape;
    ConvProblem& p = shape.problem;
    p.d = 3;
    p.h = 3;
    p.w = 31;
    p.c_in = 1024;
    p.filter = {80, 2, 3, 3};  // two blocks of channels
    p.pad = {0, 0, 1, 1, 1, 1};
    p.upsample = true;
    p.norm = Norm::Instead;
    EXPECT_EQ(expect_agreement(*device_, GetParam(), std::array{shape}), 1);
    shape.problem.norm = Norm::None;
    EXPECT_EQ(expect_places(*device_, GetParam(), std::array{shape}), 1);
}

INSTANTIATE_TEST_SUITE_P(AllBackends, ConvDoubledProperty,
                         testing::Values(Combination{"direct-cpu", DType::F32, DType::F32},
                                         Combination{"direct-cpu", DType::BF16, DType::BF16},
                                         Combination{"direct-cpu", DType::BF16, DType::F32},
                                         Combination{"doubled-direct-cpu", DType::F32, DType::F32},
                                         Combination{"doubled-direct-cpu", DType::BF16, DType::BF16},
                                         Combination{"onednn-cpu", DType::F32, DType::F32},
                                         Combination{"onednn-f32-cpu", DType::BF16, DType::BF16}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(AllBackends, ConvInTimeProperty,
                         testing::Values(Combination{"winograd-time-cpu", DType::F32, DType::F32},
                                         Combination{"winograd-time-cpu", DType::BF16, DType::BF16},
                                         Combination{"winograd-time-cpu", DType::BF16, DType::F32}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(AllBackends, ConvProperty,
                         testing::Values(Combination{"direct-cpu", DType::F32, DType::F32},
                                         Combination{"direct-cpu", DType::BF16, DType::BF16},
                                         Combination{"direct-cpu", DType::BF16, DType::F32},
                                         Combination{"onednn-cpu", DType::F32, DType::F32},
                                         Combination{"onednn-cpu", DType::BF16, DType::BF16},
                                         Combination{"onednn-cpu", DType::BF16, DType::F32},
                                         Combination{"onednn-f32-cpu", DType::BF16, DType::BF16},
                                         Combination{"onednn-f32-cpu", DType::BF16, DType::F32}),
                         name_of);

}  // namespace
}  // namespace kinetograph::conv
