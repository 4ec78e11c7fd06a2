#include <gtest/gtest.h>

#include <functional>
#include <kinetograph/kernels/cuda/sm90/gates.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

/// A change that closes one gate, and the sentence a person reads.
struct Closed {
    std::function<void(ConvProblem&, conv::Chip&)> change;
    std::string reason;
};

ConvProblem layer() {
    ConvProblem p = sm80::causal3d(4, 16, 16, 96, 96, 3, 3);
    p.residual = true;
    return p;
}
ConvProblem head() {
    ConvProblem p = sm80::causal3d(4, 16, 16, 96, 3, 3, 3);
    p.output = p.normed = Element::F32;
    return p;
}

void expect_closed(std::span<const conv::Gate<conv::Subject>> gates, const ConvProblem& open,
                   const std::vector<Closed>& changes) {
    const conv::Chip h200 = chip_of_sms(132);
    EXPECT_EQ(conv::reasons(gates, {open, h200}), "");
    for (const Closed& closed : changes) {
        ConvProblem problem = open;
        conv::Chip chip = h200;
        closed.change(problem, chip);
        EXPECT_EQ(conv::reasons(gates, {problem, chip}), closed.reason);
    }
}

TEST(Sm90Gates, EachOfTheImplicitGemmClosesAlone) {
    expect_closed(
        implicit_gemm_gates(), layer(),
        {{[](ConvProblem&, conv::Chip& chip) { chip.architecture = "sm_89"; }, "wants an sm_90 device, met sm_89"},
         {[](ConvProblem& p, conv::Chip&) { p.output = p.normed = Element::F32; },
          "wants an output of the input's type, met F32"},
         {[](ConvProblem& p, conv::Chip&) { p.input = p.weight = p.output = p.normed = Element::F32; },
          "wants bf16 or fp16, met F32"},
         {[](ConvProblem& p, conv::Chip&) {
              p.upsample = true;
              p.pad.left = 0;
          },
          "wants upsampling by four 2x2 convolutions: 3x3 taps with padding 1, met other taps or padding"},
         {[](ConvProblem& p, conv::Chip&) { p.channel_scales = true; },
          "wants sums without scales, met a scale for each channel"},
         {[](ConvProblem& p, conv::Chip&) { p.groups = 2; }, "wants groups 1, met 2"},
         {[](ConvProblem& p, conv::Chip&) { p.c_in = 100; }, "wants input channels a multiple of 8, met 100"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.k = 100; }, "wants output channels a multiple of 8, met 100"},
         {[](ConvProblem& p, conv::Chip&) { p.stride.h = 2; }, "wants stride 1, met 1,2,1"},
         {[](ConvProblem& p, conv::Chip&) { p.dilation.d = 2; }, "wants dilation 1, met 2,1,1"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.s = 1; }, "wants 1x1 or 3x3 taps in a frame, met 3x1"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.q = 4; },
          "wants temporal taps that one launch has room for, met 4; there is room for 3"}});
}

TEST(Sm90Gates, EachOfBytesClosesAlone) {
    ConvProblem bytes = layer();
    bytes.input = {Element::U8, 0.02F, 30};
    bytes.weight = Element::I8;
    bytes.channel_scales = true;
    expect_closed(
        byte_gates(), bytes,
        {{[](ConvProblem&, conv::Chip& chip) { chip.architecture = "sm_89"; }, "wants an sm_90 device, met sm_89"},
         {[](ConvProblem& p, conv::Chip&) { p.input = p.weight = Element::BF16; }, "wants an input of u8, met BF16"},
         {[](ConvProblem& p, conv::Chip&) { p.output = p.normed = Element::F32; }, "wants an output of bf16, met F32"},
         {[](ConvProblem& p, conv::Chip&) { p.groups = 2; }, "wants groups 1, met 2"},
         {[](ConvProblem& p, conv::Chip&) { p.upsample = true; },
          "wants an input as it lies in memory, met one to upsample"},
         {[](ConvProblem& p, conv::Chip&) { p.c_in = 104; },
          "wants input and output channels multiples of 16, met 104 and 96"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.k = 104; },
          "wants input and output channels multiples of 16, met 96 and 104"},
         {[](ConvProblem& p, conv::Chip&) { p.stride.h = 2; }, "wants stride 1, met 1,2,1"},
         {[](ConvProblem& p, conv::Chip&) { p.dilation.d = 2; }, "wants dilation 1, met 2,1,1"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.r = p.filter.s = 1; },
          "wants 3x3 taps in a frame, padded by at most 1, met 1x1, padded by 1"},
         {[](ConvProblem& p, conv::Chip&) { p.pad.left = 2; },
          "wants 3x3 taps in a frame, padded by at most 1, met 3x3, padded by 2"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.q = 4; },
          "wants temporal taps that one launch has room for, met 4; there is room for 3"}});
}

TEST(Sm90Gates, EachOfWinogradClosesAlone) {
    expect_closed(
        winograd_gates(), layer(),
        {{[](ConvProblem&, conv::Chip& chip) { chip.architecture = "sm_100"; }, "wants an sm_90 device, met sm_100"},
         {[](ConvProblem& p, conv::Chip&) { p.output = p.normed = Element::F32; },
          "wants an output of the input's type, met F32"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.q = p.d = 2; }, "wants 3x3x3 taps, met 2x3x3"},
         {[](ConvProblem& p, conv::Chip&) { p.upsample = true; },
          "wants an input as it lies in memory, met one to upsample"},
         {[](ConvProblem& p, conv::Chip&) { p.stride.h = 2; }, "wants stride 1, met 1,2,1"},
         {[](ConvProblem& p, conv::Chip&) { p.dilation.w = 2; }, "wants dilation 1, met 1,1,2"},
         {[](ConvProblem& p, conv::Chip&) { p.pad.front = 3; },
          "wants at most two frames of padding on either side, met 3"},
         {[](ConvProblem& p, conv::Chip&) { p.d = 1; }, "wants two output frames or more, met 1"}});
}

TEST(Sm90Gates, EachOfQSliceClosesAlone) {
    ConvProblem slices = layer();
    slices.pad.front = 0;
    slices.d = 3;
    expect_closed(
        q_slice_gates(), slices,
        {{[](ConvProblem& p, conv::Chip&) { p.input = p.weight = p.output = p.normed = Element::F16; },
          "wants bf16, met F16"},
         {[](ConvProblem& p, conv::Chip&) { p.output = p.normed = Element::F32; },
          "wants an output of the input's type, met F32"},
         {[](ConvProblem&, conv::Chip& chip) { chip.architecture = "sm_100"; }, "wants an sm_90 device, met sm_100"},
         {[](ConvProblem& p, conv::Chip&) { p.channel_scales = true; },
          "wants sums without scales, met a scale for each channel"},
         {[](ConvProblem& p, conv::Chip&) { p.groups = 2; }, "wants groups 1, met 2"},
         {[](ConvProblem& p, conv::Chip&) { p.upsample = true; },
          "wants an input as it lies in memory, met one to upsample"},
         {[](ConvProblem& p, conv::Chip&) { p.c_in = 100; }, "wants input channels a multiple of 8, met 100"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.k = 100; }, "wants output channels a multiple of 8, met 100"},
         {[](ConvProblem& p, conv::Chip&) { p.stride.h = 2; }, "wants stride 1, met 1,2,1"},
         {[](ConvProblem& p, conv::Chip&) { p.dilation.w = 2; }, "wants dilation 1, met 1,1,2"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.q = 1; }, "wants more than one temporal tap, met 1"},
         {[](ConvProblem& p, conv::Chip&) { p.filter.r = p.filter.s = 1; }, "wants 3x3 taps in a frame, met 1x1"},
         {[](ConvProblem& p, conv::Chip&) { p.pad.front = 2; },
          "wants no temporal padding, met 2 before and 0 after"}});
}

TEST(Sm90Gates, EachOfTheNarrowProductClosesAlone) {
    expect_closed(narrow_gemm_gates(), head(),
                  {{[](ConvProblem& p, conv::Chip&) { p.filter.k = 5; },
                    "wants up to 4, 8 or 12 output channels under 3x3 taps, or up to 32 under one, met 5"},
                   {[](ConvProblem& p, conv::Chip&) { p.c_in = 264; },
                    "wants at most 256 input channels for fewer than 4 output channels under 3x3 taps, met 264"},
                   {[](ConvProblem& p, conv::Chip&) {
                        p.d = 5;
                        p.pad.front = p.pad.back = 2;
                        p.carried = true;
                    },
                    "wants carried sums of up to 4 channels and 6 frames, those that are kept included, met 3 "
                    "channels, 7 frames"},
                   {[](ConvProblem& p, conv::Chip&) { p.norm = Norm::Beside; }, "wants no norm, met a norm"},
                   {[](ConvProblem& p, conv::Chip&) { p.upsample = true; },
                    "wants an input as it lies in memory, met one to upsample"}});
}

}  // namespace
}  // namespace kinetograph::sm90
