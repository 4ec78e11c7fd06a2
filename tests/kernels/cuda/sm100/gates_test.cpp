#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm100/gates.hpp>

/// Every gate fails alone, with its requirement and the value that was found.
namespace kinetograph::sm100 {
namespace {

using conv::ConvProblem;

const ConvProblem kConv2d{.h = 16,
                          .w = 16,
                          .c_in = 64,
                          .filter = {64, 1, 3, 3},
                          .stride = {},
                          .dilation = {},
                          .pad = {.top = 1, .bottom = 1, .left = 1, .right = 1}};
const ConvProblem kConv3d = [] {
    ConvProblem shape = kConv2d;
    shape.d = 6;
    shape.filter.q = 3;
    return shape;
}();

struct Decline {
    const char* name;
    void (*change)(ConvProblem&);
    const char* sentence;
};

void expect_each(std::span<const Conv2dGate> gates, const ConvProblem& shape, const std::vector<Decline>& declines) {
    EXPECT_EQ(declined(gates, shape), "");
    for (const Decline& decline : declines) {
        ConvProblem changed = shape;
        decline.change(changed);
        EXPECT_EQ(declined(gates, changed), decline.sentence) << decline.name;
    }
}

const std::vector<Decline> kOfEveryForm{
    {"e5m2", [](auto& p) { p.dtype = Element::F8E5M2; }, "bf16, fp16 or fp8 e4m3 (fp8 e5m2)"},
    {"groups", [](auto& p) { p.groups = 4; }, "groups 1 (groups 4)"},
    {"C_in 100", [](auto& p) { p.c_in = 100; }, "C_in a multiple of 32 (C_in 100)"},
    {"C_out 3", [](auto& p) { p.filter.k = 3; }, "C_out a multiple of 8 (C_out 3)"},
    {"stride 9", [](auto& p) { p.stride.w = 9; }, "strides 1 to 8 (strides 1, 1, 9)"}};

TEST(Gates, OfFramesDeclineEachAlone) {
    expect_each(gates(Activation::Frames2d), kConv2d, kOfEveryForm);
    expect_each(
        gates(Activation::Frames2d), kConv2d,
        {{"3-D", [](auto& p) { p.d = p.filter.q = 3; },
          "one temporal tap without temporal padding or stride (taps 3, padding 0, stride 1)"},
         {"dilation",
          [](auto& p) {
              p.w = 900;
              p.dilation.w = 128;
          },
          "corners of rows and columns in [-128, 127] and taps within 255 (padding 0, 1, 1 and 0, 1, 1, filter 1, "
          "3, 3, dilation 1, 1, 128)"},
         {"pixels", [](auto& p) { p.n = 8388608; }, "fewer than 2^31 output pixels (pixels 2147483648)"}});
}

TEST(Gates, OfVolumesDeclineEachAlone) {
    expect_each(gates(Activation::Volume3d), kConv3d, kOfEveryForm);
    expect_each(gates(Activation::Volume3d), kConv3d,
                {{"padding", [](auto& p) { p.pad.front = 17; },
                  "corners of all axes in [-16, 15] and taps within 31 (padding 17, 1, 1 and 0, 1, 1, filter 3, 3, 3, "
                  "dilation 1, 1, 1)"}});
}

TEST(Gates, OfWindowsDeclineEachAlone) {
    expect_each(gates(Activation::Window3d), kConv3d, kOfEveryForm);
    expect_each(gates(Activation::Window3d), kConv3d,
                {{"dilation", [](auto& p) { p.dilation.d = 2; }, "temporal dilation 1 (dilation 2)"},
                 {"padding",
                  [](auto& p) {
                      p.d = 3;
                      p.pad.front = 3;
                  },
                  "every output frame meets an input frame (temporal padding 3 and 0, taps 3)"},
                 {"frames", [](auto& p) { p.d = 9; }, "at most 8 frames in and out (frames 9 in, 7 out)"}});
}

TEST(Gates, OfQsliceDeclineEachAlone) {
    expect_each(qslice_gates(), kConv3d,
                {{"fp16", [](auto& p) { p.dtype = Element::F16; }, "bf16 (fp16)"},
                 {"stride", [](auto& p) { p.stride.h = 2; }, "stride 1 (stride 1, 2, 1)"},
                 {"dilation", [](auto& p) { p.dilation.w = 2; }, "dilation 1 (dilation 1, 1, 2)"},
                 {"groups", [](auto& p) { p.groups = 2; }, "groups 1 (groups 2)"},
                 {"2-D", [](auto& p) { p.filter.q = 1; }, "more than one temporal tap (Q 1)"},
                 {"temporal only",
                  [](auto& p) {
                      p.filter.r = p.filter.s = 1;
                      p.pad = {};
                  },
                  "more than one tap in a frame (R * S 1)"},
                 {"causal", [](auto& p) { p.pad.front = 2; }, "no temporal padding (front 2, back 0)"},
                 {"C_in 16", [](auto& p) { p.c_in = 16; }, "C_in a multiple of 32 (C_in 16)"},
                 {"C_out 12", [](auto& p) { p.filter.k = 12; }, "C_out a multiple of 8 (C_out 12)"}});
}

TEST(Gates, ListEveryReasonOfOneShape) {
    ConvProblem shape = kConv2d;
    shape.c_in = 3;
    shape.groups = 3;
    EXPECT_EQ(declined(gates(Activation::Frames2d), shape), "groups 1 (groups 3); C_in a multiple of 32 (C_in 3)");
}

}  // namespace
}  // namespace kinetograph::sm100
