#include <gtest/gtest.h>

#include <algorithm>
#include <kinetograph/tests/kernels/cuda/sm80/random_case.hpp>

#include "halo_conv.hpp"
#include "open_on_b200.hpp"

/// Twenty drawn problems for everything that the halo kernel does besides plain convolutions, each in the tile that the
/// path names or the dispatch gives it, under every schedule against fp64.
namespace kinetograph::sm100 {
namespace {

using sm80::RandomRange;

struct Path {
    const char* name;
    RandomRange range;
    void (*change)(ConvCase& conv);  ///< a drawn problem to one of the path
    bool (*takes)(const ConvCase& conv, const HaloConfig& tile);
    std::string_view kernel = "";  ///< none: the dispatch's
};

/// The path's tile for the problem; null if it has none.
const NamedHaloConfig* tile_for(const Path& path, const ConvCase& conv) {
    const NamedHaloConfig* tile = nullptr;
    if (path.kernel.empty()) {
        tile = choose_halo_config(conv.problem(), {.sms = kTestSms});
    } else {
        tile = &*std::ranges::find(halo_configs(), path.kernel, &NamedHaloConfig::kernel);
        if (!fits(tile->config, conv.problem())) tile = nullptr;
    }
    return tile != nullptr && path.takes(conv, tile->config) ? tile : nullptr;
}

bool is_wide(const HaloConfig& tile) { return tile.sharing == HaloSharing::Pixels; }

void double_input(ConvCase& conv) {
    conv.shape.upsample = true;
    conv.shape.pad.top = conv.shape.pad.bottom = conv.shape.pad.left = conv.shape.pad.right = 1;
}

void add_norm(ConvCase& conv) {
    conv.shape.upsample = false;
    conv.epilogue.norm = conv.seed % 2 == 0 ? Norm::Beside : Norm::Instead;
}

const Path kPaths[] = {
    {"NormOf96Channels",
     {.h = {1, 3, 17}, .w = {4, 9, 19}, .c_in = {16, 40, 64}, .k = {40, 64, 88, 96}, .taps = {{1, 1}, {3, 3}}},
     add_norm,
     [](const ConvCase&, const HaloConfig& tile) { return tile.bn == 96; }},
    {"NormOf192Channels",
     {.h = {1, 3, 17}, .w = {4, 9, 19}, .c_in = {16, 40, 64}, .k = {104, 128, 192}, .taps = {{1, 1}, {3, 3}}},
     add_norm,
     [](const ConvCase&, const HaloConfig& tile) { return tile.bn == 192 && !is_wide(tile); }},
    {"NormOf384Channels",
     {.h = {1, 3, 17}, .w = {4, 9, 19}, .c_in = {16, 40, 64, 128}, .k = {200, 264, 384}, .taps = {{1, 1}, {3, 3}}},
     add_norm,
     [](const ConvCase&, const HaloConfig& tile) { return is_wide(tile); }},
    {"UpsamplingBySubPixels",
     {.h = {1, 3, 9}, .w = {1, 4, 9}, .c_in = {16, 40, 64}, .k = {16, 40, 96}, .taps = {{3, 3}}},
     double_input,
     [](const ConvCase&, const HaloConfig& tile) { return tile.side == 2; }},
    {"HeadOfFewChannels",
     {.h = {1, 3, 17, 33}, .w = {1, 4, 9, 19}, .c_in = {8, 16, 40, 96}, .k = {1, 3, 4, 12}, .taps = {{1, 1}, {3, 3}}},
     [](ConvCase& conv) {
         conv.residual = false;
         conv.epilogue.norm = Norm::None;
         conv.epilogue.float32 = conv.seed % 2 == 0;
     },
     [](const ConvCase&, const HaloConfig& tile) { return tile.store == HaloStore::Pixels; }},
    {"SixteenChannels",
     {.h = {1, 3, 17}, .w = {4, 9, 19}, .c_in = {16}, .k = {16, 48, 96, 200}, .taps = {{1, 1}, {3, 3}, {3, 3}}},
     [](ConvCase&) {},
     [](const ConvCase&, const HaloConfig&) { return true; }},
    {"Fp16InThreeDimensions",
     {.h = {1, 3, 17}, .w = {4, 9, 19}, .c_in = {16, 40, 64}, .k = {3, 48, 96, 200}, .taps = {{1, 1}, {3, 3}}},
     [](ConvCase& conv) { conv.shape.input = conv.shape.weight = Element::F16; },
     [](const ConvCase& conv, const HaloConfig&) { return conv.shape.filter.q > 1 && conv.shape.d > 1; }},
    {"FiltersOfTwoPairs",
     {.h = {1, 3, 9}, .w = {4, 19, 33}, .c_in = {64, 64, 128}, .k = {40, 96, 104, 192}, .taps = {{3, 3}}},
     [](ConvCase& conv) { conv.shape.upsample = false; },
     [](const ConvCase& conv, const HaloConfig&) { return conv.shape.input.element == Element::BF16; },
     "sm100_halo_bf16_n192_16x8_3_64_shared"},
    {"FiltersOfTwoPairsUpsampling",
     {.h = {1, 3}, .w = {4, 9, 20}, .c_in = {64}, .k = {40, 96, 104, 192}, .taps = {{3, 3}}},
     double_input,
     [](const ConvCase& conv, const HaloConfig&) { return conv.shape.input.element == Element::BF16; },
     "sm100_halo_bf16_n192_16x8_2_64_shared"},
};

/// A path and a quarter of its problems.
class DrawnHaloConv : public testing::TestWithParam<std::tuple<size_t, uint32_t>> {};

TEST_P(DrawnHaloConv, AgreesWithFp64) {
    const auto [index, quarter] = GetParam();
    const Path& path = kPaths[index];
    uint32_t computed = 0;
    for (uint32_t seed = 10000 * static_cast<uint32_t>(index) + 1000 * quarter; computed < 5; ++seed) {
        ConvCase conv = sm80::random_case(seed, path.range);
        conv.shape.n = 1;
        conv.shape.d = std::min<int64_t>(conv.shape.d, 2);
        path.change(conv);
        if (conv.shape.empty() || !is_open_on_b200(conv.problem())) continue;
        const NamedHaloConfig* tile = tile_for(path, conv);
        if (tile == nullptr) continue;
        ++computed;
        EXPECT_EQ(halo_disagreement(conv, tile->kernel), "")
            << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(TwentyProblems, DrawnHaloConv,
                         testing::Combine(testing::Range<size_t>(0, std::size(kPaths)), testing::Range(0u, 4u)),
                         [](const auto& test) {
                             return std::string(kPaths[std::get<0>(test.param)].name) +
                                    std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace kinetograph::sm100
