// Convolution's Vulkan methods, from a ConvProblem to numbers, against the fp64 reference on the host.
#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/tests/compute/conv/conv_golden_cases.hpp>
#include <kinetograph/tests/compute/vulkan/vulkan_device.hpp>

#include <algorithm>
#include <iterator>

namespace kinetograph::conv {
namespace {

using tensor::DType;

constexpr std::string_view kTiles = "tiles-vulkan13", kSlab = "slab-vulkan13";

using VulkanConvolution = test::VulkanDevice;

class VulkanConvProperty : public test::VulkanDevice, public testing::WithParamInterface<Combination> {
  protected:
    void SetUp() override {
        VulkanDevice::SetUp();
        if (IsSkipped() || GetParam().backend != kSlab) return;
        emulate_matrices();
        const std::string_view word = GetParam().dtype == DType::F16 ? "matrix-f16" : "matrix-bf16";
        if (device_->info().features.find(word) == std::string::npos)
            GTEST_SKIP() << device_->info().name << " has no " << word;
    }
    /// Most on a GPU; enough to notice a mistake where the CPU plays one, and matrices by loops.
    std::vector<ConvShape> shapes(std::uint64_t seed) const {
        const int some = GetParam().backend == kSlab ? 4 : 12;
        std::vector<ConvShape> all = awkward_shapes(seed, on_gpu() ? 240 : some);
        std::ranges::copy(doubled(awkward_shapes(seed + 1, on_gpu() ? 40 : some / 4)), std::back_inserter(all));
        const auto rings = ring_shapes();
        all.insert(all.end(), rings.begin(), on_gpu() ? rings.end() : rings.begin() + 1);
        if (GetParam().backend == kSlab)  // which takes whole chunks of input channels
            for (ConvShape& shape : all) {
                shape.problem.c_in = shape.problem.c_in / 16 * 16 + 16;
                shape.problem.groups = 1;
            }
        return all;
    }
    int least(int gpu, int cpu) const { return on_gpu() ? gpu : cpu; }
};

TEST_P(VulkanConvProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    EXPECT_GE(expect_agreement(*device_, GetParam(), shapes(7)), least(60, GetParam().backend == kSlab ? 2 : 6));
}

TEST_P(VulkanConvProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    EXPECT_GE(expect_exactness(*device_, GetParam(), shapes(11)), least(60, GetParam().backend == kSlab ? 2 : 6));
}

TEST_P(VulkanConvProperty, TakesEveryNumberFromItsOwnPlace) {
    EXPECT_GE(expect_places(*device_, GetParam(), shapes(13)), least(60, GetParam().backend == kSlab ? 2 : 6));
}

TEST_P(VulkanConvProperty, ReproducesTheStoredConvolutions) {
    if (!on_gpu() && GetParam().backend == kSlab) GTEST_SKIP() << "takes minutes where a CPU plays the device";
    EXPECT_GE(expect_golden_cases(*device_, GetParam()), GetParam().backend == kSlab ? 8 : 29);
}

/// A decoder's own layers by matrices.
TEST_F(VulkanConvolution, OfADecoderAgrees) {
    emulate_matrices();
    if (device_->info().features.find("matrix-bf16") == std::string::npos) GTEST_SKIP() << "the device has no matrices";
    for (const NamedProblem& layer : decoder_problems(32, 80, 112, DType::BF16)) {
        // Where a CPU plays the device a layer takes a minute; sums over 128 channels end too early there
        // (llvmpipe limits the rounds of a thread's loops).
        if (!on_gpu() && layer.name != "upsamples.11.resample") continue;
        const auto run = run_problem(*device_, layer.problem, {.backend = kSlab, .repeats = 1});
        ASSERT_TRUE(run) << layer.name << ": " << run.error().message;
        EXPECT_LE(run->relative_l2, layer.problem.upsample ? 4e-3 : 2.5e-3) << layer.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Tiles, VulkanConvProperty,
                         testing::Values(Combination{kTiles, DType::F32, DType::F32},
                                         Combination{kTiles, DType::BF16, DType::BF16},
                                         Combination{kTiles, DType::BF16, DType::F32},
                                         Combination{kTiles, DType::F16, DType::F16}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Slab, VulkanConvProperty,
                         testing::Values(Combination{kSlab, DType::BF16, DType::BF16},
                                         Combination{kSlab, DType::F16, DType::F16}),
                         name_of);

}  // namespace
}  // namespace kinetograph::conv
