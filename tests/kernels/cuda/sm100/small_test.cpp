#include <cmath>
#include <kinetograph/kernels/cuda/sm100/conv2d_configs.hpp>

#include "model_conv.hpp"

/// 64 pixels a CTA: MMA_M 64 of one CTA (16 of every 32 lanes of tensor memory hold rows) and MMA_M 128 of a pair (the
/// upper 64 lanes hold the upper half of the filters).
namespace kinetograph::sm100 {
namespace {

constexpr Conv2dConfig small_one(uint32_t filters, uint32_t span = 128, Source source = Source::None) {
    return small_config(1, span, filters, Activation::Frames2d, source);
}
constexpr Conv2dConfig small_pair(uint32_t filters, uint32_t span = 128, Source source = Source::None) {
    return small_config(2, span, filters, Activation::Frames2d, source);
}
constexpr Conv2dConfig kOne = small_one(64), kOne64b = small_one(64, 64), kPair = small_pair(128),
                       kPair64b = small_pair(64, 64);

TEST(Conv2dSmallOne, AgreesOnOneTile) { expect_agrees<kOne>({same2d(1, 8, 8, 64, 64, 3, 3)}); }
TEST(Conv2dSmallOne, AgreesOnASinglePixel) { expect_agrees<kOne>({same2d(1, 1, 1, 64, 64, 3, 3)}); }
TEST(Conv2dSmallOne, AgreesOnRaggedPixelsAndFilters) { expect_agrees<kOne>({same2d(2, 7, 11, 128, 104, 3, 3)}); }
TEST(Conv2dSmallOne, AgreesOnManyTiles) { expect_agrees<kOne>({same2d(3, 10, 14, 64, 136, 1, 1)}); }
TEST(Conv2dSmallOne, AgreesWithStrideAndDilation) {
    ConvProblem shape = same2d(2, 15, 18, 64, 64, 3, 3);
    shape.stride = {1, 2, 1};
    shape.dilation = {1, 1, 2};
    expect_agrees<kOne>({shape});
}
TEST(Conv2dSmallOne, KeepsEveryPositionApart) {
    expect_agrees<kOne>({same2d(2, 9, 13, 64, 72, 3, 3), Numbers::Coded});
    expect_agrees<kOne64b>({same2d(2, 9, 13, 96, 96, 3, 3), Numbers::Coded});
}
TEST(Conv2dSmallOne, SumsIntegersExactly) {
    expect_agrees<kOne64b>({same2d(1, 10, 20, 32, 128, 5, 5), Numbers::Integers});
}
TEST(Conv2dSmallOne, AgreesWith256FiltersATile) { expect_agrees<small_one(256)>({same2d(1, 9, 9, 64, 232, 3, 3)}); }
TEST(Conv2dSmallOne, AddsAResidual) {
    ConvCase conv{same2d(2, 9, 11, 64, 72, 3, 3)};
    conv.beta = 0.5f;
    expect_agrees<small_one(64, 128, Source::Residual)>(conv);
}

TEST(Conv2dSmallPair, AgreesOnOneTile) { expect_agrees<kPair>({same2d(1, 8, 16, 64, 128, 3, 3)}); }
TEST(Conv2dSmallPair, AgreesWhenTheSecondCtaHasNoPixels) { expect_agrees<kPair>({same2d(1, 8, 8, 64, 128, 3, 3)}); }
TEST(Conv2dSmallPair, AgreesWhenTheUpperLanesHaveNoFilters) { expect_agrees<kPair>({same2d(1, 9, 9, 64, 40, 3, 3)}); }
TEST(Conv2dSmallPair, AgreesOnRaggedPixelsAndFilters) { expect_agrees<kPair>({same2d(2, 7, 11, 128, 104, 3, 3)}); }
TEST(Conv2dSmallPair, AgreesOnManyTiles) { expect_agrees<kPair>({same2d(4, 13, 15, 64, 264, 1, 1)}); }
TEST(Conv2dSmallPair, KeepsEveryPositionApart) {
    expect_agrees<kPair>({same2d(2, 9, 13, 64, 264, 3, 3), Numbers::Coded});
    expect_agrees<kPair64b>({same2d(2, 9, 13, 96, 72, 3, 3), Numbers::Coded});
}
TEST(Conv2dSmallPair, SumsIntegersExactly) {
    expect_agrees<kPair64b>({same2d(1, 10, 20, 32, 128, 5, 5), Numbers::Integers});
}
TEST(Conv2dSmallPair, AgreesWith256FiltersATile) { expect_agrees<small_pair(256)>({same2d(1, 9, 17, 64, 232, 1, 3)}); }
TEST(Conv2dSmallPair, AddsAResidual) {
    for (const int64_t filters : {40, 128, 200}) {
        ConvCase conv{same2d(2, 9, 11, 64, filters, 3, 3)};
        conv.beta = 0.5f;
        expect_agrees<small_pair(128, 128, Source::Residual)>(conv);
    }
}
TEST(Conv2dSmallPair, AgreesInClustersThatShareTiles) {
    constexpr auto kShared = [] {
        PresetOptions options;
        options.filters = 128;
        options.cluster = {4, 2};
        options.pixels = 64;
        return entry_config(2, 128, options);
    }();
    expect_agrees<kShared>({same2d(3, 9, 17, 64, 264, 1, 3), Numbers::Coded});
}

ConvProblem causal(int64_t c_in, int64_t c_out) {
    ConvProblem shape = same2d(1, 5, 9, c_in, c_out, 3, 3);
    shape.d = 4;
    shape.filter.q = 3;
    shape.pad.front = 2;
    return shape;
}
TEST(Conv2dSmall, AgreesInThreeDimensions) {
    expect_agrees<small_config(1, 128, 64, Activation::Volume3d, Source::None)>({causal(64, 72)});
    expect_agrees<small_config(2, 64, 64, Activation::Volume3d, Source::Residual)>({causal(96, 72)});
    expect_agrees<small_config(1, 64, 64, Activation::Window3d, Source::Residual)>({causal(32, 72)});
    expect_agrees<small_config(2, 128, 128, Activation::Window3d, Source::None)>({causal(64, 136)});
}

/// Functions on the staged tile and after the store see each of a CTA's 64 rows once.
TEST(Conv2dSmall, AppliesEpilogueFunctionsOfEveryForm) {
    const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
    ConvCase conv{same2d(2, 9, 11, 64, 72, 3, 3)};
    conv.function = silu;
    expect_agrees<kOne>(conv, SiluInRegisters{});
    expect_agrees<kPair>(conv, SiluAfterSharedMemory{});
    expect_agrees<small_one(64, 128, Source::Residual)>(conv, SiluAfterSharedMemory{});
}
#if KG_HOST_MODEL  // sums in host memory; faults that would stop a chip
template <Conv2dConfig kConfig>
void expect_channel_sums() {
    ConvCase conv{same2d(2, 9, 11, 64, 72, 3, 3), Numbers::Integers};
    ConvNumbers numbers(conv);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        Guarded output(numbers.output_bytes());
        std::vector<float> sums(72), wanted(72);
        ASSERT_EQ(
            run_once<kConfig>(
                launch_of<kConfig>(numbers, output),
                Conv2dEpilogueArguments<ChannelSums>{.bias = numbers.bias.data(), .function = {sums.data()}}, seed),
            "");
        for (size_t i = 0; i < numbers.output_bytes() / 2; ++i)
            wanted[i % 72] += load_value(Element::BF16, output.data(), i);
        EXPECT_EQ(sums, wanted);
    }
}
TEST(Conv2dSmall, ObservesEveryStoredValueOnce) {
    expect_channel_sums<kOne>();
    expect_channel_sums<kPair>();
}

/// Faults of the layout break a rule of the chip or the results.
template <Conv2dConfig kConfig, Fault kFault>
bool is_caught() {
    ConvNumbers numbers({same2d(2, 9, 15, 64, 136, 3, 3)});
    Guarded output(numbers.output_bytes());
    const Conv2dLaunch launch = launch_of<kConfig>(numbers, output);
    bool every = true;
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        output.poison();
        const std::string fault =
            run_once<kConfig, kFault>(launch, Conv2dEpilogueArguments<NoEpilogue>{.bias = numbers.bias.data()}, seed);
        every = every && (!fault.empty() || !numbers.judge(output).empty());
    }
    return every;
}
TEST(Conv2dSmallFaults, UpperLanesTakenForRowsAreCaught) { EXPECT_TRUE((is_caught<kPair, Fault::RowOfWarp>())); }
TEST(Conv2dSmallFaults, LanesWithoutRowsTakenForRowsAreCaught) {
    EXPECT_TRUE((is_caught<kOne, Fault::RowsInAllLanes>()));
}
TEST(Conv2dSmallFaults, AnotherWarpsLanesAreCaught) {
    EXPECT_TRUE((is_caught<kOne, Fault::WrongLaneQuarter>()));
    EXPECT_TRUE((is_caught<kPair, Fault::WrongLaneQuarter>()));
}
TEST(Conv2dSmallFaults, AMissingWaitForADrainedAccumulatorIsCaught) {
    EXPECT_TRUE((is_caught<kOne, Fault::NoDrainedWait>()));
    EXPECT_TRUE((is_caught<kPair, Fault::NoDrainedWait>()));
}
TEST(Conv2dSmallFaults, WithoutAFaultNothingIsCaught) {
    EXPECT_FALSE((is_caught<kOne, Fault::None>()));
    EXPECT_FALSE((is_caught<kPair, Fault::None>()));
}
#endif

}  // namespace
}  // namespace kinetograph::sm100
