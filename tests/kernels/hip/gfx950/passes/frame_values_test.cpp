#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_values.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_values_launch.hpp>
#include <kinetograph/tests/kernels/hip/gfx950/passes/pass_run.hpp>

namespace kinetograph::gfx950 {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(UnpackLatentGfx950, MapsAndTransposes) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {1, 3, 16, 20, 48}) {
            for (const bool mapped : {false, true}) {
                const float limit = mapped ? 3.0f : 0.0f;
                const size_t pixels = 77, c = static_cast<size_t>(channels);
                TestFrames latent(Element::F32, 2, pixels * c), output(storage, 2, pixels * c);
                latent.fill(1);
                std::vector<float> map((c + 1) * c);
                for (size_t i = 0; i < map.size(); ++i) map[i] = static_cast<float>(i * 7 % 19) / 8 - 1;
                const UnpackLatentProblem problem{2, 77, channels, storage, limit};
                ASSERT_EQ(refusal(problem).value_or(""), "");
                expect_pass(
                    launch_shape(problem),
                    make_params(problem, frame_table(latent.inputs(), output.outputs()), mapped ? map.data() : nullptr),
                    [&] { output.poison(); },
                    [&] {
                        output.expect_guards();
                        for (size_t f = 0; f < 2; ++f) {
                            for (size_t e = 0; e < pixels * c; ++e) {
                                const auto value = [&](size_t i) { return latent.get(f, i * pixels + e / c); };
                                double moved = mapped ? map[c * c + e % c] : value(e % c), size = std::abs(moved);
                                for (size_t i = 0; mapped && i < c; ++i) {
                                    moved += value(i) * map[i * c + e % c];
                                    size += std::abs(value(i) * map[i * c + e % c]);
                                }
                                const double want = limit == 0 ? moved : limit * std::tanh(moved / limit);
                                ASSERT_NEAR(output.get(f, e), want,
                                            tolerance(storage, want) + static_cast<double>(c) * size * 0x1p-23 +
                                                limit * 0x1p-21)
                                    << e;
                            }
                        }
                    });
                if (HasFatalFailure()) return;
            }
        }
    }
}

struct JoinForm {
    int64_t pixels, channels;
    uint32_t parts;
    bool bias, scales, silu, source;
};

/// The parts of two frames, and what a join of them gives. Without SiLU there is a ReLU, with a slope where there is a
/// bias.
class Join {
  public:
    Join(const JoinForm& form, Element storage)
        : form_(form),
          elements_(static_cast<size_t>(form.pixels * form.channels)),
          channels_(static_cast<size_t>(form.channels)),
          problem_{2,         form.pixels, form.channels, storage,    form.parts,
                   form.silu, form.source, 0.5f,          !form.silu, form.bias ? 0.2f : 0.0f},
          sums_(Element::F32, 1, elements_ * 2 * form.parts),
          source_(storage, 2, elements_),
          output_(storage, 2, elements_),
          bias_(Element::F32, 1, channels_),
          scales_(Element::F32, 1, channels_) {
        sums_.fill(1), source_.fill(2), bias_.fill(3), scales_.fill(4);
    }

    const JoinSumsProblem& problem() const { return problem_; }
    TestFrames& output() { return output_; }
    JoinSumsParams params() {
        const auto values = [](const TestFrames& frames) { return reinterpret_cast<const float*>(frames.frame(0)); };
        const std::vector<const std::byte*> first = {sums_.frame(0), sums_.frame(0) + elements_ * 4};
        const auto addends = form_.source ? source_.inputs() : std::vector<const std::byte*>{};
        return make_params(problem_, frame_table(first, output_.outputs()), elements_ * 8, addends,
                           form_.bias ? values(bias_) : nullptr, form_.scales ? values(scales_) : nullptr);
    }

    /// How many elements of the output are further from fp64 than rounding allows.
    size_t wrong_elements() const {
        size_t wrong = 0;
        for (size_t f = 0; f < 2; ++f)
            for (size_t e = 0; e < elements_; ++e) wrong += agrees(f, e) ? 0 : 1;
        return wrong;
    }

  private:
    bool agrees(size_t frame, size_t e) const {
        double value = 0, size = 0;
        for (size_t part = 0; part < form_.parts; ++part) {
            value += sums_.get(0, (part * 2 + frame) * elements_ + e);
            size += std::abs(sums_.get(0, (part * 2 + frame) * elements_ + e));
        }
        if (form_.scales) value *= scales_.get(0, e % channels_);
        if (form_.bias) value += bias_.get(0, e % channels_);
        if (form_.silu) value /= 1 + std::exp(-value);
        if (form_.source) value += 0.5 * source_.get(frame, e);
        if (!form_.silu && value < 0) value *= problem_.negative_slope;
        return std::abs(output_.get(frame, e) - value) <= tolerance(problem_.storage, value) + (size + 4) * 0x1p-21;
    }

    JoinForm form_;
    size_t elements_, channels_;
    JoinSumsProblem problem_;
    TestFrames sums_, source_, output_, bias_, scales_;
};

TEST(JoinSumsGfx950, AddsThePartsAndFinishesTheOutput) {
    constexpr JoinForm kForms[] = {{1, 8, 2, false, false, false, false}, {5, 40, 3, true, false, false, false},
                                   {7, 96, 2, true, false, true, false},  {33, 16, 8, true, true, false, true},
                                   {12, 384, 5, false, true, true, true}, {3, 24, 2, false, false, false, true},
                                   {600, 8, 4, true, true, true, true}};
    for (const Element storage : kStorages) {
        for (const JoinForm& form : kForms) {
            Join join(form, storage);
            ASSERT_EQ(refusal(join.problem()).value_or(""), "");
            expect_pass(
                launch_shape(join.problem()), join.params(), [&] { join.output().poison(); },
                [&] {
                    join.output().expect_guards();
                    ASSERT_EQ(join.wrong_elements(), 0U);
                });
            if (HasFatalFailure()) return;
        }
    }
}

/// The elements that a join with this fault gets wrong, under every schedule the same.
template <JoinFault kFault>
size_t wrong_elements_with(const JoinForm& form) {
    const host_model::ModelKernel kernel{"planted", sizeof(JoinSumsParams), 256, [](const void* p) {
                                             join_sums<Element::BF16, kFault>(*static_cast<const JoinSumsParams*>(p));
                                         }};
    Join join(form, Element::BF16);
    const JoinSumsParams params = join.params();
    const LaunchShape shape = launch_shape(join.problem());
    std::vector<size_t> wrong;
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        join.output().poison();
        EXPECT_EQ(host_model::launch_waves(kernel, {.grid = {shape.grid_x, shape.grid_y, shape.grid_z}, .seed = seed},
                                           &params)
                      .fault.value_or(""),
                  "");
        wrong.push_back(join.wrong_elements());
        EXPECT_EQ(wrong.back(), wrong.front());
    }
    return wrong.front();
}

TEST(JoinSumsGfx950Faults, EachIsFoundInTheElementsThatItReaches) {
    constexpr JoinForm kForm = {20, 32, 3, true, true, false, true};
    constexpr size_t kOfAFrame = 20 * 32;
    EXPECT_EQ(wrong_elements_with<JoinFault::None>(kForm), 0U);
    EXPECT_GT(wrong_elements_with<JoinFault::DropsLastPart>(kForm), 2 * kOfAFrame * 9 / 10);
    const size_t scaled = wrong_elements_with<JoinFault::ScalesOfNeighbour>(kForm);
    EXPECT_GT(scaled, kOfAFrame * 8 / 10);
    EXPECT_LE(scaled, kOfAFrame);  // half of both frames' channels
    const size_t added = wrong_elements_with<JoinFault::SourceOfFirstFrame>(kForm);
    EXPECT_GT(added, kOfAFrame * 8 / 10);
    EXPECT_LE(added, kOfAFrame);  // the second frame
}

TEST(JoinSumsGfx950, RefusesChannelsThatNoLaneHoldsWhole) {
    EXPECT_EQ(refusal(JoinSumsProblem{.pixels = 4, .channels = 12}).value_or(""),
              "joining sums: 12 channels, wanted a multiple of 8");
}

void expect_stored_floats(Element stored) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {1, 3, 8}) {
            const size_t elements = 101 * static_cast<size_t>(channels);
            TestFrames input(storage, 2, elements), output(stored, 2, elements);
            input.fill(4);
            input.set(1, 5, kNan);
            input.set(1, 6, -INFINITY);
            for (const float limit : {1.0f, INFINITY}) {
                const StoreFloatProblem problem{2, 101, channels, storage, limit, nullptr, stored};
                ASSERT_EQ(refusal(problem).value_or(""), "");
                expect_pass(
                    launch_shape(problem), make_params(problem, frame_table(input.inputs(), output.outputs())),
                    [&] { output.poison(); },
                    [&] {
                        output.expect_guards();
                        for (size_t f = 0; f < 2; ++f) {
                            for (size_t e = 0; e < elements; ++e) {
                                const float value = input.get(f, e), got = output.get(f, e);
                                const float wanted = std::clamp(value, -limit, limit);
                                if (std::isnan(value)) {
                                    EXPECT_TRUE(std::isnan(got));
                                } else if (stored == Element::F32 || std::isinf(wanted)) {
                                    ASSERT_EQ(got, wanted) << e;
                                } else {
                                    ASSERT_NEAR(got, wanted, tolerance(stored, wanted)) << e;
                                }
                            }
                        }
                    });
                if (::testing::Test::HasFatalFailure()) return;
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
        const StorePictureProblem problem{2, static_cast<int64_t>(pixels), storage};
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

TEST(FrameValuesGfx950, TakeWholeUnitsWhereTheyCan) {
    EXPECT_EQ(launch_shape(UnpackLatentProblem{1, 60, 16}).kernel, "kinetograph_unpack_latent_bf16");
    EXPECT_EQ(launch_shape(UnpackLatentProblem{1, 60, 20}).kernel, "kinetograph_unpack_latent_bf16_any");
    EXPECT_EQ(launch_shape(StoreFloatProblem{1, 8, 3}).kernel, "kinetograph_store_float_bf16");
    EXPECT_EQ(launch_shape(StoreFloatProblem{1, 7, 3}).kernel, "kinetograph_store_float_bf16_any");
    EXPECT_EQ(launch_shape(StorePictureProblem{1, 8}).kernel, "kinetograph_store_rgba8_f32");
    EXPECT_EQ(*refusal(StorePictureProblem{0, 8}), "storing a picture of 0 frames in one launch, which takes 1 to 16");
}

}  // namespace
}  // namespace kinetograph::gfx950
