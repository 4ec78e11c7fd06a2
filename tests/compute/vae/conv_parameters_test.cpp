#include <kinetograph/compute/vae/conv_parameters.hpp>

#include <gtest/gtest.h>

#include <map>

namespace kinetograph::vae {
namespace {

using nn::primitive::Conv;

/// Tensors by name.
LoadTensor from(std::map<std::string, std::vector<float>> tensors) {
    return [tensors = std::move(tensors)](const std::string& name) { return tensors.at(name); };
}

TEST(PixelMap, OfNothingIsNone) {
    EXPECT_TRUE(pixel_map({}, {}, nullptr, from({})).empty());
    EXPECT_TRUE(pixel_map({1, 1}, {0, 0}, nullptr, from({})).empty());
}

TEST(PixelMap, TakesScaleAndShiftEachAlone) {
    EXPECT_EQ(pixel_map({2, 3}, {}, nullptr, from({})), (std::vector<float>{2, 0, 0, 3, 0, 0}));
    EXPECT_EQ(pixel_map({}, {5, 7}, nullptr, from({})), (std::vector<float>{1, 0, 0, 1, 5, 7}));
}

TEST(PixelMap, AppliesScaleAndShiftBeforeTheConvolution) {
    const Conv conv{.key = "c", .c_in = 2, .filter = {2, 1, 1, 1}};
    const auto load = from({{"c.weight", {1, 2, 3, 4}}, {"c.bias", {100, 200}}});
    // W = (1 2; 3 4): W (2 z0 + 5, 3 z1 + 7) + b, by columns.
    EXPECT_EQ(pixel_map({2, 3}, {5, 7}, &conv, load), (std::vector<float>{2, 6, 6, 12, 119, 243}));
    EXPECT_EQ(pixel_map({}, {}, &conv, load), (std::vector<float>{1, 3, 2, 4, 100, 200}));
}

TEST(LoadParameters, ApplyTheProjectionAfterAnAttentionToItsValues) {
    const Conv conv{.key = "qkv", .c_in = 1, .filter = {6, 1, 1, 1}, .projected_by = "proj"};
    const auto parameters = load_parameters(conv, {}, "",
                                            from({{"qkv.weight", {1, 2, 3, 4, 5, 6}},
                                                  {"qkv.bias", {10, 20, 30, 40, 50, 60}},
                                                  {"proj.weight", {1, 2, 3, 4}},
                                                  {"proj.bias", {1000, 2000}}}));
    EXPECT_EQ(parameters.filter, (std::vector<float>{1, 2, 3, 4, 1 * 5 + 2 * 6, 3 * 5 + 4 * 6}));
    EXPECT_EQ(parameters.bias, (std::vector<float>{10, 20, 30, 40, 1000 + 1 * 50 + 2 * 60, 2000 + 3 * 50 + 4 * 60}));
}

TEST(LoadParameters, ApplyTheFilterToWhatIsPooledOfTwoFrames) {
    const Conv conv{.key = "c", .c_in = 1, .filter = {1, 2, 1, 3}, .bias = false, .pooled_by = "pool"};
    const auto parameters = load_parameters(conv, {}, "", from({{"c.weight", {1, 2, 3}}, {"pool.weight", {10, 100}}}));
    EXPECT_EQ(parameters.filter, (std::vector<float>{10, 20, 30, 100, 200, 300}));  // oldest frame first
}

/// Two taps of blocks of 2 x 2 pixels are four rows and two columns of pixels.
TEST(LoadParameters, SpreadAFilterOfBlocksOverTheirPixels) {
    Conv conv{.key = "c", .c_in = 1, .filter = {1, 1, 4, 2}, .bias = false, .block = 2};
    const auto load = from({{"c.weight", {1, 2, 3, 4, 5, 6, 7, 8}}});  // [channel][row]
    EXPECT_EQ(load_parameters(conv, {}, "", load).filter, (std::vector<float>{1, 3, 5, 7, 2, 4, 6, 8}));
    conv.block_order = conv::PixelOrder::ColumnsFirst;
    EXPECT_EQ(load_parameters(conv, {}, "", load).filter, (std::vector<float>{1, 5, 3, 7, 2, 6, 4, 8}));
}

TEST(LoadParameters, AverageEqualGroupsOfAllValuesOfABlock) {
    Conv conv{.key = "c", .c_in = 1, .filter = {2, 2, 1, 2}, .bias = false, .averages = 2};
    EXPECT_EQ(load_parameters(conv, {}, "", from({})).filter, (std::vector<float>{.5F, .5F, 0, 0, 0, 0, .5F, .5F}));
    conv.filter.q = 1;  // the newer frame
    EXPECT_EQ(load_parameters(conv, {}, "", from({})).filter, (std::vector<float>{0, 0, .5F, .5F}));
    conv.filter = {1, 2, 1, 1};
    conv.c_in = 2;
    EXPECT_EQ(load_parameters(conv, {}, "", from({})).filter, (std::vector<float>(4, .25F)));
}

}  // namespace
}  // namespace kinetograph::vae
