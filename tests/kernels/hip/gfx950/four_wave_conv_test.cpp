#include <gtest/gtest.h>

#include <tuple>

#include "conv_case.hpp"

namespace kinetograph::gfx950 {
namespace {

using enum Element;
using Problem = ConvProblem;

constexpr uint64_t kSchedules = 3;  // late, at once and mixed landing

/// The kernel runs to its end under every schedule, gives the reference's values and reads LDS without bank conflicts.
void expect_agrees(const ConvCase& conv, uint64_t schedules = kSchedules) {
    const ConvPlanResult planned = plan_four_wave_conv(conv.problem, conv.overrides);
    ASSERT_EQ(planned.error, "") << describe(conv);
    ConvRun run(conv);
    for (uint64_t seed = 0; seed < schedules; ++seed) {
        const host_model::WaveOutcome outcome = run.run(seed);
        const std::string what =
            describe(conv) + " by " + std::string(run.plan().kernel->name) + " seed " + std::to_string(seed);
        ASSERT_EQ(outcome.fault.value_or(""), "") << what;
        ASSERT_EQ(run.compare(), "") << what;
        EXPECT_EQ(outcome.lds_read_conflicts, 0u) << what;
        EXPECT_GT(outcome.matrix_products, 0u) << what;
    }
}

void expect_all_agree(const std::vector<ConvCase>& cases) {
    for (const ConvCase& conv : cases) {
        expect_agrees(conv);
        if (testing::Test::HasFatalFailure()) return;
    }
}

struct Pads {
    int64_t top, bottom, left, right;
};

/// An odd image, so that rows end inside tiles.
Problem conv2d(Element element, int64_t c_in, int64_t c_out, int64_t taps, Pads pad, int64_t h = 9, int64_t w = 13) {
    Problem problem{.h = h,
                    .w = w,
                    .c_in = c_in,
                    .filter = {c_out, 1, taps, taps},
                    .stride = {},
                    .dilation = {},
                    .pad = {.top = pad.top, .bottom = pad.bottom, .left = pad.left, .right = pad.right}};
    set_element(problem, element);
    return problem;
}

/// 3x3 and padded by 1, without which `change` makes it another.
template <class Change>
Problem same(Element element, int64_t c_in, int64_t c_out, const Change& change) {
    Problem problem = conv2d(element, c_in, c_out, 3, {1, 1, 1, 1});
    change(problem);
    return problem;
}

int64_t channels_for(const ConvKernel& kernel) {
    const bool fp8 = kernel.element == F8E4M3;
    switch (kernel.path) {
        case ConvPath::Uniform:
            return kernel.tile.bk;
        case ConvPath::Padded:
        case ConvPath::Chunks:
            return 48;
        case ConvPath::Pieces:
            return fp8 ? 36 : 20;
        case ConvPath::Elements:
            return 3;
    }
    return 0;
}

/// Whether the kernel takes numbers of output channels that are no multiple of 8.
bool ragged(const ConvKernel& kernel) { return kernel.tile.bm * kernel.tile.bn <= 128 * 128; }

TEST(FourWaveConv, EveryKernelAgreesWithTheReference) {
    for (const ConvKernel& kernel : kConvKernels) {
        expect_agrees({.problem = conv2d(kernel.element, channels_for(kernel), 72, 3, {1, 1, 1, 1}),
                       .overrides = {.tile = kernel.tile, .path = kernel.path}});
        if (HasFatalFailure()) return;
    }
}

TEST(FourWaveConv, EveryKernelCopiesIndexedValuesToTheBit) {
    for (const ConvKernel& kernel : kConvKernels) {
        Problem problem =
            conv2d(kernel.element, channels_for(kernel), ragged(kernel) ? 65 : 72, 3, {1, 1, 1, 1}, 7, 10);
        problem.bias = false;
        expect_agrees(
            {.problem = problem, .overrides = {.tile = kernel.tile, .path = kernel.path}, .data = Data::Indexed}, 1);
        if (HasFatalFailure()) return;
    }
}

TEST(FourWaveConv, SumsOfIntegersAreExact) {
    for (const Element element : {BF16, F16, F8E4M3}) {
        for (const int64_t c_in : {3, 16, 36, 64, 128}) {
            expect_agrees({.problem = conv2d(element, c_in, 33, 3, {1, 1, 1, 1}), .data = Data::Integer});
            if (HasFatalFailure()) return;
        }
    }
}

TEST(FourWaveConv, AgreesForEveryNumberOfInputChannels) {
    for (const Element element : {BF16, F16, F8E4M3}) {
        for (const int64_t c_in : {1, 3, 4, 7, 8, 16, 48, 64, 96, 100, 128, 160, 384}) {
            expect_agrees({.problem = conv2d(element, c_in, 40, 3, {1, 1, 1, 1}, 7, 9)}, c_in > 100 ? 2 : kSchedules);
            if (HasFatalFailure()) return;
        }
    }
}

/// Pixels that end inside a k block: a tap's last one is filled up with zeros.
TEST(FourWaveConv, AgreesWhereEveryTapIsPaddedToWholeKBlocks) {
    const auto by = [](uint32_t columns, Problem problem, uint32_t splits = 1) {
        const ConvOverrides overrides{.tile = ConvTile{256, columns, 32}, .path = ConvPath::Padded, .splits = splits};
        return ConvCase{.problem = problem, .overrides = overrides, .input_frames = problem.d};
    };
    std::vector<ConvCase> cases;
    for (const uint32_t columns : {32U, 64U, 96U}) {
        for (const int64_t c_in : {8, 16, 24, 40, 48, 72})
            cases.push_back(by(columns, conv2d(c_in == 40 ? F16 : BF16, c_in, columns - 8, 3, {1, 1, 1, 1})));
    }
    const auto causal = [](Problem& p) {
        set_time(p, 3, 2);
        p.activation = Activation::Silu;
        p.residual = true;
    };
    const auto doubled = [](Problem& p) { p.upsample = true; };
    const auto apart = [](Problem& p) { p.stride = {1, 2, 3}, p.dilation.w = 2, p.pad.bottom = 0; };
    const auto normed = [](Problem& p) { p.norm = Norm::Beside; };
    const auto sums = [](Problem& p) {
        set_time(p, 3, 2);
        p.bias = false;
        p.output = p.normed = F32;
    };
    for (const int64_t c_in : {24, 48}) {
        cases.push_back(by(32, same(BF16, c_in, 24, causal)));
        cases.push_back(by(32, same(F16, c_in, 3, causal)));
        cases.push_back(by(64, same(BF16, c_in, 48, doubled)));
        cases.push_back(by(64, same(F16, c_in, 100, apart)));
        cases.push_back(by(96, same(BF16, c_in, 96, normed)));
        cases.push_back(by(32, same(BF16, c_in, 40, sums), 3));
        cases.back().data = Data::Integer;
    }
    cases.push_back(by(32, conv2d(BF16, 24, 1, 1, {0, 0, 0, 0}, 1, 1)));
    expect_all_agree(cases);
}

TEST(FourWaveConv, AgreesForFiltersFromOneTapToSevenByFive) {
    expect_all_agree({
        {.problem = conv2d(BF16, 64, 64, 1, {0, 0, 0, 0})},
        {.problem = conv2d(BF16, 3, 24, 1, {0, 0, 0, 0})},
        {.problem = conv2d(F8E4M3, 16, 32, 2, {0, 1, 0, 1})},
        {.problem = conv2d(BF16, 16, 32, 5, {2, 2, 2, 2})},
        {.problem = conv2d(F16, 32, 32, 7, {3, 3, 3, 3})},
        {.problem = conv2d(BF16, 3, 32, 7, {3, 3, 3, 3})},
        {.problem =
             same(BF16, 48, 64, [](Problem& p) { p.filter.r = 7, p.filter.s = 5, p.pad.top = p.pad.bottom = 3; })},
        {.problem = same(BF16, 96, 16, [](Problem& p) { p.filter.s = 1, p.pad.left = p.pad.right = 0; })},
        {.problem = same(BF16, 64, 16, [](Problem& p) { p.filter.r = 1, p.pad.top = p.pad.bottom = 0; })},
    });
}

TEST(FourWaveConv, AgreesForStridesAndDilations) {
    const auto stride2 = [](Problem& p) { p.stride.h = p.stride.w = 2; };
    const auto dilation2 = [](Problem& p) { p.dilation.h = p.dilation.w = p.pad.top = p.pad.bottom = 2; };
    expect_all_agree({
        {.problem = same(BF16, 64, 64, stride2)},
        {.problem = same(F16, 48, 64, stride2)},
        {.problem = same(BF16, 100, 20, stride2)},
        {.problem = same(F8E4M3, 128, 64, stride2)},
        {.problem = same(BF16, 64, 64, dilation2)},
        {.problem = same(F8E4M3, 48, 64, dilation2)},
        {.problem = same(BF16, 3, 64, dilation2)},
        {.problem = same(BF16, 64, 64, [](Problem& p) { p.dilation.w = p.pad.left = p.pad.right = 2; })},
        {.problem = same(BF16, 64, 64, [](Problem& p) { p.dilation.h = p.pad.top = p.pad.bottom = 2; })},
        {.problem = same(F16, 48, 64, [](Problem& p) { p.dilation.w = p.pad.left = p.pad.right = 3; })},
        {.problem = same(BF16, 32, 32,
                         [](Problem& p) {
                             p.stride = {1, 3, 2}, p.dilation.w = 3;
                         })},
    });
}

TEST(FourWaveConv, AgreesForPaddingOfEverySide) {
    expect_all_agree({
        {.problem = conv2d(BF16, 64, 64, 3, {0, 0, 0, 0})},
        {.problem = conv2d(BF16, 64, 64, 3, {2, 2, 2, 2})},
        {.problem = conv2d(BF16, 64, 64, 3, {3, 3, 3, 3})},
        {.problem = conv2d(F16, 64, 64, 3, {0, 1, 0, 1})},
        {.problem = conv2d(BF16, 48, 64, 3, {3, 0, 1, 2})},
        {.problem = conv2d(F8E4M3, 128, 64, 3, {1, 0, 3, 0})},
        {.problem = conv2d(BF16, 64, 64, 7, {3, 3, 3, 3}, 2, 3)},  // a filter larger than the image
    });
}

TEST(FourWaveConv, AgreesForRaggedPixelsAndChannels) {
    expect_all_agree({
        {.problem = conv2d(BF16, 64, 3, 3, {1, 1, 1, 1})},
        {.problem = conv2d(BF16, 64, 1, 3, {1, 1, 1, 1}, 1, 1)},
        {.problem = conv2d(BF16, 32, 257, 1, {0, 0, 0, 0}, 5, 3)},
        {.problem = conv2d(BF16, 32, 130, 3, {1, 1, 1, 1}, 16, 17), .overrides = {.tile = ConvTile{128, 128, 32}}},
        {.problem = conv2d(BF16, 32, 258, 1, {0, 0, 0, 0}, 13, 11), .overrides = {.tile = ConvTile{128, 128, 32}}},
        {.problem = conv2d(F16, 64, 67, 3, {1, 1, 1, 1}, 8, 8)},
        {.problem = conv2d(F8E4M3, 128, 66, 3, {1, 1, 1, 1}, 9, 15)},
    });
}

TEST(FourWaveConv, AgreesInThreeDimensionsWithCausalFrames) {
    const auto causal = [](Element element, int64_t c_in, int64_t c_out, int64_t q, int64_t frames, int64_t taps) {
        Problem problem = conv2d(element, c_in, c_out, taps, {taps / 2, taps / 2, taps / 2, taps / 2}, 6, 7);
        set_time(problem, q, frames);
        return ConvCase{.problem = problem, .input_frames = frames};
    };
    expect_all_agree({
        causal(BF16, 64, 64, 3, 4, 3),
        causal(BF16, 96, 96, 3, 3, 3),
        causal(BF16, 48, 64, 3, 3, 3),
        causal(BF16, 16, 32, 3, 2, 3),
        causal(BF16, 3, 32, 3, 2, 3),
        causal(BF16, 100, 32, 3, 2, 3),
        causal(F16, 32, 32, 3, 3, 3),
        causal(F8E4M3, 128, 32, 3, 2, 3),
        causal(F8E4M3, 20, 32, 3, 2, 3),
        causal(BF16, 64, 128, 3, 2, 1),  // time convolution
        causal(BF16, 32, 16, 2, 5, 3),
        causal(BF16, 16, 16, 5, 4, 1),
    });
}

TEST(FourWaveConv, TakesMoreFramesThanOneLaunchNames) {
    Problem problem = conv2d(BF16, 32, 16, 1, {0, 0, 0, 0}, 3, 5);
    set_time(problem, 3, 45);
    expect_agrees({.problem = problem, .input_frames = 45});
}

TEST(FourWaveConv, ReadsTheSmallImageThroughANearestUpsampling) {
    const auto upsampled = [](Problem& p) { p.upsample = true; };
    expect_all_agree({
        {.problem = same(BF16, 64, 64, upsampled)},
        {.problem = same(BF16, 48, 32, upsampled)},
        {.problem = same(F16, 20, 32, upsampled)},
        {.problem = same(F8E4M3, 128, 32, upsampled)},
        {.problem = same(BF16, 3, 32, [](Problem& p) { p.upsample = true, p.stride.h = p.stride.w = 2; })},
    });
}

TEST(FourWaveConv, EveryFormOfTheEpilogueAgrees) {
    for (const Element element : {BF16, F16, F8E4M3}) {
        for (int form = 0; form < 8; ++form) {
            for (const int64_t c_out : {64, 19}) {
                Problem problem = conv2d(element, element == F8E4M3 ? 128 : 32, c_out, 3, {1, 1, 1, 1});
                problem.bias = (form & 1) != 0;
                problem.residual = (form & 4) != 0;
                if (form >= 4) problem.activation = Activation::Relu;
                if ((form & 2) != 0) problem.activation = Activation::Silu;
                problem.negative_slope = problem.bias ? 0.2f : 0.0f;
                problem.beta = 0.75f;
                expect_agrees({.problem = problem}, 1);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(FourWaveConv, StoresFloat32WithoutRounding) {
    for (const Element element : {BF16, F16, F8E4M3}) {
        for (const int64_t c_out : {3, 64}) {
            Problem problem = conv2d(element, 48, c_out, 3, {1, 1, 1, 1});
            problem.output = problem.normed = F32;
            problem.activation = c_out == 64 ? Activation::Silu : Activation::None;
            expect_agrees({.problem = problem});
            problem.activation = Activation::None;
            expect_agrees({.problem = problem, .data = Data::Integer}, 1);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(FourWaveConv, NormsItsOutputOverTheChannelsOfATile) {
    for (const int64_t c_out : {16, 32, 64, 96, 99, 128, 192}) {
        for (const bool beside : {false, true}) {
            Problem problem = conv2d(c_out == 64 ? F16 : BF16, 32, c_out, 3, {1, 1, 1, 1});
            problem.norm = beside ? Norm::Beside : Norm::Instead;
            problem.norm_activation = c_out != 96 ? Activation::Silu : Activation::None;
            problem.residual = beside;
            expect_agrees({.problem = problem}, beside ? 3 : 1);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(FourWaveConv, DoublesItsInputByFourFiltersOnTheStoredImage) {
    for (const auto& [element, c_in, c_out] :
         {std::tuple{BF16, 64, 64}, {BF16, 48, 96}, {F16, 64, 32}, {F16, 20, 40}, {BF16, 3, 19}, {BF16, 96, 72}}) {
        const Problem problem = same(element, c_in, c_out, [](Problem& p) { p.upsample = true; });
        ASSERT_TRUE(is_folded(problem));
        expect_agrees({.problem = problem});
        expect_agrees({.problem = problem, .data = Data::Integer}, 1);  // four integers of one digit fold exactly
        if (HasFatalFailure()) return;
    }
    const auto with_more = [](Problem& p) {
        p.upsample = p.residual = true;
        p.activation = Activation::Silu;
        p.norm = Norm::Beside;
    };
    expect_agrees({.problem = same(BF16, 64, 96, with_more)});
    const auto in_time = [](Problem& p) {
        p.upsample = true;
        set_time(p, 3, 2);
    };
    expect_agrees({.problem = same(BF16, 32, 40, in_time), .input_frames = 2});
    for (const ConvTile tile : {ConvTile{128, 192, 64}, {256, 192, 64}, {256, 256, 64}, {128, 128, 64}})
        expect_agrees(
            {.problem = same(BF16, 64, 72, [](Problem& p) { p.upsample = true; }), .overrides = {.tile = tile}});
}

TEST(FourWaveConv, PartsOfKAddUpToTheWhole) {
    const auto sums = [](Element element, int64_t c_in, int64_t c_out, int64_t frames) {
        Problem problem = conv2d(element, c_in, c_out, 3, {1, 1, 1, 1});
        set_time(problem, 3, frames);
        problem.bias = false;
        problem.output = problem.normed = F32;
        return problem;
    };
    for (const uint32_t splits : {2U, 3U, 5U, 8U}) {
        for (const auto& [element, c_in, tile] : {std::tuple{BF16, 64, ConvTile{64, 64, 64}},
                                                  {BF16, 32, ConvTile{256, 96, 32}},
                                                  {F16, 128, ConvTile{128, 192, 64}},
                                                  {BF16, 48, ConvTile{64, 64, 64}},
                                                  {BF16, 20, ConvTile{64, 64, 32}},
                                                  {F8E4M3, 128, ConvTile{64, 64, 128}}}) {
            const Problem problem = sums(element, c_in, 40, 2);
            const bool uniform = c_in % tile.bk == 0;
            const ConvPath path = uniform ? ConvPath::Uniform : c_in == 48 ? ConvPath::Chunks : ConvPath::Pieces;
            const ConvOverrides overrides{.tile = tile, .path = path, .splits = splits};
            expect_agrees({.problem = problem, .overrides = overrides, .data = Data::Integer, .input_frames = 2});
            if (HasFatalFailure()) return;
        }
    }
    // A frame of zeros before the stream lies in the first part.
    expect_agrees({.problem = sums(BF16, 64, 40, 1), .overrides = {.splits = 3}, .data = Data::Integer});
}

/// Images that follow each other in memory: 16 of 7 x 7 pixels are 13 tiles of 64, and tiles begin within an image.
TEST(FourWaveConv, WalksThePixelsOfAllImagesAsOneFrame) {
    const auto images = [](Element element, int64_t c_in, int64_t c_out, int64_t count, int64_t taps = 3) {
        Problem problem = conv2d(element, c_in, c_out, taps, {taps / 2, taps / 2, taps / 2, taps / 2}, 7, 7);
        set_time(problem, 1, count);
        return ConvCase{.problem = problem, .input_frames = count, .dense = true};
    };
    ConvCase sixteen = images(BF16, 64, 64, 16);
    sixteen.overrides.tile = ConvTile{64, 64, 64};
    for (const Data data : {Data::Random, Data::Indexed}) {
        sixteen.data = data;
        ConvRun run(sixteen);
        EXPECT_EQ(run.run(0).fault.value_or(""), "");
        EXPECT_EQ(run.compare(), "");
        EXPECT_EQ(run.workgroups(), 13u);
    }
    std::vector<ConvCase> cases{images(F16, 96, 96, 3), images(F8E4M3, 128, 40, 5), images(BF16, 64, 24, 40, 1)};
    cases.push_back(images(BF16, 48, 40, 4));  // padded taps
    cases.back().overrides = {.tile = ConvTile{256, 64, 32}, .path = ConvPath::Padded};
    cases.push_back(images(BF16, 64, 72, 3));
    cases.back().problem.stride = {1, 2, 2};
    cases.push_back(images(BF16, 64, 96, 3));
    cases.back().problem.residual = true;
    cases.back().problem.norm = Norm::Beside;
    cases.push_back(images(BF16, 48, 40, 4));  // lanes with taps of their own do not
    cases.back().overrides.path = ConvPath::Chunks;
    expect_all_agree(cases);
}

TEST(FourWaveConv, ScalesItsSumsByChannel) {
    for (const Element element : {F8E4M3, BF16, F16}) {
        for (const int64_t c_out : {16, 40, 64, 67, 96, 192}) {
            Problem problem = conv2d(element, 128, c_out, 1, {0, 0, 0, 0});
            problem.channel_scales = true;
            problem.activation = c_out == 64 ? Activation::Silu : Activation::None;
            problem.residual = c_out == 40;
            expect_agrees({.problem = problem});
            if (HasFatalFailure()) return;
        }
    }
    Problem problem = conv2d(F8E4M3, 128, 64, 3, {1, 1, 1, 1});
    problem.channel_scales = true;
    problem.norm = Norm::Beside;
    expect_agrees({.problem = problem});
}

TEST(FourWaveConv, ALargeGridIsRemappedAndStillCoversEveryTile) {
    expect_agrees(
        {.problem = conv2d(BF16, 32, 6, 1, {0, 0, 0, 0}, 129, 517), .overrides = {.tile = ConvTile{64, 64, 32}}}, 1);
}

TEST(FourWaveConv, AnEmptyProblemLaunchesNothing) {
    for (const Problem& problem :
         {conv2d(BF16, 64, 64, 3, {1, 1, 1, 1}, 0, 5), conv2d(BF16, 64, 0, 3, {1, 1, 1, 1}),
          conv2d(BF16, 64, 64, 5, {0, 0, 0, 0}, 4, 9), same(BF16, 64, 64, [](Problem& p) { p.d = 0; })}) {
        const ConvPlanResult planned = plan_four_wave_conv(problem);
        ASSERT_EQ(planned.error, "");
        EXPECT_TRUE(launches(*planned.plan, {}).empty());
    }
}

}  // namespace
}  // namespace kinetograph::gfx950
