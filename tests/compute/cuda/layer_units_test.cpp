// Isolated layers on the CUDA lane, against float64 references.
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/vae/layer_units.hpp>

namespace kinetograph::vae {
namespace {

using tensor::DType;

class CudaLayerUnits : public test::CudaLane, public testing::WithParamInterface<DType> {
  protected:
    UnitLane lane() { return {*device_, GetParam()}; }
};

TEST_P(CudaLayerUnits, AResidualBlockWithAShortcutGivesTheSameForEveryCutOfTheStream) { expect_residual_units(lane()); }
TEST_P(CudaLayerUnits, TemporalUpsamplingSkipsTheFirstStepAndForgetsItsFrame) {
    expect_temporal_upsampling_units(lane());
}
TEST_P(CudaLayerUnits, TemporalUpsamplingInterleavesTheTwoHalvesOfItsChannels) { expect_interleaved_halves(lane()); }
TEST_P(CudaLayerUnits, SpatialUpsamplingMatches) { expect_spatial_upsampling_units(lane()); }
TEST_P(CudaLayerUnits, AttentionMatchesForEveryFrame) { expect_attention_units(lane()); }

INSTANTIATE_TEST_SUITE_P(Precisions, CudaLayerUnits, testing::Values(DType::BF16, DType::F16),
                         [](const auto& test) { return std::string(tensor::to_string(test.param)); });

}  // namespace
}  // namespace kinetograph::vae
