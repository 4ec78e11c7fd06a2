// The decoder's other passes on a Vulkan device against the CPU's.
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>
#include <kinetograph/tests/compute/vulkan/vulkan_device.hpp>

namespace kinetograph::nn {
namespace {

using VulkanOperatorsTest = test::VulkanDevice;

TEST_F(VulkanOperatorsTest, RmsNormAgreesForManyWidths) { expect_norms(*device_); }
TEST_F(VulkanOperatorsTest, GroupNormAgreesForManyShapes) { expect_group_norms(*device_); }
TEST_F(VulkanOperatorsTest, FramesAreKeptAlike) { expect_kept_frames(*device_); }
TEST_F(VulkanOperatorsTest, UpsamplingIsExact) { expect_upsampling(*device_); }
TEST_F(VulkanOperatorsTest, ChannelsBecomePixelsExactly) { expect_depth_to_space(*device_); }
TEST_F(VulkanOperatorsTest, LatentsAreUnpackedAndFramesStoredAlike) { expect_both_ends(*device_); }
TEST_F(VulkanOperatorsTest, PicturesAreTheSameBytes) { expect_pictures(*device_); }
TEST_F(VulkanOperatorsTest, AttentionAgrees) { expect_attention(*device_); }
TEST_F(VulkanOperatorsTest, AttentionByMatricesAgrees) {
    emulate_matrices();
    expect_attention(*device_);
}
TEST_F(VulkanOperatorsTest, MistakesNameThePass) { expect_mistakes(*device_); }

}  // namespace
}  // namespace kinetograph::nn
