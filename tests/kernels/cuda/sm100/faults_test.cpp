#include <algorithm>
#include <kinetograph/kernels/cuda/sm100/conv2d_configs.hpp>

#include "model_conv.hpp"

/// Faults built into the kernel, each of which the host model must find and name.
namespace kinetograph::sm100 {
namespace {

/// Which schedules must find a fault: every one, or, for races that depend on timing, at least one.
enum class Luck : uint8_t { Always, Sometimes };

/// The model stops the run, always with a message that contains one of `sentences`: the schedule decides which side of
/// a broken hand-over is reported.
template <Conv2dConfig kConfig, Fault kFault>
void expect_caught(ConvCase conv, const std::vector<std::string>& sentences, Luck luck = Luck::Always) {
    conv.shape.input = conv.shape.weight = kConfig.element;
    conv.source = kConfig.source != Source::None;
    ConvNumbers numbers(conv);
    Guarded output(numbers.output_bytes());
    const Conv2dLaunch launch = launch_of<kConfig>(numbers, output);
    const uint64_t schedules = luck == Luck::Always ? kSchedules : 60;
    uint64_t caught = 0;
    for (uint64_t seed = 0; seed < schedules && (luck == Luck::Always || caught == 0); ++seed) {
        const std::string fault = run_once<kConfig, kFault>(
            launch, Conv2dEpilogueArguments<NoEpilogue>{.bias = numbers.bias.data(), .beta = 1}, seed);
        if (fault.empty()) continue;
        ++caught;
        EXPECT_TRUE(std::any_of(sentences.begin(), sentences.end(),
                                [&](const std::string& sentence) { return fault.find(sentence) != std::string::npos; }))
            << "seed " << seed << ": " << fault.substr(0, 2000);
    }
    EXPECT_GE(caught, luck == Luck::Always ? schedules : 1);
}

constexpr Conv2dConfig kOne = one_sm_128b({.filters = 64}), kPair = two_sm_128b({.filters = 64});
constexpr Conv2dConfig kPairs = two_sm_128b({.filters = 64, .cluster = {4, 1}});
constexpr Conv2dConfig kSquare = one_sm_128b({.filters = 64, .cluster = {2, 2}});
constexpr Conv2dConfig kResidual = one_sm_128b({.filters = 64, .source = Source::Residual});
const ConvCase kConv{same2d(2, 9, 15, 64, 72, 3, 3)};   // 3 x 2 tiles, 9 k blocks
const ConvCase kLong{same2d(2, 9, 15, 128, 64, 3, 3)};  // 18 k blocks: the ring wraps around

TEST(Conv2dFaults, AMissingFenceAfterTheBarriersInitialisationIsCaught) {
    expect_caught<kOne, Fault::NoBarrierInitFence>(kConv, {"was not followed by fence_barrier_init"});
}
TEST(Conv2dFaults, AMissingClusterSyncIsCaught) {
    expect_caught<kPair, Fault::NoClusterSync>(
        kConv, {"(fence_barrier_init and a cluster barrier)", "there is no initialised barrier at"}, Luck::Sometimes);
}
TEST(Conv2dFaults, AnEmptyCountThatIsTooHighIsADeadlockThatSaysWhoWaits) {
    expect_caught<kOne, Fault::EmptyCountTooHigh>(kLong, {"misses 1 of 2 arrivals"});
}
TEST(Conv2dFaults, AnEmptyCountThatIsTooLowIsCaughtAtTheOverwrittenOperand) {
    expect_caught<kSquare, Fault::EmptyCountTooLow>(
        kLong, {"read by tcgen05.mma at conv2d_mma.hpp", "written by cp.async.bulk.tensor im2col load multicast",
                "written by cp.async.bulk.tensor load multicast"});
}
TEST(Conv2dFaults, TooFewExpectedBytesAreCaught) {
    expect_caught<kOne, Fault::ExpectsOneTile>(
        kConv, {"more bytes arrive than are expected", "written by cp.async.bulk.tensor load at conv2d_load.hpp"});
}
TEST(Conv2dFaults, BytesOfTheWholeClusterAtAPairsBarrierAreADeadlock) {
    expect_caught<kPairs, Fault::ExpectsWholeCluster>(kConv, {"40960 of 81920 expected bytes"});
}
TEST(Conv2dFaults, AProducerThatStartsWithTheWrongPhaseIsADeadlock) {
    expect_caught<kOne, Fault::ProducerStartsAtPhase0>(kConv, {"mbarrier.try_wait.parity at conv2d_load.hpp"});
}
TEST(Conv2dFaults, AConsumerThatStartsWithTheWrongPhaseIsCaught) {
    expect_caught<kOne, Fault::ConsumerStartsAtPhase1>(
        kConv, {"tcgen05.mma at conv2d_mma.hpp", "mbarrier.try_wait.parity at conv2d_mma.hpp"});
}
TEST(Conv2dFaults, AMissingWaitForTheOperandsIsCaught) {
    expect_caught<kOne, Fault::NoFullWait>(
        kConv, {"written by cp.async.bulk.tensor im2col load", "which neither TMA nor store_shared has written"});
}
TEST(Conv2dFaults, AMissingWaitForADrainedAccumulatorIsCaught) {
    expect_caught<kOne, Fault::NoDrainedWait>(
        kConv, {"tcgen05.mma at conv2d_mma.hpp", "although no thread has waited for phase"});
}
TEST(Conv2dFaults, AStageThatIsReleasedBeforeItsProductsAreOverIsCaught) {
    expect_caught<kOne, Fault::ReleasesWithoutCommit>(kLong, {"read by tcgen05.mma at conv2d_mma.hpp"});
}
TEST(Conv2dFaults, SwappedStridesAreCaught) {
    expect_caught<kOne, Fault::SwappedStrides>(kConv, {"group stride (SBO) 16 makes groups of 8 rows"});
}
TEST(Conv2dFaults, AWrongSwizzleCodeIsCaught) {
    expect_caught<kOne, Fault::WrongSwizzleCode>(kConv, {"layout code 1 is none of"});
}
TEST(Conv2dFaults, AMissingWaitForTheAccumulatorIsCaught) {
    expect_caught<kOne, Fault::NoAccumulatedWait>(
        kConv, {"tcgen05.ld at conv2d_epilogue.hpp", "tcgen05.mma at conv2d_mma.hpp"});
}
TEST(Conv2dFaults, AMissingFenceAfterTheWaitForTheAccumulatorIsCaught) {
    expect_caught<kOne, Fault::NoFenceAfterSync>(kConv, {"without tcgen05.fence::after_thread_sync"});
}
TEST(Conv2dFaults, AMissingWaitForTheLoadOfTensorMemoryIsCaught) {
    expect_caught<kOne, Fault::NoWaitLoad>(kConv, {"has not been waited for (tcgen05.wait::ld)", "still reads"});
}
TEST(Conv2dFaults, AMissingFenceBeforeTheAccumulatorIsHandedBackIsCaught) {
    expect_caught<kOne, Fault::NoFenceBeforeSync>(kConv, {"without its tcgen05.fence::before_thread_sync"});
}
TEST(Conv2dFaults, AnotherWarpsLanesAreCaught) {
    expect_caught<kOne, Fault::WrongLaneQuarter>(kConv, {"reaches lanes"});
}
TEST(Conv2dFaults, AMissingProxyFenceBeforeTheStoreIsCaught) {
    expect_caught<kOne, Fault::NoStagingFence>(kConv, {"has written without a fence.proxy.async since"});
}
TEST(Conv2dFaults, AStagingTileThatIsReusedTooEarlyIsCaught) {
    expect_caught<kOne, Fault::NoStagingWait>(kConv, {"read by cp.async.bulk.tensor store at conv2d_epilogue.hpp"});
}
TEST(Conv2dFaults, AMissingWaitForTheSourceIsCaught) {
    expect_caught<kResidual, Fault::NoSourceWait>(
        kConv, {"written by cp.async.bulk.tensor load at conv2d_epilogue_load.hpp", "conv2d_epilogue"});
}
TEST(Conv2dFaults, SourceLoadsAheadOfThePrologueAreCaught) {
    expect_caught<kResidual, Fault::SourceAheadOfPrologue>(kConv, {"source loads after the main loads' prologue"});
}
TEST(Conv2dFaults, AnAnswerSlotReleasedWithoutAProxyFenceIsCaught) {
    expect_caught<kOne, Fault::NoAnswerFence>(kConv, {"without fence.proxy.async since"});
}
TEST(Conv2dFaults, ASchedulerThatAsksAfterTheEndIsCaught) {
    expect_caught<kOne, Fault::AsksAfterTheEnd>(kConv, {"has seen that the grid is exhausted"});
}
TEST(Conv2dFaults, AMissingDeallocationIsCaught) {
    expect_caught<kOne, Fault::NoDeallocation>(kConv, {"the CTA exits without tcgen05.dealloc of 128 columns"});
}
TEST(Conv2dFaults, ADeallocationThatDoesNotWaitForTheEpilogueIsCaught) {
    expect_caught<kOne, Fault::DeallocatesUnasked>(
        kConv, {"tcgen05.dealloc at conv2d_fprop.hpp", "are not inside one allocation"});
}
TEST(Conv2dFaults, ALoadWarpThatLeavesBeforeItsStagesAreReleasedIsCaught) {
    expect_caught<kSquare, Fault::NoDrain>(kConv, {"of a CTA that has exited"}, Luck::Sometimes);
}

/// Faults that break no rule of the chip: the results are wrong, and right without them.
template <Conv2dConfig kConfig, Fault kFault>
void expect_wrong(ConvCase conv) {
    conv.shape.input = kConfig.element;
    conv.shape.weight = kConfig.filter_element;
    conv.output = kConfig.output;
    conv.source_value = kConfig.source_value;
    conv.source = kConfig.source != Source::None;
    conv.source_is_sum = kConfig.source == Source::Accumulate;
    ConvNumbers numbers(conv);
    Guarded output(numbers.output_bytes());
    const Conv2dLaunch launch = launch_of<kConfig>(numbers, output);
    const Conv2dEpilogueArguments<NoEpilogue> after{.bias = numbers.bias.data(),
                                                    .scales = conv.scales ? numbers.scales.data() : nullptr,
                                                    .alpha = conv.alpha,
                                                    .beta = conv.beta};
    EXPECT_EQ((run_once<kConfig>(launch, after, 0)), "");
    EXPECT_EQ(numbers.judge(output), "");
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        EXPECT_EQ((run_once<kConfig, kFault>(launch, after, seed)), "");
        EXPECT_NE(numbers.judge(output), "") << seed;
    }
}
const ConvCase kScaled{.shape = kConv.shape, .scales = true};
TEST(Conv2dFaults, AScaleThatAChunksChannelsShareIsCaught) { expect_wrong<kOne, Fault::OneScaleOfAChunk>(kScaled); }
TEST(Conv2dFaults, AScaleOfTheBiasIsCaught) { expect_wrong<kOne, Fault::ScaleAfterBias>(kScaled); }

/// The second slice of a temporal filter, whose sums join those of the first.
constexpr Conv2dConfig kNextSum =
    one_sm_128b({.filters = 64, .output = Element::F32, .source_value = Element::F32, .source = Source::Accumulate});
constexpr Conv2dConfig kLastSum =
    one_sm_128b({.filters = 64, .source_value = Element::F32, .source = Source::Accumulate});
const ConvCase kSums{.shape = kConv.shape, .alpha = 0.5f};
TEST(Conv2dFaults, SumsThatAreNotJoinedAreCaught) {
    expect_wrong<kNextSum, Fault::SumDropped>(kSums);
    expect_wrong<kLastSum, Fault::SumDropped>(kSums);
}
TEST(Conv2dFaults, SumsThatAreScaledTwiceAreCaught) {
    expect_wrong<kNextSum, Fault::SumScaled>(kSums);
    expect_wrong<kLastSum, Fault::SumScaled>(kSums);
}

/// Three taps in time over four frames, of which none is a zero frame.
ConvCase clip_case() {
    ConvCase conv{same2d(1, 5, 7, 64, 72, 3, 3)};
    conv.shape.d = 4;
    conv.shape.filter.q = 3;
    return conv;
}
constexpr Conv2dConfig half(Activation activation) {
    return one_sm_128b({.filters = 64, .element = Element::F16, .output = Element::F16, .activation = activation});
}
TEST(Conv2dFaults, Fp16InThreeDimensionsThatIsTakenForBf16IsCaught) {
    expect_wrong<half(Activation::Volume3d), Fault::Bfloat16Products>(clip_case());
    expect_wrong<half(Activation::Window3d), Fault::Bfloat16Products>(clip_case());
}

/// Two formats of fp8, and rows of 128 bytes beside four of 32, in which the second block of 64 channels is half empty.
TEST(Conv2dFaults, FormatsThatAreTakenForEachOthersAreCaught) {
    expect_wrong<mixed_config(1, 64, Element::F8E4M3, Element::F8E5M2, Source::None, Activation::Frames2d),
                 Fault::ExchangedFormats>(kConv);
}
TEST(Conv2dFaults, SlabsThatHaveTheFirstOnesChannelsAreCaught) {
    const ConvCase conv{same2d(2, 9, 15, 96, 72, 3, 3)};
    expect_wrong<swizzled_config(1, 128, 32, Activation::Frames2d), Fault::FirstSlabLoaded>(conv);
    expect_wrong<swizzled_config(1, 32, 128, Activation::Frames2d), Fault::FirstSlabLoaded>(conv);
}
TEST(Conv2dFaults, StepsThatLeaveTheirSlabAreCaught) {
    const ConvCase conv{same2d(2, 9, 15, 96, 72, 3, 3)};
    expect_wrong<swizzled_config(1, 128, 64, Activation::Frames2d), Fault::StepsOfOneSlab>(conv);
    expect_wrong<swizzled_config(1, 64, 128, Activation::Frames2d), Fault::StepsOfOneSlab>(conv);
}

TEST(Conv2dFaults, OneFrameUnderAllTapsInTimeIsCaught) {
    expect_wrong<half(Activation::Volume3d), Fault::OneFrameOfInput>(clip_case());
    expect_wrong<half(Activation::Window3d), Fault::OneFrameOfInput>(clip_case());
}

/// Three columns of tiles in panels of two: some tiles are computed twice, others never.
template <Fault kFault>
void expect_missed_tiles() {
    ConvNumbers numbers({.shape = kConv.shape, .panel = 2});
    Guarded output(numbers.output_bytes());
    const Conv2dLaunch launch = launch_of<kOne>(numbers, output);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        output.poison();
        const std::string fault =
            run_once<kOne, kFault>(launch, Conv2dEpilogueArguments<NoEpilogue>{.bias = numbers.bias.data()}, seed);
        EXPECT_EQ(fault, "");
        EXPECT_EQ(numbers.judge(output).empty(), kFault == Fault::None) << seed;
    }
}
TEST(Conv2dFaults, APanelThatIsNarrowerThanTheOthersIsCaught) {
    expect_missed_tiles<Fault::None>();
    expect_missed_tiles<Fault::LastPanelFull>();
}
TEST(Conv2dFaults, PanelsThatOverlapAreCaught) { expect_missed_tiles<Fault::PanelsOverlap>(); }

/// The order in cuda.h's comment: the same numbers with the axes reversed.
TEST(Conv2dFaults, CornersInDepthFirstOrderAreCaught) {
    constexpr Conv2dConfig kVolume = one_sm_128b({.filters = 64, .activation = Activation::Volume3d});
    ConvProblem shape = same2d(1, 6, 9, 64, 64, 3, 3);
    shape.d = 4;
    shape.filter.q = 3;
    shape.pad.front = 2;
    ConvNumbers numbers({.shape = shape});
    Guarded output(numbers.output_bytes());
    Conv2dLaunch launch = launch_of<kVolume>(numbers, output);
    isa::TensorMapDesc& map = launch.activation[0];
    std::swap(map.lower_corner[0], map.lower_corner[2]);
    std::swap(map.upper_corner[0], map.upper_corner[2]);
    const std::string fault =
        run_once<kVolume>(launch, Conv2dEpilogueArguments<NoEpilogue>{.bias = numbers.bias.data()}, 0);
    EXPECT_NE(fault.find("lies outside the bounding box"), std::string::npos) << fault;
}

}  // namespace
}  // namespace kinetograph::sm100
