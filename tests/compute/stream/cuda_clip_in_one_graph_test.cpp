// A clip of the CUDA lane beside Vulkan's passes in one graph, memory and timelines shared.
#include "clip_in_one_graph.hpp"

#include <kinetograph/tests/engine/interop/cuda_side.hpp>

namespace kinetograph::stream {
namespace {

class CudaClipInOneGraph : public testing::ClipInOneGraph {
  protected:
    void TearDown() override {
        ClipInOneGraph::TearDown();
        EXPECT_EQ(cuda_.complaints(), "");
    }

    interop::testing::CudaSide cuda_{KINETOGRAPH_STANDIN_CUDA_LIBRARY};
};

TEST_F(CudaClipInOneGraph, ShowsEveryFrameOnVulkanInNoMoreMemoryThanAlone) {
    validation_ = vulkan::Validation::WithoutSynchronization;  // timelines are signalled while tests wait
    ASSERT_NO_FATAL_FAILURE(open(cuda_));
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(make_clip(1));
    ASSERT_NO_FATAL_FAILURE(expect_as_much_memory_as_alone());
    expect_every_frame_is_shown();
}

}  // namespace
}  // namespace kinetograph::stream
