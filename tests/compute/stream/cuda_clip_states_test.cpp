// The state of clips as a value on the CUDA lane, whose kernels run in the host model.
#include "clip_states.hpp"
#include "shared_clips.hpp"

#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

namespace kinetograph::stream {
namespace {

using CudaClipStates = test::CudaLane;

TEST_F(CudaClipStates, ContinueInAnotherClipByWayOfMemoryAndOfAFile) {
    testing::expect_saved_states_continue(*device_);
}
TEST_F(CudaClipStates, ContinueInBranchesWhichDoNotChangeEachOther) { testing::expect_branches_continue(*device_); }
TEST_F(CudaClipStates, ContinueFromBeforeTheStepsThatAreTakenBack) { testing::expect_rewound_clips_continue(*device_); }
TEST_F(CudaClipStates, LeaveTheDeviceWhileTheClipIsParked) {
    testing::expect_parked_clips_give_back_their_state(*device_);
}
TEST_F(CudaClipStates, TakeTheBytesThatWereDeclared) { testing::expect_clips_take_what_is_declared(*device_); }

TEST_F(CudaClipStates, OfClipsThatShareARunnerAreThoseOfClipsAlone) {
    testing::expect_clips_that_share_to_be_as_alone(*device_);
}
TEST_F(CudaClipStates, AndFramesAreWhatAFurtherClipOfARunnerTakes) {
    testing::expect_further_clips_to_take_their_state_and_frames(*device_);
}
TEST_F(CudaClipStates, ChangeInTheOrderInWhichStepsAreDue) {
    testing::expect_steps_in_the_order_in_which_they_are_due(*device_);
}

}  // namespace
}  // namespace kinetograph::stream
