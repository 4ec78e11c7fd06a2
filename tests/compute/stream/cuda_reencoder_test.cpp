// Reencoder on the CUDA lane, whose kernels run in the host model.
#include "reencoding.hpp"

#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

namespace kinetograph::stream {
namespace {

using CudaReencoding = test::CudaLane;

TEST_F(CudaReencoding, HasTheBitsOfTwoSteps) {
    testing::expect_reencoded_as_in_two_steps(*device_, "synthetic:wan2.1,dim=2", {{2}, {1, 1}});
}
TEST_F(CudaReencoding, HasThemOfEncodersThatTakeFourFramesFromTheFirstOn) {
    testing::expect_reencoded_as_in_two_steps(*device_, "synthetic:taew2.1,dim=8", {{2}});
}

}  // namespace
}  // namespace kinetograph::stream
