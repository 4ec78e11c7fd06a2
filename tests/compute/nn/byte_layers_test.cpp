// Which values become bytes, and on which grid.
#include <kinetograph/compute/nn/byte_layers.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace kinetograph::nn {
namespace {

using namespace primitive;

const ByteRecipe kAll{"all", {"layer"}, ByteRecipe::Folding::Half};

Conv causal(const std::string& key, std::int64_t channels = 8) {
    return {.key = key, .c_in = channels, .filter = {channels, 3, 3, 3}};
}

Value norm_silu(Network& network, Value x, const std::string& key) {
    return network.append(network.append(x, Norm{key, 8}), Activate{});
}

std::string keys_of(const Network& network, const ByteRecipe& recipe = kAll) {
    const auto passes = fuse(network, {});
    std::string keys;
    for (const ByteValue& value : byte_values(*passes, recipe))
        keys += (keys.empty() ? "" : " ") + value.norm->key + ">" + value.conv->key;
    return keys;
}

TEST(ByteValues, AreActivatedNormsThatAListedConvolutionAloneReads) {
    Network network(8);
    Value x = network.append(Network::input(), causal("layer1"));  // reads the input, which is no norm
    x = network.append(norm_silu(network, x, "n1"), causal("layer2"));
    x = network.append(norm_silu(network, x, "n2"), causal("other"));
    x = network.append(network.append(x, Norm{"n3", 8}), causal("layer3"));  // without SiLU
    network.append(norm_silu(network, x, "n4"), causal("layer4"));
    EXPECT_EQ(keys_of(network), "n1>layer2 n4>layer4");
}

TEST(ByteValues, AreNoneThatSomethingElseReadsToo) {
    Network network(8);
    const Value x = network.append(Network::input(), causal("first"));
    const Value n = norm_silu(network, x, "n");
    network.add(network.append(n, causal("layer")), n);
    EXPECT_EQ(keys_of(network), "");
}

TEST(ByteValues, AreNoneOfPointwiseAndDoublingConvolutions) {
    Network network(8);
    Value x = network.append(Network::input(), causal("first"));
    x = network.append(norm_silu(network, x, "n1"), Conv{.key = "layer1", .c_in = 8, .filter = {8, 1, 1, 1}});
    x = network.append(norm_silu(network, x, "n2"), UpsampleSpace{"up"});
    network.append(x, Conv{.key = "layer2", .c_in = 8, .filter = {8, 1, 3, 3}});
    EXPECT_EQ(keys_of(network), "");
}

struct Numbers {
    Conv conv = causal("layer", 4);
    Norm norm{"n", 4};
    std::vector<float> largest{6, 0.5F, 2, 0}, filter;

    Numbers() {
        conv.filter = {2, 1, 1, 1};
        filter = {0.5F, -0.25F, 0.01F, 0.1F, 0.02F, 0.03F, -0.04F, 0.05F};
    }
    ByteLayer layer(ByteRecipe::Folding folding) const {
        return byte_layer({7, &conv, &norm}, {"r", {"layer"}, folding}, largest, filter);
    }
};

TEST(ByteLayers, HoldEveryChannelFromSilusLeastToItsLargest) {
    const Numbers numbers;
    for (const auto folding : {ByteRecipe::Folding::None, ByteRecipe::Folding::Half}) {
        const ByteLayer layer = numbers.layer(folding);
        EXPECT_EQ(layer.value, 7U);
        EXPECT_EQ(layer.conv + layer.norm, "layern");
        double used = 0;
        for (std::size_t c = 0; c < 4; ++c) {
            const double folded = layer.folds[c] / layer.input.scale;
            EXPECT_GE(kSiluLeast * folded + layer.input.zero, -0.51);
            EXPECT_LE(numbers.largest[c] * folded + layer.input.zero, 255.51);
            used = std::max(used, numbers.largest[c] * folded + layer.input.zero);
        }
        EXPECT_NEAR(used, 255, 1) << "no code is left over";
    }
}

TEST(ByteLayers, MoveHalfOfAChannelsRangeToTheFilter) {
    const Numbers numbers;
    const ByteLayer none = numbers.layer(ByteRecipe::Folding::None), half = numbers.layer(ByteRecipe::Folding::Half);
    EXPECT_EQ(none.folds, std::vector<float>(4, 1.0F));
    EXPECT_FLOAT_EQ(half.folds[0], std::sqrt(0.5F / (6 - kSiluLeast)));
    EXPECT_FLOAT_EQ(half.folds[1], std::sqrt(0.25F / (0.5F - kSiluLeast)));
    EXPECT_FLOAT_EQ(half.folds[3], std::sqrt(0.1F / (0.05F * 6 - kSiluLeast))) << "a constant counts as 5 %";
}

TEST(ByteLayers, ClipAFilterWhereThatLosesLess) {
    const Numbers numbers;
    const ByteLayer layer = numbers.layer(ByteRecipe::Folding::None);
    for (std::size_t k = 0; k < 2; ++k) {
        const float largest = k == 0 ? 0.5F : 0.05F;
        EXPECT_GE(layer.steps[k], 0.59F * largest / 127);
        EXPECT_LE(layer.steps[k], 1.01F * largest / 127);
    }
    // One large value among many on a coarse grid is worth its error.
    Numbers one = numbers;
    one.conv.c_in = 4;
    one.conv.filter = {1, 1, 100, 1};
    one.filter.assign(400, 0.0F);
    for (std::size_t i = 0; i < 400; ++i) one.filter[i] = 0.5F / 127 * static_cast<float>(i % 2);
    one.filter[0] = 1;
    EXPECT_FLOAT_EQ(one.layer(ByteRecipe::Folding::None).steps[0], 1.0F / 127) << "0.4 of the value would be lost";
}

}  // namespace
}  // namespace kinetograph::nn
