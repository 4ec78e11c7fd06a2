// A clip beside Vulkan's passes in one graph, the CPU in the accelerator's place.
#include "clip_in_one_graph.hpp"

namespace kinetograph::stream {
namespace {

using interop::testing::Pairing;

class CpuClipInOneGraph : public testing::ClipInOneGraph, public ::testing::WithParamInterface<Pairing> {
  protected:
    void open_pairing() {
        kind_ = "cpu";
        validation_ = vulkan::Validation::WithoutSynchronization;  // relays signal while tests wait
        ASSERT_NO_FATAL_FAILURE(open(GetParam()));
        if (IsSkipped()) return;
        ASSERT_NO_FATAL_FAILURE(make_clip(testing::kWidth));
    }
};

TEST_P(CpuClipInOneGraph, ShowsEveryFrameOnVulkan) {
    ASSERT_NO_FATAL_FAILURE(open_pairing());
    if (IsSkipped()) return;
    expect_every_frame_is_shown();
}

TEST_P(CpuClipInOneGraph, NeedsNoMoreMemoryThanAlone) {
    ASSERT_NO_FATAL_FAILURE(open_pairing());
    if (IsSkipped()) return;
    expect_as_much_memory_as_alone();
}

INSTANTIATE_TEST_SUITE_P(Pairings, CpuClipInOneGraph,
                         ::testing::Values(interop::testing::kSharedTimelines, interop::testing::kSharedRelayed,
                                           interop::testing::kStagedPinned),
                         [](const auto& pairing) { return pairing.param.name; });

}  // namespace
}  // namespace kinetograph::stream
