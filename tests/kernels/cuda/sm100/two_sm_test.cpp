#include "model_conv.hpp"

/// Pairs of CTAs (cta_group::2) and clusters that share loads by multicast.
namespace kinetograph::sm100 {
namespace {

constexpr Conv2dConfig k128b = two_sm_128b(), k64b = two_sm_64b();

TEST(Conv2dTwoSm, AgreesOnWholeTiles) { expect_agrees<k128b>({same2d(1, 16, 16, 64, 256, 1, 1)}); }
TEST(Conv2dTwoSm, AgreesOn3x3WithRaggedPixelsAndFilters) { expect_agrees<k128b>({same2d(1, 13, 23, 64, 136, 3, 3)}); }
TEST(Conv2dTwoSm, AgreesWhenTheSecondCtaHasNoPixels) { expect_agrees<k128b>({same2d(1, 9, 9, 128, 256, 3, 3)}); }
TEST(Conv2dTwoSm, AgreesOn7x7) { expect_agrees<k128b>({same2d(1, 8, 9, 64, 40, 7, 7)}); }
TEST(Conv2dTwoSm, AgreesWith384Channels) { expect_agrees<k128b>({same2d(1, 7, 20, 384, 64, 1, 3)}); }
TEST(Conv2dTwoSm, AgreesOnManyTiles) { expect_agrees<k128b>({same2d(4, 13, 15, 64, 264, 1, 1)}); }
TEST(Conv2dTwoSm, KeepsEveryPositionApart) {
    expect_agrees<k128b>({same2d(2, 13, 15, 64, 264, 3, 3), Numbers::Coded});
    expect_agrees<k64b>({same2d(2, 13, 15, 96, 264, 3, 3), Numbers::Coded});
}
TEST(Conv2dTwoSm64b, AgreesWith32Channels) { expect_agrees<k64b>({same2d(1, 15, 19, 32, 256, 3, 3)}); }
TEST(Conv2dTwoSm64b, AgreesWith96Channels) { expect_agrees<k64b>({same2d(1, 11, 17, 96, 192, 3, 3)}); }
TEST(Conv2dTwoSm64b, AgreesWith96FiltersOf96Channels) {
    expect_agrees<two_sm_64b({.filters = 96})>({same2d(1, 11, 17, 96, 96, 3, 3)});
}
TEST(Conv2dTwoSm, AgreesWith192FiltersATile) {
    expect_agrees<two_sm_128b({.filters = 192})>({same2d(1, 11, 17, 192, 384, 1, 3)});
}
TEST(Conv2dTwoSm, AgreesWith128FiltersATile) {
    expect_agrees<two_sm_128b({.filters = 128})>({same2d(3, 11, 17, 64, 128, 3, 3), Numbers::Integers});
}

/// Clusters of single CTAs: along x they share filters, along y activations.
constexpr Conv2dConfig one_sm_in(uint32_t x, uint32_t y) { return one_sm_128b({.filters = 64, .cluster = {x, y}}); }

TEST(Conv2dCluster, SharesFiltersAlongPixels) { expect_agrees<one_sm_in(2, 1)>({same2d(3, 9, 17, 64, 72, 3, 3)}); }
TEST(Conv2dCluster, SharesFiltersAmongFour) { expect_agrees<one_sm_in(4, 1)>({same2d(3, 9, 17, 64, 64, 3, 3)}); }
TEST(Conv2dCluster, SharesActivationsAlongFilters) {
    expect_agrees<one_sm_in(1, 2)>({same2d(1, 9, 17, 64, 200, 3, 3)});
}
TEST(Conv2dCluster, SharesActivationsAmongFour) { expect_agrees<one_sm_in(1, 4)>({same2d(1, 9, 11, 64, 256, 3, 3)}); }
TEST(Conv2dCluster, SharesBothWaysInASquare) { expect_agrees<one_sm_in(2, 2)>({same2d(3, 9, 17, 64, 136, 3, 3)}); }
TEST(Conv2dCluster, KeepsEveryPositionApart) {
    expect_agrees<one_sm_in(2, 2)>({same2d(3, 9, 17, 64, 136, 3, 3), Numbers::Coded});
    expect_agrees<one_sm_64b({.filters = 64, .cluster = {2, 2}})>({same2d(3, 9, 17, 96, 136, 3, 3), Numbers::Coded});
}

/// Clusters of pairs.
constexpr Conv2dConfig pairs_in(uint32_t x, uint32_t y) { return two_sm_128b({.filters = 128, .cluster = {x, y}}); }

TEST(Conv2dCluster, SharesFiltersAmongPairs) { expect_agrees<pairs_in(4, 1)>({same2d(4, 11, 17, 64, 136, 3, 3)}); }
TEST(Conv2dCluster, SharesActivationsAmongPairs) { expect_agrees<pairs_in(2, 2)>({same2d(2, 11, 17, 64, 264, 3, 3)}); }
TEST(Conv2dCluster, SharesBothWaysAmongFourPairs) {
    expect_agrees<pairs_in(4, 2)>({same2d(4, 11, 17, 64, 264, 1, 3), Numbers::Coded});
    expect_agrees<two_sm_64b({.filters = 128, .cluster = {4, 2}})>({same2d(4, 11, 17, 96, 200, 1, 3)});
}
TEST(Conv2dCluster, WalksItsTilesInPanels) {
    ConvCase conv{same2d(6, 10, 15, 64, 136, 1, 1), Numbers::Coded};
    conv.panel = 2;
    expect_agrees<one_sm_128b({.filters = 64, .cluster = {2, 1}})>(conv);
}

}  // namespace
}  // namespace kinetograph::sm100
