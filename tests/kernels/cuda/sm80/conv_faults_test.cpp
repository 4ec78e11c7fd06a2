#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm80/conv_configs.hpp>

#include "model_conv.hpp"

/// Faults built into the kernel: under every schedule the host model names them, or the results are wrong.
namespace kinetograph::sm80 {
namespace {

const ConvCase kLong{same2d(1, 6, 9, 32, 64, 3, 3)};  // 9 k blocks: the ring of 4 wraps around twice
const ConvCase kNorm{same2d(1, 6, 9, 32, 64, 1, 1), {.norm = Norm::Beside}};

template <ConvFault kFault, ConvConfig kConfig = bf16_64x64>
void expect_caught(const ConvCase& conv, const std::string& sentence) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
        ConvNumbers numbers(conv);
        std::string wrong = run_once<kConfig, kFault>(numbers.launches(kConfig), seed);
        if (wrong.empty()) wrong = numbers.judge();
        EXPECT_NE(wrong.find(sentence), std::string::npos) << "seed " << seed << ": " << wrong;
    }
}

TEST(ConvFaults, NoneOfThemIsNoFault) { expect_caught<ConvFault::None>(kLong, ""); }
TEST(ConvFaults, AMissingWaitIsCaught) {
    expect_caught<ConvFault::NoWait>(kLong, "still writes: that thread has not waited for it");
}
TEST(ConvFaults, AWaitThatLeavesOneGroupTooManyIsCaught) {
    expect_caught<ConvFault::WaitsForOneGroupLess>(kLong, "still writes: that thread has not waited for it");
}
TEST(ConvFaults, CopiesThatAreNeverCommittedAreCaught) {
    expect_caught<ConvFault::NoCommit>(kLong, "still writes: that thread has not waited for it");
}
TEST(ConvFaults, AMissingBarrierIsCaught) {
    // The order decides what is reported: the copy that overtakes a reader, a reader that finds one, or nothing.
    expect_caught<ConvFault::NoBarrier>(kLong, "shared+");
}
TEST(ConvFaults, AStageThatIsFilledWhileItIsReadIsCaught) {
    expect_caught<ConvFault::LoadsIntoReadStage>(kLong, "shared+");
}
TEST(ConvFaults, AWrongSwizzlePhaseIsCaught) { expect_caught<ConvFault::SwizzledByRow>(kLong, "expected"); }
TEST(ConvFaults, BusyBanksAreCaughtThoughTheResultIsTrue) {
    expect_caught<ConvFault::UnswizzledBothWays>(kLong, "bank conflicts");
}
TEST(ConvFaults, StagingTheTileOverARingThatIsReadIsCaught) {
    expect_caught<ConvFault::StagesWhileOthersMultiply>(kLong, "conv_epilogue.hpp");
}
TEST(ConvFaults, AMissingBarrierAfterTheStagingIsCaught) {
    expect_caught<ConvFault::NoStagingBarrier>(kNorm, "conv_epilogue.hpp");
}
TEST(ConvFaults, ReadingBesideTheImageIsCaught) { expect_caught<ConvFault::HaloNotZeroed>(kLong, "expected"); }

}  // namespace
}  // namespace kinetograph::sm80
