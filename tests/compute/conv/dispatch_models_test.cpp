// Methods that are models: predicted for their chip, closed for want of a kernel.
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/tests/compute/conv/conv_shapes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace kinetograph::conv {
namespace {

using tensor::DType;

struct Model {
    const char *architecture, *candidate, *beside;
};
constexpr Model kModels[] = {{"sm_100", "winograd-time-sm100", "implicit-gemm-sm100"},
                             {"gfx950", "winograd-time-gfx950", "four-wave-gfx950"}};

DispatchRow row_of(std::string_view candidate, std::string_view architecture, const ConvProblem& problem) {
    const auto rows = explain(describe_known_device(architecture).value(), problem, Sums::Fast);
    return *std::ranges::find(rows, candidate, &DispatchRow::candidate);
}

TEST(ConvDispatchModels, SayTheirSecondsAndThoseOfTheMethodThatRuns) {
    for (const Model& model : kModels) {
        const DispatchRow row = row_of(model.candidate, model.architecture, wan21_layer());
        EXPECT_FALSE(row.open) << model.candidate;
        double predicted = 0, beside = 0;
        const std::string format =
            std::string("wants a kernel, met a model, %lf ms where ") + model.beside + " takes %lf ms";
        ASSERT_EQ(std::sscanf(row.reason.c_str(), format.c_str(), &predicted, &beside), 2) << row.reason;
        const auto runs = std::ranges::find(candidates(), model.beside, &Candidate::name);
        const Chip chip = chip_of(describe_known_device(model.architecture).value());
        EXPECT_NEAR(beside, 1e3 * runs->plan(wan21_layer(), chip).seconds, 1e-3) << model.candidate;
        EXPECT_GT(predicted, beside / 1.5) << "two thirds of the products at best: " << model.candidate;
        EXPECT_LT(predicted, 1.5 * beside) << model.candidate;
    }
}

struct Decline {
    std::string_view architecture, candidate, sentence;
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
void eight_bits(ConvProblem& p) { p.dtype = DType::F8E4M3; }

constexpr Decline kDeclines[] = {
    {"sm_90", "winograd-time-sm100", "wants an sm_100 or sm_103 device, met sm_90", [](ConvProblem&) {}},
    {"sm_100", "winograd-time-sm100", "wants an output of the input's type, met F32",
     [](ConvProblem& p) { p.output_dtype = DType::F32; }},
    {"sm_100", "winograd-time-sm100", "wants bf16 or fp16, met F8_E4M3",
     [](ConvProblem& p) { p.dtype = p.output_dtype = DType::F8E4M3; }},
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
    {"gfx950", "winograd-time-gfx950",
     "wants what one launch of the kernel holds, met 2 groups: the matrix product mixes all channels", grouped},
    {"gfx950", "winograd-time-gfx950", "wants stride 1, met 1,1,2", strided},
    {"gfx950", "winograd-time-gfx950", "wants dilation 1, met 1,2,1", dilated},
    {"gfx950", "winograd-time-gfx950", "wants 3x3x3 taps, met 2x3x3", two_taps},
    {"gfx950", "winograd-time-gfx950", "wants at most two frames of padding on either side, met 3", padded},
    {"gfx950", "winograd-time-gfx950", "wants two output frames or more, met 1", one_frame},
};

TEST(ConvDispatchModels, EveryOtherGateAloneClosesThemToo) {
    for (const Decline& decline : kDeclines) {
        ConvProblem problem = wan21_layer();
        decline.spoil(problem);
        EXPECT_EQ(row_of(decline.candidate, decline.architecture, problem).reason,
                  std::string(decline.sentence) + "; wants a kernel, met a model of other problems");
    }
    for (const Model& model : kModels) {
        const auto candidate = std::ranges::find(candidates(), model.candidate, &Candidate::name);
        EXPECT_EQ(std::ranges::count(kDeclines, model.candidate, &Decline::candidate) + 1,
                  std::ssize(candidate->gates));
    }
}

}  // namespace
}  // namespace kinetograph::conv
