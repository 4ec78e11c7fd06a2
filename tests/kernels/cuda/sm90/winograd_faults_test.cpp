#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm90/winograd_configs.hpp>

#include "model_conv.hpp"

/// Mistakes built into the kernel: the host model names them, or the results are wrong, under every schedule.
namespace kinetograph::sm90 {
namespace {

constexpr WinogradConfig kTogether = winograd_config(Element::BF16, 96, 2, 1, Consumers::Together, 1, 4);
constexpr WinogradConfig kInTurn = winograd_config(Element::BF16, 96, 2, 1, Consumers::InTurn, 3, 4, 6);

/// Several tiles for one CTA, the last ones a frame alone: rings wrap, and staging buffers go from tile to tile.
ConvCase long_case() {
    ConvCase conv{sm80::causal3d(5, 12, 9, 64, 96, 3, 3)};
    conv.residual = true;
    conv.epilogue.norm = Norm::Beside;
    conv.winograd = sm80::Winograd::Time;
    return conv;
}

/// What a run says, or what is wrong with its results; "" if nothing is.
template <WinogradConfig kTile, ConvFault kFault>
std::string outcome(uint64_t seed) {
    ConvNumbers numbers(long_case());
    const ModelConv model(numbers, kTile, 1);
    std::string wrong = model.run<WinogradKernel<kTile, kFault>, WinogradParams>(seed);
    return wrong.empty() ? numbers.judge() : wrong;
}

template <ConvFault kFault>
void expect_caught() {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        EXPECT_NE((outcome<kTogether, kFault>(seed)), "") << "together, seed " << seed;
        EXPECT_NE((outcome<kInTurn, kFault>(seed)), "") << "in turn, seed " << seed;
    }
}

TEST(WinogradFaults, NoneOfThemIsNoFault) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        EXPECT_EQ((outcome<kTogether, ConvFault::None>(seed)), "");
        EXPECT_EQ((outcome<kInTurn, ConvFault::None>(seed)), "");
    }
}
TEST(WinogradFaults, WarpgroupsThatDoNotTakeTurnsAreCaught) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) EXPECT_NE((outcome<kInTurn, ConvFault::NoOrder>(seed)), "");
}
TEST(WinogradFaults, FiltersThatAreReleasedInOneCtaAloneAreCaught) { expect_caught<ConvFault::ReleasesOwnStage>(); }
TEST(WinogradFaults, FiltersThatEveryCtaLoadsForAllAreCaught) { expect_caught<ConvFault::EveryCtaLoads>(); }
TEST(WinogradFaults, BarriersThatAreNotPublishedAreCaught) { expect_caught<ConvFault::NoBarrierInitFence>(); }
TEST(WinogradFaults, AProducerThatStartsInTheWrongPhaseIsCaught) { expect_caught<ConvFault::ProducerStartsAtPhase0>(); }
TEST(WinogradFaults, AMissingWaitForTheFramesIsCaught) { expect_caught<ConvFault::NoInputWait>(); }
TEST(WinogradFaults, AMissingWaitForTheTransformIsCaught) { expect_caught<ConvFault::NoOperandWait>(); }
TEST(WinogradFaults, AWrongPhaseOfTheOperandsIsCaught) { expect_caught<ConvFault::WrongOperandPhase>(); }
TEST(WinogradFaults, AMissingProxyFenceAfterTheTransformIsCaught) { expect_caught<ConvFault::NoTransformFence>(); }
TEST(WinogradFaults, AWrongSignInTheTransformIsCaught) { expect_caught<ConvFault::WrongTransformSign>(); }
TEST(WinogradFaults, AnOperandThatIsReleasedInPlaceOfASpentFrameIsCaught) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed)
        EXPECT_NE((outcome<kTogether, ConvFault::ReleasesOperand>(seed)), "");
}
TEST(WinogradFaults, AMissingWaitForTheFiltersIsCaught) { expect_caught<ConvFault::NoFilterWait>(); }
TEST(WinogradFaults, AWrongPhaseOfTheFiltersIsCaught) { expect_caught<ConvFault::WrongFilterPhase>(); }
TEST(WinogradFaults, AStageThatIsReleasedWhileItIsReadIsCaught) { expect_caught<ConvFault::ReleasesEarly>(); }
TEST(WinogradFaults, AWrongTransactionCountIsCaught) { expect_caught<ConvFault::ExpectsTooFewBytes>(); }
TEST(WinogradFaults, ARowShiftThatIsOffByOneIsCaught) { expect_caught<ConvFault::RowShiftOffByOne>(); }
TEST(WinogradFaults, AWrongPitchIsCaught) { expect_caught<ConvFault::WrongPitch>(); }
TEST(WinogradFaults, AccumulatorsThatAreReadTooEarlyAreCaught) { expect_caught<ConvFault::NoFinalWait>(); }
TEST(WinogradFaults, StagingBuffersThatWereNotHandedOverAreCaught) { expect_caught<ConvFault::NoStagingWait>(); }
TEST(WinogradFaults, ResultsThatAreFinishedBeforeTheyAreStagedAreCaught) {
    expect_caught<ConvFault::NoStagingBarrier>();
}
TEST(WinogradFaults, AMissingProxyFenceBeforeTheStoreIsCaught) { expect_caught<ConvFault::NoStagingFence>(); }
TEST(WinogradFaults, StoresThatStillReadTheirBufferAreCaught) { expect_caught<ConvFault::NoStoreWait>(); }

}  // namespace
}  // namespace kinetograph::sm90
