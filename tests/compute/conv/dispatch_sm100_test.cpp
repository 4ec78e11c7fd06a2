// The methods for SM100: their gates, and that a build without their kernels says so.
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kinetograph::conv {
namespace {

using tensor::DType;

accel::DeviceInfo b200() { return describe_known_device("sm_100").value(); }

/// Open to the method in a build with its kernels.
ConvProblem easy_problem(std::string_view candidate) {
    ConvProblem p;
    p.d = 5;
    p.h = p.w = 8;
    p.c_in = 32;
    p.filter = {32, 3, 3, 3};
    if (candidate == "conv2d-sm100") p.filter.q = 1;
    return p;
}

DispatchRow row_of(std::string_view candidate, const accel::DeviceInfo& device, const ConvProblem& problem) {
    return explain_named(chip_of(device), problem, candidate).value();
}

struct Decline {
    std::string_view candidate, sentence;
    void (*spoil)(ConvProblem&, accel::DeviceInfo&);
};

void hopper(ConvProblem&, accel::DeviceInfo& d) { d.architecture = "sm_90"; }
void consumer(ConvProblem&, accel::DeviceInfo& d) { d.architecture = "sm_120"; }
void upsample(ConvProblem& p, accel::DeviceInfo&) { p.upsample = true; }
void channel_scales(ConvProblem& p, accel::DeviceInfo&) { p.channel_scales = true; }
void relu(ConvProblem& p, accel::DeviceInfo&) { p.activation = Activation::Relu; }
void float32(ConvProblem& p, accel::DeviceInfo&) { p.output = p.normed = DType::F32; }
/// Not a valid problem: its output would be float32 too and close another gate.
void float32_input(ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = DType::F32; }

/// Formats of fp8 that a method has no kernel with SiLU, or none at all, for.
void silu_of_mixed(ConvProblem& p, accel::DeviceInfo&) {
    p.input = DType::F8E4M3;
    p.weight = DType::F8E5M2;
    p.activation = Activation::Silu;
}

const Decline kDeclines[] = {
    {"implicit-gemm-sm100", "wants an sm_100 or sm_103 device, met sm_90", hopper},
    {"implicit-gemm-sm100", "wants bf16 or fp16, met F8_E4M3",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.input = p.weight = DType::F8E4M3, p.output = p.normed = DType::F8E4M3;
     }},
    {"implicit-gemm-sm100",
     "wants an output of the input's type, or at most 16 output channels without residual, norm and upsampling, met "
     "F32",
     float32},
    {"implicit-gemm-sm100", "wants sums without scales, met a scale for each channel", channel_scales},
    {"implicit-gemm-sm100", "wants groups 1, met 2", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 2; }},
    {"implicit-gemm-sm100", "wants input channels a multiple of 8, met 20",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 20; }},
    {"implicit-gemm-sm100",
     "wants output channels a multiple of 8, or at most 16 without residual, norm and upsampling, met 3",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.filter.k = 3;
         p.residual = true;
     }},
    {"implicit-gemm-sm100", "wants stride 1, met 1,2,1", [](ConvProblem& p, accel::DeviceInfo&) { p.stride.h = 2; }},
    {"implicit-gemm-sm100", "wants dilation 1, met 1,1,2",
     [](ConvProblem& p, accel::DeviceInfo&) { p.dilation.w = 2; }},
    {"implicit-gemm-sm100", "wants 1x1 or 3x3 taps in a frame, met 3x1",
     [](ConvProblem& p, accel::DeviceInfo&) { p.filter.s = 1; }},
    {"implicit-gemm-sm100", "wants at most 3 temporal taps, met 4",
     [](ConvProblem& p, accel::DeviceInfo&) { p.filter.q = 4; }},
    {"implicit-gemm-sm100", "wants every output frame to meet an input frame, met padding 3 and 0",
     [](ConvProblem& p, accel::DeviceInfo&) { p.pad.front = 3; }},
    {"implicit-gemm-sm100",
     "wants upsampling by four 2x2 convolutions: 3x3 taps with padding 1, met other taps or padding", upsample},
    {"conv2d-sm100", "wants an sm_100 or sm_103 device, met sm_90", hopper},
    {"conv2d-sm100", "wants SiLU or no activation, met relu", relu},
    {"conv2d-sm100", "wants no activation of sums of fp8 e5m2, met silu", silu_of_mixed},
    {"conv2d-sm100", "wants an output of 16 bits, met F32", float32},
    {"conv2d-sm100", "wants bf16, fp16 or fp8, met F32", float32_input},
    {"conv2d-sm100",
     "wants what the 2-D kernel holds, met one that wants C_in a multiple of 32, met C_in 48; wants one temporal tap "
     "without temporal padding or stride, met taps 3, padding 0, stride 1",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.c_in = 48;
         p.filter.q = 3;
     }},
    {"conv3d-sm100", "wants an sm_100 or sm_103 device, met sm_120", consumer},
    {"conv3d-sm100", "wants SiLU or no activation, met relu", relu},
    {"conv3d-sm100", "wants no activation of sums of fp8 e5m2, met silu", silu_of_mixed},
    {"conv3d-sm100", "wants an output of 16 bits, met F32", float32},
    {"conv3d-sm100", "wants bf16, fp16 or fp8, met F32", float32_input},
    {"conv3d-sm100",
     "wants what one launch over frames holds, met one that wants at most 8 frames in and out, met frames 9 in, 7 out",
     [](ConvProblem& p, accel::DeviceInfo&) { p.d = 9; }},
    {"q-slice-sm100", "wants an sm_100 or sm_103 device, met sm_90", hopper},
    {"q-slice-sm100", "wants SiLU or no activation, met relu", relu},
    {"q-slice-sm100", "wants an output of 16 bits, met F32", float32},
    {"q-slice-sm100", "wants bf16, met F32", float32_input},
    {"q-slice-sm100", "wants what Q-slice splits, met one that wants no temporal padding, met front 2, back 0",
     [](ConvProblem& p, accel::DeviceInfo&) { p.pad.front = 2; }},
    {"im2col-sm100", "wants an sm_100 or sm_103 device, met sm_90", hopper},
    {"im2col-sm100", "wants SiLU or no activation, met relu", relu},
    {"im2col-sm100", "wants bf16, fp16 or fp8 e4m3, met F8_E5M2", silu_of_mixed},
    {"im2col-sm100", "wants pixels of an even number of bytes where they are doubled, met 3",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.input = p.weight = DType::F8E4M3;
         p.c_in = 3;
         p.upsample = true;
     }},
    {"im2col-sm100", "wants no activation before an fp32 output, met silu",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.activation = Activation::Silu;
         p.output = p.normed = DType::F32;
     }},
};

bool is_for_sm100(const Candidate& candidate) { return candidate.name.ends_with("-sm100"); }

TEST(ConvDispatchSm100, OpensEveryCandidateOfSm100OnABlackwellDataCentreGpu) {
    for (const std::string_view architecture : {"sm_100", "sm_103"}) {
        accel::DeviceInfo device = b200();
        device.architecture = architecture;
        for (const Candidate& candidate : candidates()) {
            if (!is_for_sm100(candidate)) continue;
            ConvProblem problem = easy_problem(candidate.name);
            for (const Activation activation : {Activation::None, Activation::Silu}) {
                problem.activation = activation;
                const DispatchRow row = row_of(candidate.name, device, problem);
                EXPECT_TRUE(row.open) << candidate.name << ", " << problem.to_string() << ": " << row.reason;
            }
        }
    }
}

TEST(ConvDispatchSm100, EveryGateAloneClosesItsCandidateAndSaysWhatItMet) {
    for (const Decline& decline : kDeclines) {
        ConvProblem problem = easy_problem(decline.candidate);
        accel::DeviceInfo device = b200();
        decline.spoil(problem, device);
        const DispatchRow row = row_of(decline.candidate, device, problem);
        EXPECT_FALSE(row.open) << decline.candidate << ": " << decline.sentence;
        EXPECT_EQ(row.reason, decline.sentence) << decline.candidate;
    }
}

TEST(ConvDispatchSm100, EveryGateIsInTheListOfDeclines) {
    std::set<const Gate<Subject>*> lists;  // forms of one method share theirs
    std::ptrdiff_t gates = 0;
    for (const Candidate& candidate : candidates()) {
        if (!is_for_sm100(candidate) || !lists.insert(candidate.gates.data()).second) continue;
        gates += std::ssize(candidate.gates);
    }
    EXPECT_EQ(gates, std::ssize(kDeclines));
}

/// Strides, dilations, small images and batches are shapes of the im2col kernel; of what both take, the cheaper runs.
TEST(ConvDispatchSm100, TakesTheKernelWhoseCostWins) {
    ConvProblem image = easy_problem("conv2d-sm100"), strided = image, dilated = image, halves = image, wide = image;
    for (ConvProblem* p : {&image, &strided, &dilated, &halves, &wide}) {
        p->n = 16;
        p->d = 1;
        p->h = p->w = 56;
        p->c_in = p->filter.k = 192;
        p->pad = {0, 0, 1, 1, 1, 1};
    }
    strided.stride.h = strided.stride.w = 2;
    dilated.dilation.h = dilated.dilation.w = 2;
    halves.input = halves.weight = halves.output = halves.normed = DType::F16;
    halves.stride = strided.stride;
    halves.activation = Activation::Silu;
    wide.filter = {1152, 1, 1, 1};
    wide.pad = {};
    wide.h = 88, wide.w = 160;
    for (const ConvProblem& p : {strided, dilated, halves}) {
        const DispatchRow first = explain(chip_of(b200()), p).front();
        EXPECT_EQ(first.candidate, "conv2d-sm100") << p.to_string();
    }
    const auto seconds = [&](std::string_view name, const ConvProblem& p) { return *row_of(name, b200(), p).seconds; };
    EXPECT_LT(seconds("conv2d-sm100", wide), seconds("implicit-gemm-sm100", wide));
    EXPECT_EQ(explain(chip_of(b200()), wide).front().candidate, "conv2d-sm100");
    EXPECT_LT(seconds("conv2d-sm100", image), seconds("implicit-gemm-sm100", image)) << "which takes three launches";
    EXPECT_EQ(explain(chip_of(b200()), image).front().candidate, "conv2d-sm100") << "a batch as a whole";
    image.n = 1;
    EXPECT_LT(seconds("implicit-gemm-sm100", image), seconds("conv2d-sm100", image));
    EXPECT_EQ(explain(chip_of(b200()), image).front().candidate, "implicit-gemm-sm100");
}

TEST(ConvDispatchSm100, PredictsLessThanTheMethodsOfOlderChips) {
    const auto seconds = [](std::string_view name, std::int64_t taps) {
        ConvProblem p = easy_problem("");
        p.h = 352;
        p.w = 640;
        p.filter.q = taps;
        p.pad = {0, 0, 1, 1, 1, 1};
        p.c_in = p.filter.k = 192;
        return std::ranges::find(candidates(), name, &Candidate::name)->plan(p, chip_of(b200())).seconds;
    };
    EXPECT_LT(seconds("implicit-gemm-sm100", 1), seconds("conv2d-sm100", 1));
    EXPECT_LT(seconds("implicit-gemm-sm100", 3), seconds("conv3d-sm100", 3));
    EXPECT_LT(seconds("conv2d-sm100", 1), seconds("implicit-gemm-sm80", 1));
    EXPECT_LT(seconds("conv3d-sm100", 3), seconds("q-slice-sm100", 3));
    EXPECT_LT(seconds("q-slice-sm100", 3), seconds("q-slice-rounded-sm100", 3));
    EXPECT_LT(seconds("q-slice-sm100", 3), seconds("implicit-gemm-sm80", 3));
    EXPECT_LT(seconds("conv3d-sm100", 3), seconds("im2col-sm100", 3));
    EXPECT_LT(seconds("im2col-sm100", 3), seconds("im2col-sm80", 3));
}

}  // namespace
}  // namespace kinetograph::conv
