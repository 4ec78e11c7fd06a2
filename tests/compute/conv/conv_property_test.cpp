// Every back end of the CPU against the fp64 reference on difficult shapes.
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <random>

namespace kinetograph::conv {
namespace {

using tensor::DType;

constexpr int kShapes = test::kAddressSanitized ? 24 : 480;
constexpr int kDoubledShapes = test::kAddressSanitized ? 16 : 160;
constexpr int kShapesInTime = test::kAddressSanitized ? 16 : 160;

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

/// Taps of 3x3 on whole vectors of channels, without strides, dilations and groups.
std::vector<ConvShape> shapes_in_planes(std::uint64_t seed, int count) {
    std::vector<ConvShape> all;
    for (ConvShape shape : shapes(seed, count)) {
        ConvProblem& p = shape.problem;
        p.stride = p.dilation = {1, 1, 1};
        p.groups = 1;
        p.filter.r = p.filter.s = 3;
        p.c_in = std::min<std::int64_t>(p.c_in / 16 * 16 + 16, 96);
        p.filter.k += 15;  // whole vectors and not
        if (validate(p)) all.push_back(std::move(shape));
    }
    return all;
}

class ConvInPlanesProperty : public ConvProperty {};

TEST_P(ConvInPlanesProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    EXPECT_GE(expect_agreement(*device_, GetParam(), shapes_in_planes(47, kShapesInTime)), kShapesInTime / 2);
}

TEST_P(ConvInPlanesProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    EXPECT_GE(expect_exactness(*device_, GetParam(), shapes_in_planes(53, kShapesInTime / 2)), kShapesInTime / 4);
}

TEST_P(ConvInPlanesProperty, TakesEveryNumberFromItsOwnPlace) {
    EXPECT_GE(expect_places(*device_, GetParam(), shapes_in_planes(59, kShapesInTime / 2)), kShapesInTime / 4);
}

/// Of several segments of tiles, the last of them ragged, and of an odd number of rows.
TEST_P(ConvInPlanesProperty, HoldsWhereARowIsManySegments) {
    ConvShape shape;
    ConvProblem& p = shape.problem;
    p.d = 2;
    p.h = 5;
    p.w = 203;
    p.c_in = 96;
    p.filter = {80, 2, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.norm = Norm::Instead;
    EXPECT_EQ(expect_agreement(*device_, GetParam(), std::array{shape}), 1);
    shape.problem.norm = Norm::None;
    EXPECT_EQ(expect_places(*device_, GetParam(), std::array{shape}), 1);
}

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

/// Frames of a clip resemble each other, and then a convolution in bf16 costs at most 3.5e-3 by Winograd's sums too.
///
/// With taps g0, g1, g2 of equal variance that know nothing of each other, and frames of variance 1 whose correlation
/// with the next one is r1 and with the second next one r, the products of an output
///
///   g0 (d0 - d2),  (g0+g1+g2)/2 (d1 + d2),  (g0-g1+g2)/2 (d2 - d1)
///
/// have 2 - 2r + 3/2 (1 + r1) + 3/2 (1 - r1) = 5 - 2r of a tap's variance, and the output has 3 of it. A rounding to
/// bf16 is e = 1.65e-3 (rms) of what is rounded, if that is anywhere between two numbers of bf16. Sums of bf16 numbers
/// are halfway as often as on one of them, which is 3/2 of the variance at most. Both factors of each product are such
/// sums, and the output is rounded once: e sqrt(1 + 3/2 * 2 (5 - 2r) / 3) = e sqrt(6 - 2r). That is 4.1e-3 for r = 0,
/// and 3.5e-3 from r = 0.76 on.
TEST(ConvOfAClip, KeepsToTheErrorOfAConvolutionWithFastSumsInBf16) {
    const auto device = accel::cpu::create_device();
    const Combination combination{"winograd-time-cpu", DType::BF16, DType::BF16};
    if (const std::string missing = missing_instructions(device->info(), combination); !missing.empty())
        GTEST_SKIP() << missing;
    constexpr double kRounding = 1.65e-3, kNext = 0.9, kSecondNext = kNext * kNext;
    const double limit = kRounding * std::sqrt(6 - 2 * kSecondNext);
    EXPECT_LE(limit, 3.5e-3);
    ConvShape shape;
    ConvProblem& p = shape.problem;
    p.d = 10;
    p.h = 12;
    p.w = 20;
    p.c_in = 32;
    p.filter = {32, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.bias = false;
    TestConvolution test(shape);
    std::mt19937_64 random(41);
    std::normal_distribution<float> normal;
    for (float& value : test.filter) value = static_cast<float>(rounded_element(normal(random) / 30, DType::BF16));
    std::vector<double> pixels(static_cast<std::size_t>(p.h * p.w * p.c_in));
    test.input.fill([&](std::int64_t frame, std::int64_t i) {
        double& pixel = pixels[static_cast<std::size_t>(i)];
        pixel = frame == 0 ? normal(random) : kNext * pixel + std::sqrt(1 - kSecondNext) * normal(random);
        return static_cast<float>(pixel);
    });
    const auto stream = device->create_stream("test").value();
    const auto fast = test.run(*device, *stream, combination.backend).value();
    const double error = difference(fast.values, test.reference(*device, *stream)).relative_l2;
    RecordProperty("relative_l2", fmt::format("{:.2e}", error));
    EXPECT_LE(error, limit);
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
    p.d = 2;
    p.h = 2;
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

INSTANTIATE_TEST_SUITE_P(AllBackends, ConvInPlanesProperty,
                         testing::Values(Combination{"winograd-planes-cpu", DType::F32, DType::F32},
                                         Combination{"winograd-planes-cpu", DType::BF16, DType::BF16},
                                         Combination{"winograd-planes-cpu", DType::BF16, DType::F32}),
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
