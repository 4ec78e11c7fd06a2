// Methods that are models: predicted for their chip, without a kernel.
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/tests/compute/conv/conv_shapes.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace kinetograph::conv {
namespace {

using tensor::DType;

struct Model {
    std::string_view architecture, name, beside;
};
constexpr Model kModels[] = {{"sm_100", "winograd-time-sm100", "implicit-gemm-sm100"},
                             {"gfx950", "winograd-time-gfx950", "four-wave-gfx950"}};

Chip chip_named(std::string_view architecture) { return chip_of(describe_known_device(architecture).value()); }

const ConvModel& model_named(std::string_view name) {
    for (const ChipKernels& chip : chips())
        for (const ConvModel& model : chip.models())
            if (model.name == name) return model;
    ADD_FAILURE() << name;
    std::abort();
}

TEST(ConvDispatchModels, SayTheirSecondsAndThoseOfTheMethodThatRuns) {
    for (const Model& model : kModels) {
        const Chip chip = chip_named(model.architecture);
        const auto rows = explain_models(chip, wan21_layer());
        ASSERT_EQ(rows.size(), 1U);
        EXPECT_EQ(rows[0].model, model.name);
        EXPECT_EQ(rows[0].beside, model.beside);
        EXPECT_EQ(rows[0].seconds_beside, explain_named(chip, wan21_layer(), model.beside).value().seconds);
        EXPECT_GT(rows[0].seconds, rows[0].seconds_beside / 1.5)
            << "two thirds of the products at best: " << model.name;
        EXPECT_LT(rows[0].seconds, 1.5 * rows[0].seconds_beside) << model.name;
        EXPECT_EQ(to_string(rows),
                  fmt::format("models, without kernels:\n  {}  {:.3f} ms predicted, {} {:.3f} ms\n", model.name,
                              1e3 * rows[0].seconds, model.beside, 1e3 * rows[0].seconds_beside));
    }
}

TEST(ConvDispatchModels, AreNoCandidates) {
    for (const Model& model : kModels) EXPECT_FALSE(find_candidate(model.name)) << model.name;
    for (const Candidate& candidate : candidates())
        EXPECT_TRUE(candidate.plan != nullptr || candidate.create != nullptr) << candidate.name;
    EXPECT_EQ(to_string(explain_models(chip_named("sm_90"), wan21_layer())), "");
}

struct Decline {
    std::string_view architecture, model, sentence;
    void (*spoil)(ConvProblem&);
};
void one_frame(ConvProblem& p) { p.d = 3; }
void two_taps(ConvProblem& p) { p.filter.q = 2; }
void padded(ConvProblem& p) { p.pad.back = 3; }
void strided(ConvProblem& p) { p.stride.w = 2; }
void dilated(ConvProblem& p) { p.dilation.h = 2; }
void upsampled(ConvProblem& p) { p.upsample = true; }
void grouped(ConvProblem& p) { p.groups = 2; }
void scaled(ConvProblem& p) { p.channel_scales = true; }
void eight_bits(ConvProblem& p) { p.input = p.weight = DType::F8E4M3; }

constexpr Decline kDeclines[] = {
    {"sm_90", "winograd-time-sm100", "wants an sm_100 or sm_103 device, met sm_90", [](ConvProblem&) {}},
    {"sm_100", "winograd-time-sm100", "wants an output of the input's type, met F32",
     [](ConvProblem& p) { p.output = p.normed = DType::F32; }},
    {"sm_100", "winograd-time-sm100", "wants bf16 or fp16, met F8_E4M3",
     [](ConvProblem& p) { p.input = p.weight = p.output = p.normed = DType::F8E4M3; }},
    {"sm_100", "winograd-time-sm100", "wants sums without scales, met a scale for each channel", scaled},
    {"sm_100", "winograd-time-sm100", "wants groups 1, met 2", grouped},
    {"sm_100", "winograd-time-sm100", "wants an input as it lies in memory, met one to upsample", upsampled},
    {"sm_100", "winograd-time-sm100", "wants input channels a multiple of 8, met 20",
     [](ConvProblem& p) { p.c_in = 20; }},
    {"sm_100", "winograd-time-sm100", "wants output channels a multiple of 8, met 12",
     [](ConvProblem& p) { p.filter.k = 12; }},
    {"sm_100", "winograd-time-sm100", "wants stride 1, met 1,1,2", strided},
    {"sm_100", "winograd-time-sm100", "wants dilation 1, met 1,2,1", dilated},
    {"sm_100", "winograd-time-sm100", "wants 3x3x3 taps, met 2x3x3", two_taps},
    {"sm_100", "winograd-time-sm100", "wants at most two frames of padding on either side, met 3", padded},
    {"sm_100", "winograd-time-sm100", "wants two output frames or more, met 1", one_frame},
    {"sm_100", "winograd-time-gfx950", "wants a gfx950 device, met cuda", [](ConvProblem&) {}},
    {"gfx950", "winograd-time-gfx950", "wants bf16 or fp16, met F8_E4M3", eight_bits},
    {"gfx950", "winograd-time-gfx950", "wants sums without scales, met a scale for each channel", scaled},
    {"gfx950", "winograd-time-gfx950", "wants an input as it lies in memory, met one to upsample", upsampled},
    {"gfx950", "winograd-time-gfx950", "wants what one launch of the kernel holds, met one that wants groups 1, met 2",
     grouped},
    {"gfx950", "winograd-time-gfx950", "wants stride 1, met 1,1,2", strided},
    {"gfx950", "winograd-time-gfx950", "wants dilation 1, met 1,2,1", dilated},
    {"gfx950", "winograd-time-gfx950", "wants 3x3x3 taps, met 2x3x3", two_taps},
    {"gfx950", "winograd-time-gfx950", "wants at most two frames of padding on either side, met 3", padded},
    {"gfx950", "winograd-time-gfx950", "wants two output frames or more, met 1", one_frame},
};

TEST(ConvDispatchModels, EveryGateAloneClosesThem) {
    for (const Decline& decline : kDeclines) {
        ConvProblem problem = wan21_layer();
        decline.spoil(problem);
        const Chip chip = chip_named(decline.architecture);
        EXPECT_EQ(reasons(model_named(decline.model).gates, {problem, chip}), decline.sentence);
    }
    for (const Model& model : kModels)
        EXPECT_EQ(std::ranges::count(kDeclines, model.name, &Decline::model),
                  std::ssize(model_named(model.name).gates));
}

}  // namespace
}  // namespace kinetograph::conv
