#include <gtest/gtest.h>

#include <algorithm>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv.hpp>

#include "conv_case.hpp"

/// Faults built into the kernel or into its inputs: each must be detected, with a sentence that explains it.
namespace kinetograph::gfx950 {
namespace {

constexpr uint64_t kSchedules = 6;  // twice each of late, at once and mixed landing

template <ConvLoader kLoader, ConvFault kFault, Element kType = Element::BF16>
host_model::ModelKernel faulty() {
    constexpr uint32_t kBK = kType == Element::F8E4M3 ? 128 : kLoader == ConvLoader::Chunks ? 64 : 32;
    using Config = FourWaveConvConfig<kType, 64, 64, kBK, kLoader, kFault>;
    return {"faulty", sizeof(FourWaveConvParams), Config::kThreads,
            [](const void* params) { FourWaveConv<Config>::run(*static_cast<const FourWaveConvParams*>(params)); }};
}

ConvCase padded(int64_t c_in, Element element = Element::BF16) {
    const uint32_t bk = element == Element::F8E4M3 ? 128 : c_in == 16 ? 64 : 32;  // 16 channels: the loader of chunks
    ConvCase conv{.problem = {.h = 9,
                              .w = 13,
                              .c_in = c_in,
                              .filter = {40, 1, 3, 3},
                              .stride = {},
                              .dilation = {},
                              .pad = {.top = 1, .bottom = 1, .left = 1, .right = 1}},
                  .overrides = {.tile = ConvTile{64, 64, bk}}};
    set_element(conv.problem, element);
    return conv;
}

/// Under every schedule the model stops the kernel with a sentence that contains `part`.
void expect_stopped(const ConvCase& conv, const host_model::ModelKernel& kernel, const std::string& part) {
    ConvRun run(conv);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        const std::string fault = run.run(seed, &kernel).fault.value_or("no fault");
        EXPECT_NE(fault.find(part), std::string::npos) << "seed " << seed << ": " << fault;
    }
}

/// Under every schedule the kernel runs to its end and the comparison finds wrong values.
void expect_wrong(const ConvCase& conv, const host_model::ModelKernel& kernel,
                  const std::string& part = "relative error") {
    ConvRun run(conv);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        ASSERT_EQ(run.run(seed, &kernel).fault.value_or(""), "") << "seed " << seed;
        EXPECT_NE(run.compare().find(part), std::string::npos) << "seed " << seed << ": " << run.compare();
    }
}

TEST(FourWaveConvFaults, TheFaultlessTemplateOfTheseTestsIsRight) {
    for (const int64_t c_in : {3, 16, 20, 64}) {
        const ConvCase conv = padded(c_in);
        const auto kernel = c_in == 3    ? faulty<ConvLoader::Elements, ConvFault::None>()
                            : c_in == 16 ? faulty<ConvLoader::Chunks, ConvFault::None>()
                            : c_in == 20 ? faulty<ConvLoader::Pieces, ConvFault::None>()
                                         : faulty<ConvLoader::Uniform, ConvFault::None>();
        ConvRun run(conv);
        EXPECT_EQ(run.run(2, &kernel).fault.value_or(""), "");
        EXPECT_EQ(run.compare(), "");
    }
}

TEST(FourWaveConvFaults, AMissingWaitBeforeReadingLds) {
    expect_stopped(padded(64), faulty<ConvLoader::Uniform, ConvFault::NoWaitBeforeRead>(), "waited for it");
    expect_stopped(padded(128, Element::F8E4M3),
                   faulty<ConvLoader::Uniform, ConvFault::NoWaitBeforeRead, Element::F8E4M3>(), "waited for it");
}

TEST(FourWaveConvFaults, AWaitForOneLoadLessThanNeeded) {
    expect_stopped(padded(64), faulty<ConvLoader::Uniform, ConvFault::WaitsForOneLess>(), "waited for it");
    expect_stopped(padded(16), faulty<ConvLoader::Chunks, ConvFault::WaitsForOneLess>(), "waited for it");
}

TEST(FourWaveConvFaults, AMissingBarrierBetweenStages) {
    expect_stopped(padded(64), faulty<ConvLoader::Uniform, ConvFault::NoBarrierBetweenStages>(),
                   "waited for it");  // not yet, or with no barrier since
}

TEST(FourWaveConvFaults, AStageOverwrittenBeforeItsReadersAreDone) {
    expect_stopped(padded(64), faulty<ConvLoader::Uniform, ConvFault::NoWaitBeforeOverwrite>(),
                   "reads: that wave has not waited for it (lgkmcnt)");
    expect_stopped(padded(3), faulty<ConvLoader::Elements, ConvFault::NoWaitBeforeOverwrite>(), "(lgkmcnt)");
}

TEST(FourWaveConvFaults, AKernelThatEndsWithLoadsUnderWay) {
    expect_stopped(padded(64), faulty<ConvLoader::Uniform, ConvFault::NoDrain>(), "waited for");
}

TEST(FourWaveConvFaults, HaloLanesSentOutOfRangeBySoffset) {
    expect_stopped(padded(64), faulty<ConvLoader::Uniform, ConvFault::HaloInSoffset>(),
                   "foreign memory, because the range check does not see soffset");
}

TEST(FourWaveConvFaults, AHaloOffsetInsideTheTensor) {
    expect_wrong(padded(64), faulty<ConvLoader::Uniform, ConvFault::HaloInElements>());
    expect_wrong(padded(16), faulty<ConvLoader::Chunks, ConvFault::HaloInElements>());
}

TEST(FourWaveConvFaults, ADescriptorThatCountsElements) {
    expect_stopped(padded(64), faulty<ConvLoader::Uniform, ConvFault::SizeInElements>(),
                   "of a buffer of 7488 bytes: foreign memory");
    expect_wrong(padded(16), faulty<ConvLoader::Chunks, ConvFault::SizeInElements>());
}

TEST(FourWaveConvFaults, KRoundedDownToWholeBlocks) {
    expect_wrong(padded(16), faulty<ConvLoader::Chunks, ConvFault::DropsLastStep>());
}

TEST(FourWaveConvFaults, LanesPastKThatReadOnMeetAFilterThatIsNotPaddedByZeros) {
    const ConvCase conv = padded(16);  // 144 of 192 elements
    ConvRun run(conv);
    const auto& params = run.plan().params;
    for (uint32_t k = 0; k < params.c_out; ++k) {
        std::fill_n(run.filter().begin() + k * params.filter_pitch + params.taps_c * 2,
                    params.filter_pitch - params.taps_c * 2, std::byte{0x3f});
    }
    const auto reads_on = faulty<ConvLoader::Chunks, ConvFault::ReadsBehindK>();
    ASSERT_EQ(run.run(0, &reads_on).fault.value_or(""), "");
    EXPECT_NE(run.compare().find("relative error"), std::string::npos) << run.compare();
    const auto sound = faulty<ConvLoader::Chunks, ConvFault::None>();
    ASSERT_EQ(run.run(0, &sound).fault.value_or(""), "");
    EXPECT_EQ(run.compare(), "");  // its lanes past K read zeros
}

TEST(FourWaveConvFaults, AFilterPaddedByNaN) {
    ConvRun run(padded(16));
    const auto& params = run.plan().params;
    std::fill_n(run.filter().begin() + params.taps_c * 2, 2, std::byte{0xff});
    ASSERT_EQ(run.run(0).fault.value_or(""), "");
    EXPECT_NE(run.compare().find("nan, wanted"), std::string::npos) << run.compare();
}

TEST(FourWaveConvFaults, AnOperandWithTheLanesOfItsNeighbour) {
    expect_wrong(padded(64), faulty<ConvLoader::Uniform, ConvFault::WrongLaneMapping>());
    expect_wrong(padded(128, Element::F8E4M3),
                 faulty<ConvLoader::Uniform, ConvFault::WrongLaneMapping, Element::F8E4M3>());
}

TEST(FourWaveConvFaults, ASwizzleOnOneSideOnly) {
    expect_wrong(padded(64), faulty<ConvLoader::Uniform, ConvFault::SwizzleMismatch>());
}

/// The kernel of 96 columns: its halves of B are no whole loads of four waves.
template <ConvFault kFault>
host_model::ModelKernel narrow() {
    using Config = FourWaveConvConfig<Element::BF16, 256, 96, 32, ConvLoader::Uniform, kFault>;
    return {"narrow", sizeof(FourWaveConvParams), Config::kThreads,
            [](const void* params) { FourWaveConv<Config>::run(*static_cast<const FourWaveConvParams*>(params)); }};
}

TEST(FourWaveConvFaults, AWaveThatSkipsALoadWithoutRowsCountsWrongly) {
    ConvCase conv = padded(64);
    conv.problem.filter.k = 96;
    conv.overrides.tile = ConvTile{256, 96, 32};
    expect_stopped(conv, narrow<ConvFault::SkipsIdleLoads>(), "waited for it");
    const auto sound = narrow<ConvFault::None>();
    EXPECT_EQ(ConvRun(conv).run(0, &sound).fault.value_or(""), "");
}

/// Any tile: each spreads its loads, reads and addresses over its products in another way.
template <uint32_t kBM, uint32_t kBN, uint32_t kBK, ConvFault kFault, uint32_t kWaves = 4>
host_model::ModelKernel tiled() {
    using Config = FourWaveConvConfig<Element::BF16, kBM, kBN, kBK, ConvLoader::Uniform, kFault, kWaves>;
    return {"tiled", sizeof(FourWaveConvParams), Config::kThreads,
            [](const void* params) { FourWaveConv<Config>::run(*static_cast<const FourWaveConvParams*>(params)); }};
}
template <uint32_t kBM, uint32_t kBN, uint32_t kBK>
void expect_found() {
    ConvCase conv = padded(64);
    conv.overrides.tile = ConvTile{kBM, kBN, kBK};
    expect_stopped(conv, tiled<kBM, kBN, kBK, ConvFault::WaitsForOneLess>(), "waited for it");
    expect_wrong(conv, tiled<kBM, kBN, kBK, ConvFault::SwizzleMismatch>());
    ConvRun run(conv);
    EXPECT_EQ(run.run(0).fault.value_or(""), "");
    EXPECT_EQ(run.compare(), "");
}

TEST(FourWaveConvFaults, AreFoundInEveryLargeTile) {
    expect_found<128, 192, 64>();
    expect_found<256, 192, 64>();
    expect_found<256, 256, 64>();
}
TEST(FourWaveConvFaults, AreFoundInTheTileOfFewFilters) { expect_found<256, 32, 32>(); }

/// The variant whose cycles docs/kernels-gfx950.md compares with four waves: it computes the same, norm included.
TEST(FourWaveConvFaults, AreFoundInAWorkgroupOfEightWaves) {
    ConvCase conv = padded(64);
    conv.problem.norm = Norm::Beside;
    conv.overrides.tile = ConvTile{256, 192, 64};
    expect_stopped(conv, tiled<256, 192, 64, ConvFault::WaitsForOneLess, 8>(), "waited for it");
    const auto sound = tiled<256, 192, 64, ConvFault::None, 8>();
    ConvRun run(conv);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        EXPECT_EQ(run.run(seed, &sound).fault.value_or(""), "") << "seed " << seed;
        EXPECT_EQ(run.compare(), "") << "seed " << seed;
    }
}

TEST(FourWaveConvFaults, ANormOfTheWrongValuesOrChannels) {
    ConvCase conv = padded(64);
    conv.problem.norm = Norm::Beside;
    const auto sound = faulty<ConvLoader::Uniform, ConvFault::None>();
    ConvRun run(conv);
    EXPECT_EQ(run.run(0, &sound).fault.value_or(""), "");
    EXPECT_EQ(run.compare(), "");
    expect_wrong(conv, faulty<ConvLoader::Uniform, ConvFault::NormOfOneWave>());
    expect_wrong(conv, faulty<ConvLoader::Uniform, ConvFault::NormOfNeighbour>());
}

TEST(FourWaveConvFaults, ANormThatReadsTheOtherWavesSquaresTooEarly) {
    ConvCase conv = padded(64);
    conv.problem.norm = Norm::Beside;
    expect_stopped(conv, faulty<ConvLoader::Uniform, ConvFault::NormReadsEarly>(), "waited for it");
}

TEST(FourWaveConvFaults, ColumnsThatDoNotPairUp) {
    expect_wrong(padded(64), faulty<ConvLoader::Uniform, ConvFault::UnpairedColumns>());
    ConvCase conv = padded(64);
    conv.problem.filter.k = 96;
    conv.overrides.tile = ConvTile{256, 96, 32};
    expect_wrong(conv, narrow<ConvFault::UnpairedColumns>());
}

/// The tile of few channels, 48 of them going in: of a tap's two k blocks the second is half zeros.
template <ConvFault kFault>
host_model::ModelKernel padding() {
    using Config = FourWaveConvConfig<Element::BF16, 256, 32, 32, ConvLoader::Padded, kFault>;
    return {"padding", sizeof(FourWaveConvParams), Config::kThreads,
            [](const void* params) { FourWaveConv<Config>::run(*static_cast<const FourWaveConvParams*>(params)); }};
}
ConvCase narrow_pixels() {
    ConvCase conv = padded(48);
    conv.problem.filter.k = 24;
    conv.overrides = {.tile = ConvTile{256, 32, 32}, .path = ConvPath::Padded};
    return conv;
}

TEST(FourWaveConvFaults, ATapThatEndsWithItsLastWholeBlock) {
    expect_wrong(narrow_pixels(), padding<ConvFault::TapEndsWhole>());
    expect_wrong(narrow_pixels(), padding<ConvFault::HaloInElements>());
    const auto sound = padding<ConvFault::None>();
    ConvRun run(narrow_pixels());
    EXPECT_EQ(run.run(0, &sound).fault.value_or(""), "");
    EXPECT_EQ(run.compare(), "");
}

TEST(FourWaveConvFaults, LanesPastAPixelThatReadTheNextOne) {
    expect_stopped(narrow_pixels(), padding<ConvFault::ReadsNextPixel>(), "foreign memory");
}

TEST(FourWaveConvFaults, ParitiesOfADoubledFrameThatAreNotTold) {
    ConvCase conv = padded(64);
    conv.problem.upsample = true;
    expect_wrong(conv, faulty<ConvLoader::Uniform, ConvFault::ParityNotShifted>());
    expect_wrong(conv, faulty<ConvLoader::Uniform, ConvFault::ParityFilterShared>());
    conv = padded(16);
    conv.problem.upsample = true;
    expect_wrong(conv, faulty<ConvLoader::Chunks, ConvFault::ParityNotShifted>());
}

TEST(FourWaveConvFaults, PartsOfKThatAreNotApart) {
    ConvCase conv = padded(64);
    conv.problem.bias = false;
    conv.problem.output = conv.problem.normed = Element::F32;
    conv.overrides.splits = 3;
    expect_wrong(conv, faulty<ConvLoader::Uniform, ConvFault::PartsBeginTogether>());
    expect_wrong(conv, faulty<ConvLoader::Uniform, ConvFault::PartsShareOutput>());
}

TEST(FourWaveConvFaults, ImagesOfAFrameThatAllReadTheFirst) {
    ConvCase conv = padded(64);
    set_time(conv.problem, 1, 3);
    conv.input_frames = 3;
    conv.dense = true;
    expect_wrong(conv, faulty<ConvLoader::Uniform, ConvFault::ImagesShareTheFirst>());
}

TEST(FourWaveConvFaults, ScalesOfTheWrongValuesOrChannels) {
    ConvCase conv = padded(128, Element::F8E4M3);
    conv.problem.channel_scales = true;
    expect_wrong(conv, faulty<ConvLoader::Uniform, ConvFault::ScalesAfterBias, Element::F8E4M3>());
    expect_wrong(conv, faulty<ConvLoader::Uniform, ConvFault::ScalesOfNeighbour, Element::F8E4M3>());
}

TEST(FourWaveConvFaults, StraightReadsOfLdsMeetInItsBanks) {
    const auto straight = faulty<ConvLoader::Uniform, ConvFault::SwizzleMismatch>();
    EXPECT_GT(ConvRun(padded(64)).run(0, &straight).lds_read_conflicts, 0u);
}

}  // namespace
}  // namespace kinetograph::gfx950
