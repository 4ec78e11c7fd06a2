// im2col and a matrix product on CUDA: any shape, whatever other back ends decline.
#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

namespace kinetograph::conv {
namespace {

using tensor::DType;

constexpr std::string_view kBackend = "im2col-sm80";

/// A share of the shapes that every back end is tried with: all gates of this one are its element types.
std::vector<ConvShape> awkward(int count) {
    std::vector<ConvShape> shapes = awkward_shapes(41, 3 * count);
    std::erase_if(shapes, [](const ConvShape& shape) { return shape.problem.flops() > 3e6; });
    if (shapes.size() > static_cast<std::size_t>(count)) shapes.resize(count);
    return shapes;
}

class CudaIm2col : public test::CudaLane {};
class CudaIm2colOnAGpu : public test::CudaGpu {};

TEST_F(CudaIm2col, AgreesForAwkwardShapesOfBothElementTypes) {
    const auto shapes = awkward(on_gpu() ? 200 : 10);
    const int count = static_cast<int>(shapes.size());
    EXPECT_EQ(expect_agreement(*device_, {kBackend, DType::BF16, DType::BF16}, shapes), count);
    EXPECT_EQ(expect_agreement(*device_, {kBackend, DType::F16, DType::F16}, std::span(shapes).first(count / 2)),
              count / 2);
}

TEST_F(CudaIm2col, IsExactOnIntegersAndTakesEveryNumberFromItsPlace) {
    const auto shapes = awkward(on_gpu() ? 200 : 10);
    const Combination combination{kBackend, DType::BF16, DType::BF16};
    EXPECT_EQ(expect_exactness(*device_, combination, shapes), static_cast<int>(shapes.size()));
    EXPECT_EQ(expect_places(*device_, combination, shapes), static_cast<int>(shapes.size()));
}

TEST_F(CudaIm2col, TakesGroupsUpsamplingAndMoreTemporalTapsThanALaunchNames) {
    ConvShape groups, upsampled, long_filter;
    groups.problem.d = 4;
    groups.problem.h = 7;
    groups.problem.w = 5;
    groups.problem.c_in = 24;
    groups.problem.filter = {16, 3, 3, 3};
    groups.problem.pad = {2, 0, 1, 1, 1, 1};
    upsampled = long_filter = groups;
    groups.problem.groups = 4;
    upsampled.problem.upsample = true;
    long_filter.problem.d = 66;
    long_filter.problem.c_in = 8;
    long_filter.problem.filter = {4, 65, 1, 2};
    long_filter.problem.pad = {};
    const std::vector<ConvShape> shapes{groups, upsampled, long_filter};
    EXPECT_EQ(expect_exactness(*device_, {kBackend, DType::BF16, DType::BF16}, shapes), 3);
    EXPECT_EQ(expect_places(*device_, {kBackend, DType::BF16, DType::BF16}, shapes), 3);
}

TEST_F(CudaIm2col, IsWhatGroupsFallTo) {
    ConvProblem p;
    p.h = p.w = 6;
    p.c_in = 8;
    p.filter = {8, 1, 3, 3};
    p.groups = 2;
    const auto run = run_problem(*device_, p, {.repeats = 1});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->backend, kBackend);
}

/// 1152 bytes of taps a pixel: a part of 64 MiB holds 58254 of 90000.
TEST_F(CudaIm2colOnAGpu, MultipliesInParts) {
    ConvProblem p;
    p.h = p.w = 300;
    p.c_in = 64;
    p.filter = {8, 1, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    const auto run = run_problem(*device_, p, {.backend = kBackend, .repeats = 1});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->workspace_bytes, 58254U * 1152);
    EXPECT_LE(run->relative_l2, 2.5e-3);
    EXPECT_LE(run->max_abs_error, 1e-2 * run->max_abs_reference);
}

}  // namespace
}  // namespace kinetograph::conv
