#include "model_conv.hpp"

/// Causal 3-D in one launch: through the rank-5 map, and with one map per frame for frames at any addresses.
namespace kinetograph::sm100 {
namespace {

/// 3-D with `front` zero frames before the first and "same" padding of rows and columns.
ConvProblem causal(int64_t n, int64_t d, int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t q, int64_t front) {
    ConvProblem shape = same2d(n, h, w, c_in, c_out, 3, 3);
    shape.d = d;
    shape.filter.q = q;
    shape.pad.front = front;
    return shape;
}

constexpr Conv2dConfig kVolume = one_sm_128b({.activation = Activation::Volume3d});
constexpr Conv2dConfig kVolumePair = two_sm_128b({.filters = 128, .activation = Activation::Volume3d});
constexpr Conv2dConfig kVolume64b = one_sm_64b({.filters = 96, .activation = Activation::Volume3d});

TEST(Causal3d, AgreesOn3x3x3InOneLaunch) { expect_agrees<kVolume>({causal(1, 4, 6, 9, 64, 64, 3, 2)}); }
TEST(Causal3d, KeepsEveryPositionApart) {
    expect_agrees<kVolume>({causal(1, 4, 6, 9, 64, 136, 3, 2), Numbers::Coded});
    expect_agrees<kVolumePair>({causal(1, 4, 6, 9, 64, 136, 3, 2), Numbers::Coded});
}
TEST(Causal3d, AgreesWith96ChannelsAndFilters) { expect_agrees<kVolume64b>({causal(1, 3, 6, 9, 96, 96, 3, 2)}); }
TEST(Causal3d, AgreesAsAPairOverTwoSamples) { expect_agrees<kVolumePair>({causal(2, 3, 5, 11, 64, 64, 3, 2)}); }
TEST(Causal3d, AgreesOnATemporalFilterAlone) {
    ConvProblem shape = causal(1, 5, 7, 9, 128, 64, 3, 2);
    shape.filter.r = shape.filter.s = 1;
    shape.pad = {2, 0, 0, 0, 0, 0};
    expect_agrees<kVolume>({shape});
}
TEST(Causal3d, AgreesWithTemporalStrideAndDilation) {
    ConvProblem shape = causal(1, 9, 5, 7, 64, 64, 3, 2);
    shape.stride.d = shape.dilation.d = 2;
    shape.pad.back = 1;
    expect_agrees<kVolume>({.shape = shape, .numbers = Numbers::Coded});
}
TEST(Causal3d, AgreesWithResidualAndFp8) {
    expect_agrees<one_sm_64b(
        {.element = Element::F8E4M3, .activation = Activation::Volume3d, .source = Source::Residual})>(
        {.shape = causal(1, 3, 5, 9, 64, 64, 3, 2), .beta = 1});
}
TEST(Causal3d, AgreesInAClusterThatShares) {
    expect_agrees<one_sm_128b({.filters = 64, .activation = Activation::Volume3d, .cluster = {2, 2}})>(
        {causal(1, 4, 7, 9, 64, 136, 3, 2)});
}

constexpr Conv2dConfig kWindow = one_sm_128b({.activation = Activation::Window3d});
constexpr Conv2dConfig kWindowPair =
    two_sm_64b({.filters = 96, .activation = Activation::Window3d, .source = Source::Residual});

TEST(Window3d, SkipsTapsBeforeTheFirstFrame) { expect_agrees<kWindow>({causal(1, 3, 9, 15, 64, 64, 3, 2)}); }
TEST(Window3d, ReadsTwoFramesOfHistoryAndFourNewOnes) { expect_agrees<kWindow>({causal(1, 6, 9, 15, 64, 64, 3, 0)}); }
TEST(Window3d, AddsResidualFramesAsAPair) {
    expect_agrees<kWindowPair>({.shape = causal(1, 4, 9, 31, 96, 96, 3, 0), .beta = 1});
}
TEST(Window3d, AgreesInAClusterOfPairsThatShares) {
    expect_agrees<two_sm_128b({.filters = 64, .activation = Activation::Window3d, .cluster = {2, 2}})>(
        {causal(1, 4, 13, 23, 64, 72, 3, 0)});
}
TEST(Window3d, KeepsTwoSamplesApart) { expect_agrees<kWindow>({causal(2, 3, 9, 15, 64, 72, 2, 1), Numbers::Coded}); }

/// Ring order: the clip's first frame has the last address.
TEST(Window3d, FollowsARingAroundItsSeam) {
    ConvNumbers numbers({.shape = causal(1, 4, 9, 15, 64, 64, 3, 0), .numbers = Numbers::Coded});
    const ConvProblem& shape = numbers.conv().shape;
    const size_t frame = numbers.activation.size() / 4;
    std::vector<uint8_t> ring(numbers.activation.size());
    std::vector<void*> frames;
    for (size_t t = 0; t < 4; ++t) {
        uint8_t* slot = ring.data() + (t + 3) % 4 * frame;
        std::memcpy(slot, numbers.activation.data() + t * frame, frame);
        frames.push_back(slot);
    }
    Guarded output(numbers.output_bytes());
    const auto stored = parts(output.data(), output.size(), static_cast<size_t>(shape.d_out()));
    const Conv2dLaunch launch =
        plan_launch(kWindow, shape, {.activation = frames, .filter = numbers.filter.data(), .output = stored});
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        output.poison();
        const std::string fault =
            run_once<kWindow>(launch, Conv2dEpilogueArguments<NoEpilogue>{.bias = numbers.bias.data()}, seed);
        ASSERT_EQ(fault, "");
        ASSERT_EQ(numbers.judge(output), "");
    }
}

}  // namespace
}  // namespace kinetograph::sm100
