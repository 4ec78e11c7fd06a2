#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_launch.hpp>
#include <kinetograph/tests/kernels/hip/gfx950/passes/pass_run.hpp>

namespace kinetograph::gfx950 {
namespace {

TEST(UpsampleGfx950, MakesEveryPixelATwoByTwoBlock) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {1, 3, 6, 8, 12, 96, 200}) {
            for (const auto& [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {2, 40}}) {
                const UpsampleProblem problem{3, height, width, channels, storage};
                SCOPED_TRACE(launch_shape(problem).kernel + " " + std::to_string(channels));
                ASSERT_EQ(refusal(problem).value_or(""), "");
                TestFrames input(storage, 3, static_cast<size_t>(height * width * channels)),
                    output(storage, 3, input.elements() * 4);
                input.fill(1);
                const auto c = static_cast<size_t>(channels), w = static_cast<size_t>(width);
                expect_pass(
                    launch_shape(problem), make_params(problem, frame_table(input.inputs(), output.outputs())),
                    [&] { output.poison(); },
                    [&] {
                        output.expect_guards();
                        for (size_t f = 0; f < 3; ++f) {
                            for (size_t e = 0; e < output.elements(); ++e) {
                                const size_t x = e / c % (2 * w), y = e / c / (2 * w);
                                ASSERT_EQ(output.get(f, e), input.get(f, (y / 2 * w + x / 2) * c + e % c)) << e;
                            }
                        }
                    });
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(UpsampleGfx950, TakesTheLargestUnitThatDividesAPixel) {
    EXPECT_EQ(launch_shape(UpsampleProblem{1, 4, 4, 96}).kernel, "kinetograph_upsample_nearest2x_16");
    EXPECT_EQ(launch_shape(UpsampleProblem{1, 4, 4, 6}).kernel, "kinetograph_upsample_nearest2x_4");
    EXPECT_EQ(launch_shape(UpsampleProblem{1, 4, 4, 3}).kernel, "kinetograph_upsample_nearest2x_2");
    EXPECT_EQ(launch_shape(UpsampleProblem{1, 4, 4, 3, Element::F32}).kernel, "kinetograph_upsample_nearest2x_4");
    EXPECT_EQ(*refusal(UpsampleProblem{1, 70000, 4, 8}), "upsampling of 70000 rows: a grid has 1 to 65535");
}

void expect_im2col(const Im2colProblem& problem) {
    SCOPED_TRACE(launch_shape(problem).kernel);
    ASSERT_EQ(refusal(problem).value_or(""), "");
    const auto &d = problem.frames, &h = problem.height, &w = problem.width;
    TestFrames input(problem.storage, static_cast<size_t>(d.size),
                     static_cast<size_t>(h.size * w.size * problem.channels));
    TestFrames matrix(problem.storage, 1, static_cast<size_t>(d.output() * problem.pixels * problem.columns));
    input.fill(5);
    expect_pass(
        launch_shape(problem), make_params(problem, input.inputs(), matrix.frame(0)), [&] { matrix.poison(); },
        [&] {
            matrix.expect_guards();
            for (int64_t row = 0; row < d.output() * problem.pixels; ++row) {
                const int64_t pixel = row % problem.pixels + problem.first_pixel;
                for (int64_t k = 0; k < problem.columns; ++k) {
                    const int64_t c = k % problem.channels, tap = k / problem.channels;
                    const auto place = [](const Im2colProblem::Axis& axis, int64_t out, int64_t t) {
                        return out * axis.stride + t * axis.dilation - axis.pad_before;
                    };
                    const int64_t t = place(d, row / problem.pixels, tap / (h.taps * w.taps));
                    const int64_t y = place(h, pixel / w.output(), tap / w.taps % h.taps);
                    const int64_t x = place(w, pixel % w.output(), tap % w.taps);
                    const bool inside =
                        k < problem.taps() && t >= 0 && t < d.size && y >= 0 && y < h.size && x >= 0 && x < w.size;
                    const float want = inside ? input.get(static_cast<size_t>(t),
                                                          static_cast<size_t>((y * w.size + x) * problem.channels + c))
                                              : 0;
                    ASSERT_EQ(matrix.get(0, static_cast<size_t>(row * problem.columns + k)), want)
                        << "row " << row << ", column " << k;
                }
            }
        });
}

TEST(Im2colGfx950, GathersWhatEveryTapMeets) {
    using Axis = Im2colProblem::Axis;
    const Axis single{}, same3{7, 3, 1, 1, 1, 1}, history{4, 3};
    for (const Element storage : {Element::F32, Element::BF16, Element::F8E4M3}) {
        for (const int64_t channels : {1, 3, 6, 8, 16}) {
            const auto k = [&](int64_t taps) { return taps * channels; };
            // 3x3, causal 3x3x3 over frames with their history, and causal with padding frames instead.
            expect_im2col({single, same3, {5, 3, 1, 1, 1, 1}, channels, storage, k(9), 0, 35});
            expect_im2col({history, same3, {5, 3, 1, 1, 1, 1}, channels, storage, k(27), 0, 35});
            expect_im2col({{3, 3, 1, 1, 2, 0}, {4, 1}, {6, 1}, channels, storage, k(3) + 8, 0, 24});
            expect_im2col({{2, 3, 1, 1, 1, 1}, {4, 1}, {6, 1}, channels, storage, k(3), 0, 24});
            // Strides, dilations, no padding, asymmetric padding, columns beyond K, a part of the pixels.
            expect_im2col({{5, 2, 2, 2}, {9, 3, 2, 1, 0, 1}, {8, 2, 3, 2, 1, 0}, channels, storage, k(12) + 40, 3, 5});
            expect_im2col({single, {7, 7, 1, 1, 3, 3}, {6, 5, 1, 1, 2, 2}, channels, storage, k(35), 11, 20});
            if (HasFatalFailure()) return;
        }
    }
}

TEST(Im2colGfx950, RefusesWhatHasNoOutput) {
    EXPECT_EQ(*refusal(Im2colProblem{{}, {2, 5, 1, 1, 1, 1}, {5}, 8, Element::BF16, 40, 0, 5}),
              "im2col: no output along the height: size 2, padding 1 and 1, 5 taps, dilation 1, stride 1");
    EXPECT_EQ(*refusal(Im2colProblem{{}, {4}, {5}, 8, Element::BF16, 8, 10, 15}),
              "im2col of pixels 10 to 25 of an output frame of 20");
    EXPECT_EQ(*refusal(Im2colProblem{{}, {4}, {5}, 8, Element::BF16, 7, 0, 20}),
              "im2col of 8 taps and channels into 7 columns");
}

}  // namespace
}  // namespace kinetograph::gfx950
