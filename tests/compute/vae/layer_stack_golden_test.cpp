// Isolated layers with streaming state, cut into steps of different lengths, against float64 references.
#include <gtest/gtest.h>
#include <kinetograph/compute/vae/layer_stack.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/golden/golden.hpp>

namespace kinetograph::vae {
namespace {

// Limits of the golden data's description, section 8: float32 units, and bf16 units of several operators.
constexpr golden::Limit kFp32Unit{2e-6, 1e-5};
constexpr golden::Limit kBf16Unit{6e-3, 0.04};

struct Cut {
    const char* name;
    std::vector<std::int64_t> frames;
};

class LayerUnits : public testing::TestWithParam<tensor::DType> {
  protected:
    std::unique_ptr<LayerStack> stack(const golden::File& file, const Layer& layer, const golden::Tensor& input,
                                      std::int64_t max_frames) {
        StackDesc desc;
        desc.layers = {layer};
        desc.height = input.shape[2];
        desc.width = input.shape[3];
        desc.max_frames = max_frames;
        desc.dtype = GetParam();
        auto created = LayerStack::create(
            *device_, desc, [&file](const std::string& name) { return file.tensor(name).values; }, nullptr);
        EXPECT_TRUE(created) << created.error().message;
        return std::move(*created);
    }
    golden::Limit limit() const { return GetParam() == tensor::DType::F32 ? kFp32Unit : kBf16Unit; }

    /// Feeds `input` cut into steps and compares each step's output with "<unit>.<cut>.chunkK.output".
    void expect_cut_matches(const golden::File& file, const Layer& layer, const Cut& cut) {
        const auto input = file.tensor(layer.key + ".input");
        const auto unit = stack(file, layer, input, *std::max_element(cut.frames.begin(), cut.frames.end()));
        std::int64_t next = 0;
        for (std::size_t k = 0; k < cut.frames.size(); ++k) {
            const auto out = unit->step(golden::tchw(input, next, cut.frames[k]), cut.frames[k]);
            ASSERT_TRUE(out) << out.error().message;
            next += cut.frames[k];
            const auto expected = file.tensor(layer.key + "." + cut.name + ".chunk" + std::to_string(k) + ".output");
            EXPECT_TRUE(golden::within(*out, golden::thwc(expected, 0, expected.shape[1]), limit()))
                << layer.key << "." << cut.name << " chunk " << k;
        }
    }
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

TEST_P(LayerUnits, AResidualBlockWithAShortcutGivesTheSameForEveryCutOfTheStream) {
    KG_GOLDEN_FILE(file, "wan21_units.safetensors");
    const Layer layer{LayerOp::Residual, "res", 48, 32};
    expect_cut_matches(file, layer, {"a", {1, 1, 1}});
    expect_cut_matches(file, layer, {"b", {1, 4, 4}});
}

TEST_P(LayerUnits, TemporalUpsamplingSkipsTheFirstStepAndForgetsItsFrame) {
    KG_GOLDEN_FILE(file, "wan21_units.safetensors");
    const Layer layer{LayerOp::Upsample3d, "up3d", 32, 16};
    expect_cut_matches(file, layer, {"a", {1, 1, 1, 1}});
    expect_cut_matches(file, layer, {"b", {1, 2, 2, 2}});
}

TEST_P(LayerUnits, TemporalUpsamplingInterleavesTheTwoHalvesOfItsChannels) {
    KG_GOLDEN_FILE(file, "wan21_units.safetensors");
    const auto input = file.tensor("up3d.input");
    const auto unit = stack(file, {LayerOp::Upsample3d, "up3d", 32, 16}, input, 2);
    ASSERT_TRUE(unit->step(golden::tchw(input, 0, 1), 1));
    for (std::int64_t k = 1; k < 4; ++k) {
        const auto traced = unit->trace(golden::tchw(input, 2 * k - 1, 2), 2, "up3d.time_conv");
        ASSERT_TRUE(traced) << traced.error().message;
        const auto expected = file.tensor("up3d.b.chunk" + std::to_string(k) + ".time");
        EXPECT_TRUE(golden::within(*traced, golden::thwc(expected, 0, expected.shape[1]), limit())) << "chunk " << k;
    }
}

TEST_P(LayerUnits, SpatialUpsamplingMatches) {
    KG_GOLDEN_FILE(file, "wan21_units.safetensors");
    const auto input = file.tensor("up2d.input");
    const auto unit = stack(file, {LayerOp::Upsample2d, "up2d", 64, 32}, input, input.shape[1]);
    const auto out = unit->step(golden::tchw(input, 0, input.shape[1]), input.shape[1]);
    ASSERT_TRUE(out) << out.error().message;
    const auto expected = file.tensor("up2d.output");
    EXPECT_TRUE(golden::within(*out, golden::thwc(expected, 0, expected.shape[1]), limit()));
}

TEST_P(LayerUnits, AttentionMatchesForEveryFrame) {
    KG_GOLDEN_FILE(file, "wan21_units.safetensors");
    const auto input = file.tensor("attn.input");
    const auto unit = stack(file, {LayerOp::Attention, "attn", 96, 96}, input, input.shape[1]);
    const auto out = unit->step(golden::tchw(input, 0, input.shape[1]), input.shape[1]);
    ASSERT_TRUE(out) << out.error().message;
    const auto expected = file.tensor("attn.output");
    EXPECT_TRUE(golden::within(*out, golden::thwc(expected, 0, expected.shape[1]), limit()));
}

INSTANTIATE_TEST_SUITE_P(Precisions, LayerUnits, testing::Values(tensor::DType::F32, tensor::DType::BF16),
                         [](const auto& test) { return std::string(tensor::to_string(test.param)); });

}  // namespace
}  // namespace kinetograph::vae
