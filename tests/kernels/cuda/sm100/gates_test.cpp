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

void expect_each(std::span<const conv::Gate<ConvProblem>> gates, const ConvProblem& shape,
                 const std::vector<Decline>& declines) {
    EXPECT_EQ(conv::reasons(gates, shape), "");
    for (const Decline& decline : declines) {
        ConvProblem changed = shape;
        decline.change(changed);
        EXPECT_EQ(conv::reasons(gates, changed), decline.sentence) << decline.name;
    }
}

const std::vector<Decline> kOfEveryForm{
    {"fp32", [](auto& p) { p.input = p.weight = Element::F32; }, "wants bf16, fp16 or fp8, met F32"},
    {"groups", [](auto& p) { p.groups = 4; }, "wants groups 1, met groups 4"},
    {"C_in 100", [](auto& p) { p.c_in = 100; }, "wants C_in a multiple of 32, met C_in 100"},
    {"C_out 3", [](auto& p) { p.filter.k = 3; }, "wants C_out a multiple of 8, met C_out 3"},
    {"stride 9", [](auto& p) { p.stride.w = 9; }, "wants strides 1 to 8, met strides 1, 1, 9"}};

TEST(Gates, OfFramesDeclineEachAlone) {
    expect_each(gates(Activation::Frames2d), kConv2d, kOfEveryForm);
    expect_each(
        gates(Activation::Frames2d), kConv2d,
        {{"3-D", [](auto& p) { p.d = p.filter.q = 3; },
          "wants one temporal tap without temporal padding or stride, met taps 3, padding 0, stride 1"},
         {"dilation",
          [](auto& p) {
              p.w = 900;
              p.dilation.w = 128;
          },
          "wants corners of rows and columns in [-128, 127] and taps within 255, met padding 0, 1, 1 and 0, 1, 1, "
          "filter 1, 3, 3, dilation 1, 1, 128"},
         {"pixels", [](auto& p) { p.n = 8388608; }, "wants fewer than 2^31 output pixels, met pixels 2147483648"}});
}

TEST(Gates, OfVolumesDeclineEachAlone) {
    expect_each(gates(Activation::Volume3d), kConv3d, kOfEveryForm);
    expect_each(gates(Activation::Volume3d), kConv3d,
                {{"padding", [](auto& p) { p.pad.front = 17; },
                  "wants corners of all axes in [-16, 15] and taps within 31, met padding 17, 1, 1 and 0, 1, 1, filter "
                  "3, 3, 3, dilation 1, 1, 1"}});
}

TEST(Gates, OfWindowsDeclineEachAlone) {
    expect_each(gates(Activation::Window3d), kConv3d, kOfEveryForm);
    expect_each(gates(Activation::Window3d), kConv3d,
                {{"dilation", [](auto& p) { p.dilation.d = 2; }, "wants temporal dilation 1, met dilation 2"},
                 {"padding",
                  [](auto& p) {
                      p.d = 3;
                      p.pad.front = 3;
                  },
                  "wants every output frame to meet an input frame, met temporal padding 3 and 0, taps 3"},
                 {"frames", [](auto& p) { p.d = 9; }, "wants at most 8 frames in and out, met frames 9 in, 7 out"}});
}

TEST(Gates, OfQsliceDeclineEachAlone) {
    expect_each(qslice_gates(), kConv3d,
                {{"fp16", [](auto& p) { p.input = p.weight = Element::F16; }, "wants bf16, met F16"},
                 {"stride", [](auto& p) { p.stride.h = 2; }, "wants stride 1, met stride 1, 2, 1"},
                 {"dilation", [](auto& p) { p.dilation.w = 2; }, "wants dilation 1, met dilation 1, 1, 2"},
                 {"groups", [](auto& p) { p.groups = 2; }, "wants groups 1, met groups 2"},
                 {"2-D", [](auto& p) { p.filter.q = 1; }, "wants more than one temporal tap, met Q 1"},
                 {"temporal only",
                  [](auto& p) {
                      p.filter.r = p.filter.s = 1;
                      p.pad = {};
                  },
                  "wants more than one tap in a frame, met R * S 1"},
                 {"causal", [](auto& p) { p.pad.front = 2; }, "wants no temporal padding, met front 2, back 0"},
                 {"C_in 16", [](auto& p) { p.c_in = 16; }, "wants C_in a multiple of 32, met C_in 16"},
                 {"C_out 12", [](auto& p) { p.filter.k = 12; }, "wants C_out a multiple of 8, met C_out 12"}});
}

TEST(Gates, ListEveryReasonOfOneShape) {
    ConvProblem shape = kConv2d;
    shape.c_in = 3;
    shape.groups = 3;
    EXPECT_EQ(conv::reasons(gates(Activation::Frames2d), shape),
              "wants groups 1, met groups 3; wants C_in a multiple of 32, met C_in 3");
}

}  // namespace
}  // namespace kinetograph::sm100
