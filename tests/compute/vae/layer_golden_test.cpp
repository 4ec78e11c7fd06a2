// Isolated layers on the CPU, against float64 references.
#include <gtest/gtest.h>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/vae/layer_units.hpp>

namespace kinetograph::vae {
namespace {

class LayerUnits : public testing::TestWithParam<tensor::DType> {
  protected:
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    UnitLane lane_{*device_, GetParam()};
};

TEST_P(LayerUnits, AResidualBlockWithAShortcutGivesTheSameForEveryCutOfTheStream) { expect_residual_units(lane_); }
TEST_P(LayerUnits, TemporalUpsamplingSkipsTheFirstStepAndForgetsItsFrame) { expect_temporal_upsampling_units(lane_); }
TEST_P(LayerUnits, TemporalUpsamplingInterleavesTheTwoHalvesOfItsChannels) { expect_interleaved_halves(lane_); }
TEST_P(LayerUnits, SpatialUpsamplingMatches) { expect_spatial_upsampling_units(lane_); }
TEST_P(LayerUnits, AttentionMatchesForEveryFrame) { expect_attention_units(lane_); }

INSTANTIATE_TEST_SUITE_P(Precisions, LayerUnits, testing::Values(tensor::DType::F32, tensor::DType::BF16),
                         [](const auto& test) { return std::string(tensor::to_string(test.param)); });

}  // namespace
}  // namespace kinetograph::vae
