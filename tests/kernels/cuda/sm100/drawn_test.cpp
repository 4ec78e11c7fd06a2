#include <kinetograph/kernels/cuda/sm100/conv2d_configs.hpp>
#include <random>

#include "model_conv.hpp"

/// Twenty drawn problems for every form of the im2col kernel that tests of single tiles alone would not cover: 64
/// pixels a CTA, loads that a cluster shares, and other orders of tiles. Images, taps, steps, padding, channels,
/// residual, alpha and scales are drawn; pixels and filters end within a tile.
namespace kinetograph::sm100 {
namespace {

class Draw {
  public:
    explicit Draw(uint32_t seed) : dice_(seed) {}
    int64_t between(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(dice_); }

  private:
    std::mt19937 dice_;
};

/// Images of up to 2 x 13 x 17 pixels, of 32 to 128 channels.
ConvCase drawn_image(Draw& draw) {
    ConvCase conv{same2d(draw.between(1, 2), draw.between(3, 13), draw.between(3, 17), 32 * draw.between(1, 4),
                         8 * draw.between(1, 26), draw.between(1, 3), draw.between(1, 3))};
    ConvProblem& shape = conv.shape;
    shape.stride = {1, draw.between(1, 4) == 1 ? 2 : 1, draw.between(1, 4) == 1 ? 2 : 1};
    if (draw.between(1, 4) == 1) shape.dilation.w = shape.pad.left = shape.pad.right = 2;
    conv.numbers = draw.between(1, 3) == 1 ? Numbers::Coded : Numbers::Random;
    conv.bias = draw.between(1, 4) != 1;
    conv.beta = 0.5f;
    return conv;
}

/// The same of up to four frames under up to three taps in time.
ConvCase drawn_clip(Draw& draw) {
    ConvCase conv = drawn_image(draw);
    conv.shape.filter.q = draw.between(1, 3);
    conv.shape.d = conv.shape.filter.q + draw.between(0, 1);
    conv.shape.pad.front = draw.between(0, conv.shape.filter.q - 1);
    return conv;
}

class DrawnProblem : public testing::TestWithParam<uint32_t> {
  protected:
    Draw draw_{GetParam()};
    bool every_second() const { return GetParam() % 2 == 0; }
};

class Drawn64Pixels : public DrawnProblem {};
TEST_P(Drawn64Pixels, OfOneCtaAgree) {
    switch (GetParam() % 4) {
        case 0:
            return expect_agrees<small_config(1, 128, 64, Activation::Frames2d, Source::Residual)>(drawn_image(draw_));
        case 1:
            return expect_agrees<small_config(1, 64, 64, Activation::Frames2d, Source::None)>(drawn_image(draw_));
        case 2:
            return expect_agrees<small_config(1, 128, 64, Activation::Volume3d, Source::None)>(drawn_clip(draw_));
        default:
            return expect_agrees<small_config(1, 64, 64, Activation::Window3d, Source::Residual)>(drawn_clip(draw_));
    }
}
TEST_P(Drawn64Pixels, OfAPairsCtasAgree) {
    switch (GetParam() % 4) {
        case 0:
            return expect_agrees<small_config(2, 128, 128, Activation::Frames2d, Source::Residual)>(drawn_image(draw_));
        case 1:
            return expect_agrees<small_config(2, 64, 64, Activation::Frames2d, Source::None)>(drawn_image(draw_));
        case 2:
            return expect_agrees<small_config(2, 128, 64, Activation::Volume3d, Source::None)>(drawn_clip(draw_));
        default:
            return expect_agrees<small_config(2, 128, 128, Activation::Window3d, Source::Residual)>(drawn_clip(draw_));
    }
}
INSTANTIATE_TEST_SUITE_P(TwentyProblems, Drawn64Pixels, testing::Range(0u, 20u));

class DrawnMulticast : public DrawnProblem {};
TEST_P(DrawnMulticast, OfSingleCtasAgrees) {
    constexpr auto kIn = [](uint32_t x, uint32_t y, Source source) {
        return one_sm_128b({.filters = 64, .source = source, .cluster = {x, y}});
    };
    switch (GetParam() % 4) {
        case 0:
            return expect_agrees<kIn(2, 1, Source::None)>(drawn_image(draw_));
        case 1:
            return expect_agrees<kIn(1, 2, Source::Residual)>(drawn_image(draw_));
        case 2:
            return expect_agrees<kIn(2, 2, Source::None)>(drawn_image(draw_));
        default:
            return expect_agrees<one_sm_64b({.filters = 64, .cluster = {2, 2}})>(drawn_image(draw_));
    }
}
TEST_P(DrawnMulticast, OfPairsAgrees) {
    switch (GetParam() % 4) {
        case 0:
            return expect_agrees<two_sm_128b({.filters = 128, .cluster = {4, 1}})>(drawn_image(draw_));
        case 1:
            return expect_agrees<cluster_config(2, 128, 64, Activation::Window3d, 2, 2)>(drawn_clip(draw_));
        case 2:
            return expect_agrees<two_sm_64b({.filters = 64, .cluster = {2, 2}})>(drawn_image(draw_));
        default:
            return expect_agrees<cluster_config(2, 128, 64, Activation::Frames2d, 4, 2)>(drawn_image(draw_));
    }
}
INSTANTIATE_TEST_SUITE_P(TwentyProblems, DrawnMulticast, testing::Range(0u, 20u));

/// One to seven columns of tiles, of which the last panel has any number.
class DrawnPanels : public DrawnProblem {};
TEST_P(DrawnPanels, GiveEveryTileItsOwnPixelsAndFilters) {
    ConvCase conv{same2d(draw_.between(1, 4), draw_.between(4, 13), draw_.between(4, 17), 32 * draw_.between(1, 2),
                         8 * draw_.between(9, 30), 1, draw_.between(1, 3))};
    conv.panel = static_cast<uint32_t>(draw_.between(2, 4));
    conv.numbers = every_second() ? Numbers::Coded : Numbers::Random;
    if (GetParam() % 3 == 0) {
        expect_agrees<one_sm_64b({.filters = 64, .cluster = {2, 1}})>(conv);
    } else {
        expect_agrees<one_sm_64b({.filters = 64})>(conv);
    }
}
INSTANTIATE_TEST_SUITE_P(TwentyProblems, DrawnPanels, testing::Range(0u, 20u));

}  // namespace
}  // namespace kinetograph::sm100
