// Convolution's sm_80 back end, from a ConvProblem to numbers, against the fp64 reference on the host.
#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/accel/cuda/driver_api.hpp>
#include <kinetograph/tests/compute/conv/conv_golden_cases.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

#include <algorithm>
#include <iterator>

namespace kinetograph::conv {
namespace {

using tensor::DType;

constexpr std::string_view kBackend = "implicit-gemm-sm80";

class CudaConvolution : public test::CudaLane {
  protected:
    /// Runs and holds the result to the rounding of its output.
    void expect_agrees(const ConvProblem& problem) {
        const auto run = run_problem(*device_, problem, {.backend = kBackend, .repeats = 1});
        ASSERT_TRUE(run) << run.error().message;
        const double rounding = problem.input.element == DType::F16 ? 3.2e-4 : 2.5e-3;
        // The folded filter of a doubled input is rounded once more.
        const double exact = float32_limit(device_->info(), problem);
        const double limit = problem.upsample                       ? 1.6 * rounding
                             : problem.output.element == DType::F32 ? exact
                                                                    : rounding;
        EXPECT_LE(run->relative_l2, limit) << problem.to_string();
        EXPECT_LE(run->max_abs_error, 4 * limit * run->max_abs_reference) << problem.to_string();
    }
};

ConvProblem causal(std::int64_t c_in, std::int64_t k) {
    ConvProblem p;
    p.d = 4;
    p.h = 9;
    p.w = 13;
    p.c_in = c_in;
    p.filter = {k, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    return p;
}

TEST_F(CudaConvolution, OfBothElementTypesAgrees) {
    ConvProblem p = causal(32, 40);
    p.residual = true;
    p.activation = Activation::Silu;
    expect_agrees(p);
    p.input = p.weight = p.output = p.normed = DType::F16;
    expect_agrees(p);
}

/// Operands and filters are rounded once more than those of a direct sum.
TEST_F(CudaConvolution, OfTwoFramesAtOnceAgrees) {
    for (const std::int64_t k : {40, 200}) {
        ConvProblem p = causal(32, k);
        p.d = 5;
        p.residual = true;
        for (const DType dtype : {DType::BF16, DType::F16}) {
            p.input = p.weight = p.output = p.normed = dtype;
            const auto run = run_problem(*device_, p, {.backend = "winograd-time-sm80", .repeats = 1});
            ASSERT_TRUE(run) << run.error().message;
            EXPECT_LE(run->relative_l2, dtype == DType::F16 ? 5.8e-4 : 4.6e-3) << p.to_string();
        }
    }
}

TEST_F(CudaConvolution, StoresFloat32WhereTheProblemWantsIt) {
    for (const std::int64_t k : {3, 8}) {
        ConvProblem p = causal(32, k);
        p.output = p.normed = DType::F32;
        expect_agrees(p);
    }
}

TEST_F(CudaConvolution, PadsInTimeByFramesThatDoNotExist) {
    ConvProblem p = causal(16, 24);
    p.n = 2;
    p.pad.front = 2;
    p.pad.back = 1;
    expect_agrees(p);
}

TEST_F(CudaConvolution, OfStridesDilationsAndOddChannelsAgrees) {
    ConvProblem p = causal(20, 33);
    p.d = 7;
    p.stride = {2, 2, 1};
    p.dilation = {2, 1, 2};
    p.pad = {1, 0, 0, 2, 3, 1};
    expect_agrees(p);
}

TEST_F(CudaConvolution, UpsamplesItsInputOnTheWayBySubPixelsAndByTheLoader) {
    ConvProblem p = causal(32, 24);
    p.upsample = true;
    expect_agrees(p);
    p.c_in = 5;
    p.stride = {1, 1, 2};  // no sub-pixels
    expect_agrees(p);
}

TEST_F(CudaConvolution, OfMoreFramesThanALaunchNamesAgrees) {
    ConvProblem p = causal(8, 8);
    p.d = 37;
    p.h = p.w = 3;
    expect_agrees(p);
}

/// Every method of exact sums lacks its kernels, as in a build without them; Winograd's are there.
TEST_F(CudaConvolution, OfExactSumsIsRefusedWhereOnlyOthersAreLeft) {
    if (control_ == nullptr) GTEST_SKIP() << "only a stand-in lacks kernels when it is told to";
    ConvProblem p = causal(32, 40);
    p.d = 5;
    const std::vector<float> filter(p.filter_elements()), bias(p.filter.k);
    for (const DispatchRow& row : explain(device_->info(), p))  // the next lookups, one for each that is tried
        if (row.open && row.allowed) control_->inject({"cuModuleGetFunction", 1, accel::cuda::Status::NotFound});
    const auto exact = Convolution::create(*device_, p, {filter, bias});
    ASSERT_FALSE(exact) << (*exact)->backend();
    EXPECT_EQ(exact.error().code, ErrorCode::Unsupported);
    for (const char* part : {"closed: kernel \"", "closed: its sums are not exact: for fast sums, or by name",
                             "closed: it rounds between its sums: by name only"})
        EXPECT_NE(exact.error().message.find(part), std::string::npos) << part << "\n" << exact.error().message;
    for (const ConvOptions& named :
         {ConvOptions{.backend = "winograd-time-sm80"}, ConvOptions{.preferred = "winograd-time-sm80"}}) {
        const auto made = Convolution::create(*device_, p, {filter, bias}, named);
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ((*made)->backend(), "winograd-time-sm80");
    }
}

TEST_F(CudaConvolution, OfFloat32IsDeclinedWithItsReason) {
    ConvProblem p = causal(32, 32);
    p.input = p.weight = p.output = p.normed = DType::F32;
    const auto run = run_problem(*device_, p, {.backend = kBackend});
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, ErrorCode::Unsupported);
    EXPECT_NE(run.error().message.find("closed: wants bf16 or fp16, met F32"), std::string::npos)
        << run.error().message;
}

/// A causal convolution whose output is known to the last bit, and its norm.
TestConvolution exact_convolution(std::int64_t k, Norm norm) {
    ConvShape shape{causal(16, k)};
    shape.problem.norm = norm;
    TestConvolution test(shape);
    for (std::size_t i = 0; i < test.filter.size(); ++i) test.filter[i] = static_cast<float>(i % 13) - 6;
    for (std::size_t i = 0; i < test.gamma.size(); ++i) test.gamma[i] = 1 + static_cast<float>(i % 64) / 64;
    test.input.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((7 * frame + i) % 11) - 5; });
    return test;
}

TEST_F(CudaConvolution, NormsInTheTileOrInALaterPassBesideTheOutputOrInsteadOfIt) {
    const auto stream = device_->create_stream("test").value();
    for (const std::int64_t k : {32, 256}) {  // a tile's channels; more than any tile's
        const auto beside = exact_convolution(k, Norm::Beside).run(*device_, *stream, kBackend).value();
        const auto instead = exact_convolution(k, Norm::Instead).run(*device_, *stream, kBackend).value();
        EXPECT_EQ(instead.normed, beside.normed) << k;
        EXPECT_EQ(beside.values, exact_convolution(k, Norm::None).run(*device_, *stream, kBackend).value().values);
        const auto test = exact_convolution(k, Norm::Beside);
        const Difference d = difference(beside.normed, normed_reference(test.shape.problem, beside.values, test.gamma));
        EXPECT_LE(d.relative_l2, 2.5e-3) << k;
        EXPECT_LE(d.worst_excess, 1.0) << k;
    }
}

TEST_F(CudaConvolution, OverAnotherNumberOfFramesSharesThePackedFilterAndGivesEachFrameTheSameBits) {
    const auto stream = device_->create_stream("test").value();
    auto test = exact_convolution(96, Norm::Instead);
    for (float& value : test.filter) value *= 0.37F;  // sums that round
    const ConvProblem& p = test.shape.problem;
    Weights weights(HostParameters{test.filter, test.bias, test.gamma, {}});
    auto whole = Convolution::create(*device_, p, weights, {.backend = kBackend}).value();
    const auto before = device_->bytes_allocated();
    ConvProblem shorter = p;
    shorter.d = 3;
    const auto one = Convolution::create(*device_, shorter, weights, {.backend = kBackend}).value();
    EXPECT_EQ(device_->bytes_allocated(), before);
    EXPECT_EQ(one->problem().d_out(), 1);
    const auto input = DeviceFrames::upload(*device_, *stream, test.input).value();
    const auto frames_of = [&](bool singly) {
        TestFrames normed(1, p.d_out(), p.h * p.w * p.filter.k, p.input.element, FrameLayout::Dense);
        const auto output = DeviceFrames::upload(*device_, *stream, normed).value();
        const auto inputs = input.readable();
        for (std::size_t t = 0; singly && t < 2; ++t)
            EXPECT_TRUE(one->enqueue(*stream, "one",
                                     {.input = std::span(inputs).subspan(t, 3),
                                      .output = {},
                                      .residual = {},
                                      .normed = std::span(output.writable()).subspan(t, 1)}));
        if (!singly) {
            EXPECT_TRUE(whole->enqueue(*stream, "whole",
                                       {.input = inputs, .output = {}, .residual = {}, .normed = output.writable()}));
        }
        EXPECT_TRUE(output.read_back(*stream, normed));
        return normed.values();
    };
    EXPECT_EQ(frames_of(true), frames_of(false));
    const auto once = frames_of(true);
    whole.reset();  // what is shared outlives the first
    EXPECT_EQ(once.size(), static_cast<std::size_t>(2 * p.h * p.w * p.filter.k));
}

TEST_F(CudaConvolution, LeavesTheDeviceAsItWas) {
    const auto before = device_->bytes_allocated();
    expect_agrees(causal(16, 16));
    EXPECT_EQ(device_->bytes_allocated(), before);
}

std::vector<ConvShape> single(std::vector<ConvShape> shapes) {
    for (ConvShape& shape : shapes) shape.problem.groups = 1;
    return shapes;
}

class CudaConvProperty : public test::CudaLane, public testing::WithParamInterface<Combination> {
  protected:
    /// Most on a GPU; enough to notice a mistake where the host model runs them.
    std::vector<ConvShape> shapes(std::uint64_t seed) const {
        std::vector<ConvShape> all = single(awkward_shapes(seed, on_gpu() ? 240 : 6));
        std::ranges::copy(doubled(awkward_shapes(seed + 1, on_gpu() ? 40 : 2)), std::back_inserter(all));
        const auto rings = ring_shapes();
        all.insert(all.end(), rings.begin(), on_gpu() ? rings.end() : rings.begin() + 1);
        return all;
    }
    int least(int gpu, int model) const { return on_gpu() ? gpu : model; }
};

TEST_P(CudaConvProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    const int tested = expect_agreement(*device_, GetParam(), shapes(7));
    RecordProperty("problems", tested);
    EXPECT_GE(tested, least(200, 6));
}

TEST_P(CudaConvProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    EXPECT_GE(expect_exactness(*device_, GetParam(), shapes(11)), least(200, 6));
}

TEST_P(CudaConvProperty, TakesEveryNumberFromItsOwnPlace) {
    EXPECT_GE(expect_places(*device_, GetParam(), shapes(13)), least(200, 6));
}

TEST_P(CudaConvProperty, ReproducesEveryStoredCase) {
    if (!on_gpu() && (test::kAddressSanitized || GetParam().output_dtype == DType::F32))
        GTEST_SKIP() << "the host model runs them once a type, and not where the address sanitizer watches it";
    EXPECT_GE(expect_golden_cases(*device_, GetParam()), 27);
}

INSTANTIATE_TEST_SUITE_P(Sm80, CudaConvProperty,
                         testing::Values(Combination{kBackend, DType::BF16, DType::BF16},
                                         Combination{kBackend, DType::BF16, DType::F32},
                                         Combination{kBackend, DType::F16, DType::F16}),
                         name_of);

}  // namespace
}  // namespace kinetograph::conv
