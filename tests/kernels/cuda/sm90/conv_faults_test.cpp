#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm90/conv_configs.hpp>

#include "model_conv.hpp"

/// Mistakes built into the kernel: the host model names them, or the results are wrong, under every schedule.
namespace kinetograph::sm90 {
namespace {

constexpr ConvConfig kInTurn = tile_config(Element::BF16, 96, 4, 1, 3, 32);
constexpr ConvConfig kOverlap = tile_config(Element::BF16, 96, 2, 1, 3, 32, Epilogues::Overlap);

/// Three tiles for one CTA, so that both warpgroups take turns and staging buffers go from tile to tile.
ConvCase long_case() {
    ConvCase conv{sm80::causal3d(3, 20, 9, 64, 96, 3, 3)};
    conv.residual = true;
    conv.epilogue.norm = Norm::Beside;
    return conv;
}

/// What a run says, or what is wrong with its results; "" if nothing is.
template <ConvFault kFault, ConvConfig kTile = kInTurn>
std::string outcome(uint64_t seed) {
    ConvNumbers numbers(long_case());
    const ModelConv model(numbers, kTile, 1);
    std::string wrong = model.run<ConvKernel<kTile, kFault>, ConvParams>(seed);
    return wrong.empty() ? numbers.judge() : wrong;
}

template <ConvFault kFault, ConvConfig kTile = kInTurn>
void expect_caught() {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) EXPECT_NE((outcome<kFault, kTile>(seed)), "") << "seed " << seed;
}

TEST(Sm90ConvFaults, NoneOfThemIsNoFault) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) EXPECT_EQ(outcome<ConvFault::None>(seed), "");
}
TEST(Sm90ConvFaults, BarriersThatAreNotPublishedAreCaught) { expect_caught<ConvFault::NoBarrierInitFence>(); }
TEST(Sm90ConvFaults, AProducerThatStartsInTheWrongPhaseIsCaught) { expect_caught<ConvFault::ProducerStartsAtPhase0>(); }
TEST(Sm90ConvFaults, AMissingWaitForTheHaloIsCaught) { expect_caught<ConvFault::NoInputWait>(); }
TEST(Sm90ConvFaults, AMissingWaitForTheFiltersIsCaught) { expect_caught<ConvFault::NoFilterWait>(); }
TEST(Sm90ConvFaults, AWrongPhaseOfTheFiltersIsCaught) { expect_caught<ConvFault::WrongFilterPhase>(); }
TEST(Sm90ConvFaults, AStageThatIsReleasedWhileItIsReadIsCaught) { expect_caught<ConvFault::ReleasesEarly>(); }
TEST(Sm90ConvFaults, AWrongTransactionCountIsCaught) { expect_caught<ConvFault::ExpectsTooFewBytes>(); }
TEST(Sm90ConvFaults, ARowShiftThatIsOffByOneIsCaught) { expect_caught<ConvFault::RowShiftOffByOne>(); }
TEST(Sm90ConvFaults, AWrongPitchIsCaught) { expect_caught<ConvFault::WrongPitch>(); }
TEST(Sm90ConvFaults, WarpgroupsThatDoNotTakeTurnsAreCaught) { expect_caught<ConvFault::NoOrder>(); }
TEST(Sm90ConvFaults, AccumulatorsThatAreReadTooEarlyAreCaught) { expect_caught<ConvFault::NoFinalWait>(); }
TEST(Sm90ConvFaults, StagingBuffersThatWereNotHandedOverAreCaught) { expect_caught<ConvFault::NoStagingWait>(); }
TEST(Sm90ConvFaults, AMissingProxyFenceIsCaught) { expect_caught<ConvFault::NoStagingFence>(); }
TEST(Sm90ConvFaults, AMissingBarrierBeforeTheStoreIsCaught) { expect_caught<ConvFault::NoStagingBarrier>(); }
TEST(Sm90ConvFaults, StoresThatStillReadTheirBufferAreCaught) { expect_caught<ConvFault::NoStoreWait>(); }
TEST(Sm90ConvFaults, AreCaughtWhereEpiloguesOverlap) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) EXPECT_EQ((outcome<ConvFault::None, kOverlap>(seed)), "");
    expect_caught<ConvFault::NoStagingWait, kOverlap>();
    expect_caught<ConvFault::NoStagingFence, kOverlap>();
    expect_caught<ConvFault::NoStagingBarrier, kOverlap>();
    expect_caught<ConvFault::NoStoreWait, kOverlap>();
    expect_caught<ConvFault::NoOrder, kOverlap>();
}

}  // namespace
}  // namespace kinetograph::sm90
