#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_launch.hpp>
#include <kinetograph/tests/kernels/hip/gfx950/passes/pass_run.hpp>

namespace kinetograph::gfx950 {
namespace {

std::vector<float> make_gamma(int64_t channels) {
    std::vector<float> gamma(static_cast<size_t>(channels));
    for (size_t c = 0; c < gamma.size(); ++c) gamma[c] = 1 + 0.1f * std::sin(static_cast<float>(c));
    return gamma;
}

/// The norm of a frame in double.
std::vector<double> exact(const RmsNormProblem& problem, const TestFrames& input, const std::vector<float>& gamma,
                          size_t frame) {
    const auto channels = static_cast<size_t>(problem.channels);
    std::vector<double> result(input.elements());
    for (size_t first = 0; first < result.size(); first += channels) {
        double squares = 0;
        for (size_t c = 0; c < channels; ++c) squares += std::pow(input.get(frame, first + c), 2);
        const double scale = std::sqrt(static_cast<double>(channels)) / std::max(std::sqrt(squares), 1e-12);
        for (size_t c = 0; c < channels; ++c) {
            const double value = input.get(frame, first + c) * scale * gamma[c];
            result[first + c] = problem.silu ? value / (1 + std::exp(-value)) : value;
        }
    }
    return result;
}

void expect_norm(const RmsNormProblem& problem, const TestFrames& input, TestFrames& output) {
    const std::vector<float> gamma = make_gamma(problem.channels);
    ASSERT_EQ(refusal(problem).value_or(""), "");
    const RmsNormParams params = make_params(problem, frame_table(input.inputs(), output.outputs()), gamma.data());
    std::vector<std::vector<double>> want(input.frames());
    for (size_t f = 0; f < want.size(); ++f) want[f] = exact(problem, input, gamma, f);
    expect_pass(
        launch_shape(problem), params, [&] { output.poison(); },
        [&] {
            output.expect_guards();
            for (size_t f = 0; f < input.frames(); ++f) {
                for (size_t e = 0; e < input.elements(); ++e) {
                    ASSERT_NEAR(output.get(f, e), want[f][e], tolerance(problem.storage, want[f][e]))
                        << problem.channels << " channels, frame " << f << ", element " << e;
                }
            }
        });
}

TEST(RmsNormGfx950, AgreesWithFp64ReferenceForEveryWidth) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {1, 3, 4, 8, 16, 17, 32, 40, 64, 96, 100, 128, 192, 384, 520, 768, 999, 1024}) {
            SCOPED_TRACE(element_name(storage));
            const RmsNormProblem problem{1, channels % 3 == 0 ? 67 : 130, channels, storage, channels % 2 == 0};
            TestFrames input(storage, 1, static_cast<size_t>(problem.pixels * channels)), output = input;
            input.fill(static_cast<uint64_t>(channels));
            expect_norm(problem, input, output);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(RmsNormGfx950, ReadsAndWritesFramesWhereverTheyLie) {
    for (const int64_t frames : {2, 5, 16}) {
        const RmsNormProblem problem{frames, 33, 96, Element::BF16, true};
        TestFrames input(problem.storage, static_cast<size_t>(frames), 33 * 96), output = input;
        input.fill(7);
        expect_norm(problem, input, output);
    }
}

TEST(RmsNormGfx950, HasNoEpsilonUnderTheRootAndLeavesZerosZero) {
    const RmsNormProblem problem{1, 3, 96, Element::F32, false};
    TestFrames input(problem.storage, 1, 3 * 96), output = input;
    input.fill(3);
    for (size_t c = 0; c < 96; ++c) {
        input.set(0, c, 0);
        input.set(0, 96 + c, input.get(0, 96 + c) * 0x1p-40f);
        input.set(0, 192 + c, c == 5 ? 1e-14f : 0);  // shorter than 1e-12
    }
    expect_norm(problem, input, output);
    for (size_t c = 0; c < 96; ++c) EXPECT_EQ(output.get(0, c), 0.0f);
}

TEST(RmsNormGfx950, AFrameMayBeItsOwnOutput) {
    const RmsNormProblem problem{1, 50, 100, Element::BF16, true};
    const std::vector<float> gamma = make_gamma(100);
    TestFrames input(problem.storage, 1, 5000);
    input.fill(9);
    TestFrames frames = input;
    const std::vector<double> want = exact(problem, input, gamma, 0);
    const RmsNormParams params = make_params(problem, frame_table(frames.inputs(), frames.outputs()), gamma.data());
    expect_pass(
        launch_shape(problem), params, [&] { std::memcpy(frames.frame(0), input.frame(0), 10000); },
        [&] {
            for (size_t e = 0; e < 5000; ++e) {
                ASSERT_NEAR(frames.get(0, e), want[e], tolerance(problem.storage, want[e])) << e;
            }
        });
}

TEST(RmsNormGfx950, AddsItsInputToASumFirst) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {3, 96, 100, 384, 600, 1000, 1024}) {
            const RmsNormProblem problem{1, 37, channels, storage, channels % 3 == 0};
            const std::vector<float> gamma = make_gamma(channels);
            TestFrames input(storage, 1, static_cast<size_t>(37 * channels));
            TestFrames before = input, sum = input, output = input;
            input.fill(4);
            before.fill(5);
            const RmsNormParams params =
                make_params(problem, frame_table(input.inputs(), output.outputs()), gamma.data(), sum.frame(0));
            expect_pass(
                launch_shape(problem), params,
                [&] {
                    std::memcpy(sum.frame(0), before.frame(0), sum.elements() * element_bytes(storage));
                    output.poison();
                },
                [&] {
                    sum.expect_guards();
                    output.expect_guards();
                    const std::vector<double> want = exact(problem, sum, gamma, 0);
                    TestFrames rounded(storage, 1, 1);
                    for (size_t e = 0; e < want.size(); ++e) {
                        rounded.set(0, 0, input.get(0, e) + before.get(0, e));
                        ASSERT_EQ(sum.get(0, e), rounded.get(0, 0)) << channels << " channels, element " << e;
                        ASSERT_NEAR(output.get(0, e), want[e], tolerance(storage, want[e])) << e;
                    }
                });
            if (HasFatalFailure()) return;
        }
    }
}

TEST(RmsNormGfx950, KeepsEveryLaneBusyAtTheDecodersWidths) {
    for (const int64_t channels : {32, 64, 96, 128, 192, 384, 512, 768, 1024}) {
        const RmsNormLanes split = rms_norm_lanes(channels, Element::BF16);
        EXPECT_EQ(split.unit_bytes, 16u);
        EXPECT_EQ(split.lanes * split.units_per_lane * 8, channels);
    }
    const RmsNormLanes odd = rms_norm_lanes(100, Element::BF16);
    EXPECT_EQ(odd.unit_bytes, 2u);
    EXPECT_EQ(odd.lanes, 64u);
    EXPECT_EQ(odd.units_per_lane, 4u);
}

TEST(RmsNormGfx950, RefusesWhatItsLanesDoNotHold) {
    EXPECT_EQ(*refusal(RmsNormProblem{1, 10, 1025}), "RMS norm of 1025 channels: the lanes of a wave hold 1 to 1024");
    EXPECT_EQ(*refusal(RmsNormProblem{17, 10, 96}), "RMS norm of 17 frames in one launch, which takes 1 to 16");
    EXPECT_EQ(*refusal(RmsNormProblem{1, 0, 96}),
              "RMS norm: a frame of 0 bytes; a buffer descriptor spans 1 to 2147483392");
    EXPECT_EQ(*refusal(RmsNormProblem{1, 1 << 24, 96}),
              "RMS norm: a frame of 3221225472 bytes; a buffer descriptor spans 1 to 2147483392");
}

}  // namespace
}  // namespace kinetograph::gfx950
