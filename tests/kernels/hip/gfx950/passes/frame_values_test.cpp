#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_values_launch.hpp>
#include <kinetograph/tests/kernels/hip/gfx950/passes/pass_run.hpp>

namespace kinetograph::gfx950 {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(UnpackLatentGfx950, ScalesShiftsAndTransposes) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {1, 3, 16, 20, 48}) {
            for (const bool scaled : {false, true}) {
                const float limit = scaled ? 3.0f : 0.0f;
                const size_t pixels = 77, c = static_cast<size_t>(channels);
                TestFrames latent(Element::F32, 2, pixels * c), output(storage, 2, pixels * c);
                latent.fill(1);
                std::vector<float> scale(c), shift(c);
                for (size_t i = 0; i < c; ++i) {
                    scale[i] = scaled ? 0.3f + static_cast<float>(i) : 1;
                    shift[i] = scaled ? 0.7f - static_cast<float>(i) / 3 : 0;
                }
                const UnpackLatentProblem problem{2, 77, channels, storage, limit};
                ASSERT_EQ(refusal(problem).value_or(""), "");
                expect_pass(
                    launch_shape(problem),
                    make_params(problem, frame_table(latent.inputs(), output.outputs()),
                                scaled ? scale.data() : nullptr, scaled ? shift.data() : nullptr),
                    [&] { output.poison(); },
                    [&] {
                        output.expect_guards();
                        for (size_t f = 0; f < 2; ++f) {
                            for (size_t e = 0; e < pixels * c; ++e) {
                                const double value = latent.get(f, e % c * pixels + e / c);
                                const double moved = value * scale[e % c] + shift[e % c];
                                const double want = limit == 0 ? moved : limit * std::tanh(moved / limit);
                                const double size = std::abs(value * scale[e % c]) + std::abs(shift[e % c]);
                                ASSERT_NEAR(output.get(f, e), want,
                                            tolerance(storage, want) + size * 0x1p-23 + limit * 0x1p-21)
                                    << e;
                            }
                        }
                    });
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(AddFramesGfx950, AddsInFloat32AndRoundsOnce) {
    for (const Element storage : kStorages) {
        for (const int64_t elements : {1, 7, 8, 500, 2048, 2052}) {
            TestFrames a(storage, 3, static_cast<size_t>(elements)), b = a, sum = a;
            a.fill(1);
            b.fill(2);
            const AddFramesProblem problem{3, elements, storage, elements % 2 == 0 ? 1.0f : -0.25f};
            ASSERT_EQ(refusal(problem).value_or(""), "");
            expect_pass(
                launch_shape(problem), make_params(problem, frame_table(a.inputs(), sum.outputs()), b.inputs()),
                [&] { sum.poison(); },
                [&] {
                    sum.expect_guards();
                    for (size_t f = 0; f < 3; ++f) {
                        for (size_t e = 0; e < sum.elements(); ++e) {
                            const double x = a.get(f, e), y = double{problem.beta} * b.get(f, e);
                            ASSERT_NEAR(sum.get(f, e), x + y,
                                        tolerance(storage, x + y) + (std::abs(x) + std::abs(y)) * 0x1p-23);
                        }
                    }
                });
            if (HasFatalFailure()) return;
        }
    }
}

TEST(JoinSumsGfx950, AddsThePartsAndFinishesTheOutput) {
    struct Form {
        int64_t pixels, channels;
        uint32_t parts;
        bool bias, scales, silu, source;
    };
    constexpr Form kForms[] = {{1, 8, 2, false, false, false, false}, {5, 40, 3, true, false, false, false},
                               {7, 96, 2, true, false, true, false},  {33, 16, 8, true, true, false, true},
                               {12, 384, 5, false, true, true, true}, {3, 24, 2, false, false, false, true},
                               {600, 8, 4, true, true, true, true}};
    for (const Element storage : kStorages) {
        for (const Form& form : kForms) {
            const auto elements = static_cast<size_t>(form.pixels * form.channels);
            const auto channels = static_cast<size_t>(form.channels);
            TestFrames sums(Element::F32, 1, elements * 2 * form.parts), source(storage, 2, elements), output = source;
            TestFrames bias(Element::F32, 1, channels), scales = bias;
            sums.fill(1), source.fill(2), bias.fill(3), scales.fill(4);
            const JoinSumsProblem problem{2,         form.pixels, form.channels, storage,    form.parts,
                                          form.silu, form.source, 0.5f,          !form.silu, form.bias ? 0.2f : 0.0f};
            ASSERT_EQ(refusal(problem).value_or(""), "");
            const auto values = [](const TestFrames& frames) {
                return reinterpret_cast<const float*>(frames.frame(0));
            };
            const std::vector<const std::byte*> first = {sums.frame(0), sums.frame(0) + elements * 4};
            const auto addends = form.source ? source.inputs() : std::vector<const std::byte*>{};
            expect_pass(
                launch_shape(problem),
                make_params(problem, frame_table(first, output.outputs()), elements * 8, addends,
                            form.bias ? values(bias) : nullptr, form.scales ? values(scales) : nullptr),
                [&] { output.poison(); },
                [&] {
                    output.expect_guards();
                    for (size_t f = 0; f < 2; ++f) {
                        for (size_t e = 0; e < elements; ++e) {
                            double value = 0, size = 0;
                            for (size_t part = 0; part < form.parts; ++part) {
                                value += sums.get(0, (part * 2 + f) * elements + e);
                                size += std::abs(sums.get(0, (part * 2 + f) * elements + e));
                            }
                            if (form.scales) value *= scales.get(0, e % channels);
                            if (form.bias) value += bias.get(0, e % channels);
                            if (form.silu) value /= 1 + std::exp(-value);
                            if (form.source) value += 0.5 * source.get(f, e);
                            if (!form.silu && value < 0) value *= problem.negative_slope;
                            ASSERT_NEAR(output.get(f, e), value, tolerance(storage, value) + (size + 4) * 0x1p-21);
                        }
                    }
                });
            if (HasFatalFailure()) return;
        }
    }
}

TEST(JoinSumsGfx950, RefusesChannelsThatNoLaneHoldsWhole) {
    EXPECT_EQ(refusal(JoinSumsProblem{.pixels = 4, .channels = 12}).value_or(""),
              "joining sums: 12 channels, wanted a multiple of 8");
}

void expect_stored_floats(Element stored) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {1, 3, 8}) {
            for (const bool planar : {false, true}) {
                const size_t pixels = 101, c = static_cast<size_t>(channels);
                TestFrames input(storage, 2, pixels * c), output(stored, 2, pixels * c);
                input.fill(4);
                input.set(1, 5, kNan);
                input.set(1, 6, -INFINITY);
                for (const float limit : {1.0f, INFINITY}) {
                    const StoreFloatProblem problem{2, 101, channels, storage, planar, limit, nullptr, stored};
                    ASSERT_EQ(refusal(problem).value_or(""), "");
                    expect_pass(
                        launch_shape(problem), make_params(problem, frame_table(input.inputs(), output.outputs())),
                        [&] { output.poison(); },
                        [&] {
                            output.expect_guards();
                            for (size_t f = 0; f < 2; ++f) {
                                for (size_t e = 0; e < pixels * c; ++e) {
                                    const float value = input.get(f, e);
                                    const float got = output.get(f, planar ? e % c * pixels + e / c : e);
                                    if (std::isnan(value)) {
                                        EXPECT_TRUE(std::isnan(got));
                                    } else {
                                        const float wanted = std::clamp(value, -limit, limit);
                                        if (stored == Element::F32 || std::isinf(wanted)) {
                                            ASSERT_EQ(got, wanted) << e;
                                        } else {
                                            ASSERT_NEAR(got, wanted, tolerance(stored, wanted)) << e;
                                        }
                                    }
                                }
                            }
                        });
                    if (::testing::Test::HasFatalFailure()) return;
                }
            }
        }
    }
}

TEST(StoreFloatGfx950, WidensClampsAndKeepsNan) { expect_stored_floats(Element::F32); }
TEST(StoreFloatGfx950, NarrowsToHalves) { expect_stored_floats(Element::F16); }

TEST(StoreFloatGfx950, FlagsAValueThatIsNotFiniteWhereverItLies) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {1, 8}) {
            for (const float value : {kNan, INFINITY, -INFINITY, 1e30f}) {
                const size_t elements = 101 * static_cast<size_t>(channels);
                TestFrames input(storage, 2, elements), output(Element::F32, 2, elements);
                input.fill(4);
                input.set(1, elements - 1, value);
                uint32_t flag = 7;
                StoreFloatProblem problem{2, 101, channels, storage};
                problem.not_finite = &flag;
                const bool is_finite = std::isfinite(input.get(1, elements - 1));
                expect_pass(
                    launch_shape(problem), make_params(problem, frame_table(input.inputs(), output.outputs())),
                    [&] { flag = 0; }, [&] { EXPECT_EQ(flag, is_finite ? 0u : 1u) << value; });
                if (HasFatalFailure()) return;
            }
        }
    }
}

/// Values around every rounding boundary, beyond both ends, and NaN.
std::vector<float> telling_values() {
    std::vector<float> values{-1, 1, 0, -2, 7, INFINITY, -INFINITY, kNan, -0.0f, 1e-30f};
    values.reserve(3 * 256 + values.size());
    for (int level = 0; level < 256; ++level) {
        const float boundary = (static_cast<float>(level) + 0.5f) / 127.5f - 1;
        values.insert(values.end(), {boundary, std::nextafter(boundary, -2.0f), std::nextafter(boundary, 2.0f)});
    }
    return values;
}

TEST(StorePictureGfx950, Rgba8IsBitForBitTheCpusRounding) {
    const std::vector<float> values = telling_values();
    const size_t pixels = values.size();
    for (const Element storage : kStorages) {
        TestFrames input(storage, 2, pixels * 3), output(Element::F32, 2, pixels);
        for (size_t e = 0; e < pixels * 3; ++e) {
            input.set(0, e, values[e / 3]);
            input.set(1, e, values[(e * 7 + 3) % pixels]);
        }
        const StorePictureProblem problem{2, static_cast<int64_t>(pixels), storage, Picture::Rgba8};
        expect_pass(
            launch_shape(problem), make_params(problem, frame_table(input.inputs(), output.outputs())),
            [&] { output.poison(); },
            [&] {
                output.expect_guards();
                for (size_t f = 0; f < 2; ++f) {
                    const auto* const rgba = reinterpret_cast<const uint8_t*>(output.frame(f));
                    for (size_t e = 0; e < pixels * 3; ++e) {
                        ASSERT_EQ(rgba[e / 3 * 4 + e % 3], nn::to_unorm8(input.get(f, e))) << input.get(f, e);
                    }
                    for (size_t p = 0; p < pixels; ++p) ASSERT_EQ(rgba[p * 4 + 3], 255);
                }
            });
    }
}

TEST(StorePictureGfx950, Rgba16FIsHalfInZeroToOne) {
    const std::vector<float> values = telling_values();
    const size_t pixels = values.size();
    for (const Element storage : kStorages) {
        TestFrames input(storage, 1, pixels * 3), output(Element::F16, 1, pixels * 4);
        for (size_t e = 0; e < pixels * 3; ++e) input.set(0, e, values[(e * 5 + 1) % pixels]);
        const StorePictureProblem problem{1, static_cast<int64_t>(pixels), storage, Picture::Rgba16F};
        expect_pass(
            launch_shape(problem), make_params(problem, frame_table(input.inputs(), output.outputs())),
            [&] { output.poison(); },
            [&] {
                output.expect_guards();
                for (size_t e = 0; e < pixels * 3; ++e) {
                    const float value = input.get(0, e);
                    const float want = std::isnan(value) ? 0 : std::clamp((value + 1) / 2, 0.0f, 1.0f);
                    ASSERT_NEAR(output.get(0, e / 3 * 4 + e % 3), want, want * 0x1p-10 + 0x1p-24) << value;
                }
                for (size_t p = 0; p < pixels; ++p) ASSERT_EQ(output.get(0, p * 4 + 3), 1.0f);
            });
    }
}

TEST(FrameValuesGfx950, TakeWholeUnitsWhereTheyCan) {
    EXPECT_EQ(launch_shape(UnpackLatentProblem{1, 60, 16}).kernel, "kinetograph_unpack_latent_bf16");
    EXPECT_EQ(launch_shape(UnpackLatentProblem{1, 60, 20}).kernel, "kinetograph_unpack_latent_bf16_any");
    EXPECT_EQ(launch_shape(AddFramesProblem{1, 24, Element::F16}).kernel, "kinetograph_add_frames_f16");
    EXPECT_EQ(launch_shape(AddFramesProblem{1, 25, Element::F16}).kernel, "kinetograph_add_frames_f16_any");
    EXPECT_EQ(launch_shape(StoreFloatProblem{1, 8, 3}).kernel, "kinetograph_store_float_bf16");
    EXPECT_EQ(launch_shape(StoreFloatProblem{1, 8, 3, Element::BF16, true}).kernel, "kinetograph_store_float_bf16_any");
    EXPECT_EQ(launch_shape(StorePictureProblem{1, 8}).kernel, "kinetograph_store_rgba8_f32");
    EXPECT_EQ(*refusal(StorePictureProblem{0, 8}), "storing a picture of 0 frames in one launch, which takes 1 to 16");
}

}  // namespace
}  // namespace kinetograph::gfx950
