#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "conv_case.hpp"

/// Twenty drawn problems for every path of FourWaveConv beyond its first tiles, each under three schedules against
/// fp64. What else is asked of a path is in four_wave_conv_test.cpp (parts of K, padded pixels: more than twenty
/// problems there), its faults in four_wave_conv_faults_test.cpp.
namespace kinetograph::gfx950 {
namespace {

constexpr uint64_t kSchedules = 3;
constexpr uint32_t kProblems = 20;

class Draw {
  public:
    explicit Draw(uint32_t seed) : dice_(seed) {}
    int64_t between(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(dice_); }
    bool chance() { return between(0, 1) == 1; }

  private:
    std::mt19937 dice_;
};

struct Path {
    const char* name;
    std::vector<ConvTile> tiles;  ///< taken in turn; none: the dispatch's
    ConvPath loader = ConvPath::Uniform;
    void (*change)(ConvProblem& problem, Draw& draw) = [](ConvProblem&, Draw&) {};
};

/// bf16 with few taps, channels in whole k blocks of 64, any epilogue; ragged pixels and channels.
ConvProblem drawn(Draw& draw) {
    ConvProblem p{.h = draw.between(2, 9),
                  .w = draw.between(2, 13),
                  .c_in = 64,
                  .filter = {.k = 8 * draw.between(1, 12), .r = draw.between(1, 2), .s = draw.between(1, 2)},
                  .stride = {},
                  .dilation = {},
                  .pad = {}};
    set_element(p, draw.chance() ? Element::BF16 : Element::F16);
    p.pad.top = draw.between(0, 2), p.pad.bottom = draw.between(0, 1);
    p.pad.left = draw.between(0, 1), p.pad.right = draw.between(0, 2);
    p.bias = draw.chance();
    p.activation = draw.chance() ? Activation::Silu : Activation::None;
    p.residual = draw.chance();
    p.beta = 0.5f;
    return p;
}

const Path kPaths[] = {
    {"Tile128x192", {{128, 192, 64}}},
    {"Tile256x192", {{256, 192, 64}}},
    {"Tile256x256", {{256, 256, 64}}},
    {"FewFilters",
     {{256, 32, 32}, {256, 64, 32}, {256, 96, 32}},
     ConvPath::Uniform,
     [](ConvProblem& p, Draw& draw) {
         p.c_in = 32 * draw.between(1, 3);
         if (draw.chance()) p.filter.k = draw.between(1, 3) * 8;
     }},
    {"UpsamplingByFourFilters",
     {{128, 128, 64}, {128, 192, 64}, {64, 64, 64}},
     ConvPath::Uniform,
     [](ConvProblem& p, Draw&) {
         p.upsample = true;
         p.filter.r = p.filter.s = 3;
         p.pad.top = p.pad.bottom = p.pad.left = p.pad.right = 1;
     }},
    {"NormInTheEpilogue",
     {{128, 192, 64}, {128, 128, 64}, {64, 64, 64}},
     ConvPath::Uniform,
     [](ConvProblem& p, Draw& draw) {
         p.filter.k = std::min<int64_t>(p.filter.k, 64);
         p.norm_activation = draw.chance() ? Activation::Silu : Activation::None;
         p.norm = draw.chance() ? Norm::Beside : Norm::Instead;
     }},
    {"ScalesOfFp8",
     {{64, 64, 128}, {128, 128, 128}, {128, 192, 128}},
     ConvPath::Uniform,
     [](ConvProblem& p, Draw&) {
         set_element(p, Element::F8E4M3);
         p.c_in = 128;
         p.channel_scales = true;
     }},
};

class DrawnProblems : public testing::TestWithParam<size_t> {};

TEST_P(DrawnProblems, AgreeWithFp64) {
    const Path& path = kPaths[GetParam()];
    for (uint32_t i = 0; i < kProblems; ++i) {
        Draw draw(1000 * static_cast<uint32_t>(GetParam()) + i);
        ConvCase conv{.problem = drawn(draw)};
        path.change(conv.problem, draw);
        conv.overrides = {.tile = path.tiles[i % path.tiles.size()], .path = path.loader};
        ASSERT_EQ(plan_four_wave_conv(conv.problem, conv.overrides).error, "") << describe(conv);
        ConvRun run(conv);
        for (uint64_t seed = 0; seed < kSchedules; ++seed) {
            const host_model::WaveOutcome outcome = run.run(seed);
            ASSERT_EQ(outcome.fault.value_or(""), "") << describe(conv) << ", schedule " << seed;
            ASSERT_EQ(run.compare(), "") << describe(conv) << ", schedule " << seed;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Paths, DrawnProblems, testing::Range<size_t>(0, std::size(kPaths)),
                         [](const auto& test) { return std::string(kPaths[test.param].name); });

}  // namespace
}  // namespace kinetograph::gfx950
