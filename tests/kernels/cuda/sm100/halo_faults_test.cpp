#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm100/halo_configs.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_kernel.hpp>

#include "halo_conv.hpp"

/// Faults built into the kernel: the host model names them, or the results are wrong, under every schedule.
namespace kinetograph::sm100 {
namespace {

constexpr HaloConfig kTile = halo_config(Element::BF16, 96, 2, 3, 32);
constexpr HaloConfig kUpsampling = halo_config(Element::BF16, 96, 2, 2, 32);
constexpr HaloConfig kShared = halo_config(Element::BF16, 192, 1, 3, 64, HaloSharing::Filters);
/// Four turns of the rings of halos are soon round.
constexpr HaloConfig kWide = halo_config(Element::BF16, 192, 1, 1, 64, HaloSharing::Pixels);

constexpr HaloConfig kNarrowNorm = halo_config(Element::BF16, 192, 1, 3, 32);
constexpr HaloConfig kHead = halo_config(Element::BF16, 16, 2, 3, 32);
constexpr HaloConfig kHalf = halo_config(Element::F16, 96, 2, 3, 32);

/// Three tiles for one pair, so that rings go round and sums change their columns.
ConvCase long_case() {
    ConvCase conv{sm80::causal3d(3, 20, 9, 64, 96, 3, 3)};
    conv.residual = true;
    conv.epilogue.norm = Norm::Beside;
    return conv;
}
ConvCase upsampled_case() {
    ConvCase conv{sm80::same2d(1, 9, 9, 32, 40, 3, 3)};
    conv.shape.upsample = true;
    return conv;
}
/// Four tiles for one cluster.
ConvCase wide_case() {
    ConvCase conv{sm80::same2d(2, 20, 9, 128, 200, 1, 1)};
    conv.epilogue.norm = Norm::Beside;
    return conv;
}

/// What a run says, or what is wrong with its results; "" if nothing is.
template <HaloFault kFault, HaloConfig kConfig = kTile>
std::string outcome(const ConvCase& conv, uint64_t seed) {
    ConvNumbers numbers(conv);
    const ModelConv model = halo_model(numbers, kConfig, numbers.addresses(), kConfig.cluster);
    std::string wrong = model.run<HaloKernel<kConfig, kFault>, HaloParams>(seed);
    return wrong.empty() ? numbers.judge() : wrong;
}

template <HaloFault kFault>
void expect_caught() {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) EXPECT_NE(outcome<kFault>(long_case(), seed), "") << seed;
}

/// Faults that break no rule of the chip, or break it at once: every schedule shows them, and the same tile without one
/// agrees.
template <HaloFault kFault, HaloConfig kConfig>
void expect_caught_in(const ConvCase& conv) {
    EXPECT_EQ((outcome<HaloFault::None, kConfig>(conv, 0)), "");
    for (uint64_t seed = 0; seed < kSchedules; ++seed) EXPECT_NE((outcome<kFault, kConfig>(conv, seed)), "") << seed;
}

TEST(HaloFaults, NoneOfThemIsNoFault) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) EXPECT_EQ(outcome<HaloFault::None>(long_case(), seed), "");
    EXPECT_EQ((outcome<HaloFault::None, kUpsampling>(upsampled_case(), 0)), "");
    for (uint64_t seed = 0; seed < kSchedules; ++seed)
        EXPECT_EQ((outcome<HaloFault::None, kWide>(wide_case(), seed)), "");
}
TEST(HaloFaults, BarriersThatAreNotPublishedAreCaught) { expect_caught<HaloFault::NoBarrierInitFence>(); }
TEST(HaloFaults, AMissingWaitForTheHaloIsCaught) { expect_caught<HaloFault::NoInputWait>(); }
TEST(HaloFaults, AMissingWaitForTheFiltersIsCaught) { expect_caught<HaloFault::NoFilterWait>(); }
TEST(HaloFaults, BytesOfOneCtaAtAPairsBarrierAreCaught) { expect_caught<HaloFault::ExpectsOneCta>(); }
TEST(HaloFaults, AHaloThatIsReleasedWhileItIsReadIsCaught) { expect_caught<HaloFault::ReleasesHaloEarly>(); }
/// A race between pairs: some schedule shows it.
TEST(HaloFaults, FiltersThatAreReplacedBeforeBothPairsHaveReadThemAreCaught) {
    const ConvCase conv{sm80::same2d(1, 20, 40, 128, 192, 3, 3)};
    uint64_t caught = 0;
    for (uint64_t seed = 0; seed < 12 && caught == 0; ++seed)
        caught += outcome<HaloFault::OneReaderOfFilters, kShared>(conv, seed).empty() ? 0 : 1;
    EXPECT_EQ(caught, 1U);
}
TEST(HaloFaults, OneHalfOfTheFiltersFromBothPairsIsCaught) {
    expect_caught_in<HaloFault::FirstHalfOfFilters, kShared>(ConvCase{sm80::same2d(1, 9, 20, 64, 192, 3, 3)});
}
TEST(HaloFaults, ARowShiftThatIsOffByOneIsCaught) { expect_caught<HaloFault::RowShiftOffByOne>(); }
TEST(HaloFaults, AWrongPitchIsCaught) { expect_caught<HaloFault::WrongPitch>(); }
TEST(HaloFaults, OneHaloForAllSubPixelsIsCaught) {
    EXPECT_NE((outcome<HaloFault::WrongParity, kUpsampling>(upsampled_case(), 0)), "");
}
TEST(HaloFaults, FiltersOfOneSubPixelForAllAreCaught) {
    expect_caught_in<HaloFault::FirstParityFilters, kUpsampling>(upsampled_case());
}

/// 16 channels, which TMA completes with zeros to a block of 32.
const ConvCase kSixteenChannels{sm80::same2d(1, 9, 9, 16, 96, 3, 3)};
TEST(HaloFaults, BytesOfHalfABlockOfChannelsAreCaught) {
    expect_caught_in<HaloFault::ExpectsHalfABlock, kTile>(kSixteenChannels);
}
TEST(HaloFaults, RowsOfHalfABlockOfChannelsAreCaught) {
    expect_caught_in<HaloFault::RowsOfHalfABlock, kTile>(kSixteenChannels);
}

const ConvCase kHeadCase{sm80::same2d(1, 19, 9, 32, 3, 3, 3)};
TEST(HaloFaults, AHeadsBlocksInOnePlaceAreCaught) { expect_caught_in<HaloFault::PixelsOfFirstBlock, kHead>(kHeadCase); }
TEST(HaloFaults, AHeadsBiasOfOneChannelIsCaught) { expect_caught_in<HaloFault::BiasOfFirstChannel, kHead>(kHeadCase); }

ConvCase half_case() {
    ConvCase conv{sm80::causal3d(3, 9, 9, 32, 96, 3, 3)};
    conv.shape.input = conv.shape.weight = Element::F16;
    return conv;
}
TEST(HaloFaults, Fp16ThatIsTakenForBf16IsCaught) { expect_caught_in<HaloFault::Bfloat16Products, kHalf>(half_case()); }
TEST(HaloFaults, FiltersOfTapsThatMeetNoFrameAreCaught) {
    expect_caught_in<HaloFault::FirstTemporalTaps, kHalf>(half_case());
}
TEST(HaloFaults, OneFrameUnderAllTapsInTimeIsCaught) {
    expect_caught_in<HaloFault::OneFrameOfInput, kHalf>(half_case());
}

TEST(HaloFaults, SumsThatAreOverwrittenTooEarlyAreCaught) { expect_caught<HaloFault::NoDrainedWait>(); }
TEST(HaloFaults, SumsThatAreReadTooEarlyAreCaught) { expect_caught<HaloFault::NoAccumulatedWait>(); }
TEST(HaloFaults, AResidualThatIsReadTooEarlyIsCaught) { expect_caught<HaloFault::NoSourceWait>(); }
TEST(HaloFaults, AStagingSlotThatIsReusedTooEarlyIsCaught) { expect_caught<HaloFault::NoStagingWait>(); }
TEST(HaloFaults, AMissingProxyFenceIsCaught) { expect_caught<HaloFault::NoStagingFence>(); }
TEST(HaloFaults, ANormOverTheFirstPieceIsCaught) { expect_caught<HaloFault::NormOfFirstPiece>(); }
TEST(HaloFaults, ANormWithTheFactorsOfTheFirstPieceIsCaught) { expect_caught<HaloFault::GammaOfFirstPiece>(); }

ConvCase norm_case() {
    ConvCase conv{sm80::same2d(1, 9, 9, 32, 192, 3, 3)};
    conv.epilogue.norm = Norm::Instead;
    return conv;
}
TEST(HaloFaults, ANormOf192ChannelsOverTheFirstPieceIsCaught) {
    expect_caught_in<HaloFault::NormOfFirstPiece, kNarrowNorm>(norm_case());
}
TEST(HaloFaults, ANormOf192ChannelsWithTheFactorsOfTheFirstPieceIsCaught) {
    expect_caught_in<HaloFault::GammaOfFirstPiece, kNarrowNorm>(norm_case());
}

template <HaloFault kFault>
void expect_caught_in_wide_tiles() {
    for (uint64_t seed = 0; seed < kSchedules; ++seed)
        EXPECT_NE((outcome<kFault, kWide>(wide_case(), seed)), "") << seed;
}
TEST(HaloFaults, ANormOverOnePairsChannelsIsCaught) { expect_caught_in_wide_tiles<HaloFault::NormOfOnePair>(); }
TEST(HaloFaults, SquaresThatAreReadTooEarlyAreCaught) { expect_caught_in_wide_tiles<HaloFault::NoSquaresWait>(); }
TEST(HaloFaults, SquaresThatAreNotReleasedToTheClusterAreCaught) {
    expect_caught_in_wide_tiles<HaloFault::NoSquaresRelease>();
}
/// Races between pairs: some schedule shows them.
template <HaloFault kFault>
uint64_t schedules_that_show_it() {
    uint64_t caught = 0;
    for (uint64_t seed = 0; seed < 12 && caught == 0; ++seed)
        caught += outcome<kFault, kWide>(wide_case(), seed).empty() ? 0 : 1;
    return caught;
}
TEST(HaloFaults, HalosThatAreReplacedBeforeBothPairsHaveReadThemAreCaught) {
    EXPECT_EQ(schedules_that_show_it<HaloFault::OneReaderOfHalos>(), 1U);
}
TEST(HaloFaults, SquaresThatAreReplacedBeforeTheyAreReadAreCaught) {
    EXPECT_EQ(schedules_that_show_it<HaloFault::OneSlotOfSquares>(), 1U);
}

}  // namespace
}  // namespace kinetograph::sm100
