#include <kinetograph/kernels/cuda/sm100/gates.hpp>

#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/cuda/host/upsample.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_params.hpp>
#include <kinetograph/kernels/cuda/sm100/cost.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>

namespace kinetograph::sm100 {
namespace {

using conv::ConvProblem;
using conv::Dhw;
using conv::Gate;
using conv::Subject;

std::string text(const char* name, int64_t value) { return std::string(name) + " " + std::to_string(value); }
std::string text(const Dhw& axes) {
    return std::to_string(axes.d) + ", " + std::to_string(axes.h) + ", " + std::to_string(axes.w);
}
std::string met_element(const ConvProblem& p) { return std::string(conv::element_spelling(p.input.element)); }
bool multiplies(Element element) { return element == Element::BF16 || element == Element::F16 || is_fp8(element); }

/// Whether the corners of one axis of an im2col map fit their field, and the offset of every tap its own.
bool reaches(int64_t pad_front, int64_t pad_back, int64_t taps, int64_t dilation, int64_t corner, int64_t offset) {
    const int64_t reach = (taps - 1) * dilation, upper = pad_back - reach;
    return pad_front <= corner && upper >= -corner && upper < corner && reach <= offset;
}
bool reaches_in_frames(const ConvProblem& p) {  // rank 4: 8 bits an axis
    return reaches(p.pad.left, p.pad.right, p.filter.s, p.dilation.w, 128, 255) &&
           reaches(p.pad.top, p.pad.bottom, p.filter.r, p.dilation.h, 128, 255);
}
bool reaches_in_volumes(const ConvProblem& p) {  // rank 5: 5 bits an axis
    return reaches(p.pad.left, p.pad.right, p.filter.s, p.dilation.w, 16, 31) &&
           reaches(p.pad.top, p.pad.bottom, p.filter.r, p.dilation.h, 16, 31) &&
           reaches(p.pad.front, p.pad.back, p.filter.q, p.dilation.d, 16, 31);
}
std::string reach_value(const ConvProblem& p) {
    return "padding " + text(Dhw{p.pad.front, p.pad.top, p.pad.left}) + " and " +
           text(Dhw{p.pad.back, p.pad.bottom, p.pad.right}) + ", filter " +
           text(Dhw{p.filter.q, p.filter.r, p.filter.s}) + ", dilation " + text(p.dilation);
}

constexpr Gate<ConvProblem> kElement{"bf16, fp16 or fp8",
                                     [](const ConvProblem& p) { return multiplies(p.input.element); }, met_element};
constexpr Gate<ConvProblem> kGroups{"groups 1", [](const ConvProblem& p) { return p.groups == 1; },
                                    [](const ConvProblem& p) { return text("groups", p.groups); }};
// 32 bf16 channels are one row under the 64-byte swizzle.
constexpr Gate<ConvProblem> kChannels{"C_in a multiple of 32",
                                      [](const ConvProblem& p) { return p.c_in > 0 && p.c_in % 32 == 0; },
                                      [](const ConvProblem& p) { return text("C_in", p.c_in); }};
// A row of D is a stride of its tensor map: it must be a multiple of 16 bytes.
constexpr Gate<ConvProblem> kFilters{"C_out a multiple of 8", [](const ConvProblem& p) { return p.filter.k % 8 == 0; },
                                     [](const ConvProblem& p) { return text("C_out", p.filter.k); }};
constexpr Gate<ConvProblem> kStrides{"strides 1 to 8",
                                     [](const ConvProblem& p) {
                                         const auto fits = [](int64_t stride) { return stride >= 1 && stride <= 8; };
                                         return fits(p.stride.d) && fits(p.stride.h) && fits(p.stride.w);
                                     },
                                     [](const ConvProblem& p) { return "strides " + text(p.stride); }};
constexpr Gate<ConvProblem> kPixels{
    "fewer than 2^31 output pixels",
    [](const ConvProblem& p) { return p.frames_out() * p.pixels_out() < int64_t{1} << 31; },
    [](const ConvProblem& p) { return text("pixels", p.frames_out() * p.pixels_out()); }};

constexpr Gate<ConvProblem> kFramesGates[] = {
    kElement,
    kGroups,
    kChannels,
    kFilters,
    kStrides,
    kPixels,
    {"one temporal tap without temporal padding or stride",
     [](const ConvProblem& p) { return p.filter.q == 1 && p.pad.front == 0 && p.pad.back == 0 && p.stride.d == 1; },
     [](const ConvProblem& p) {
         return text("taps", p.filter.q) + ", " + text("padding", p.pad.front + p.pad.back) + ", " +
                text("stride", p.stride.d);
     }},
    {"corners of rows and columns in [-128, 127] and taps within 255", reaches_in_frames, reach_value}};

constexpr Gate<ConvProblem> kVolumeGates[] = {
    kElement,
    kGroups,
    kChannels,
    kFilters,
    kStrides,
    kPixels,
    {"corners of all axes in [-16, 15] and taps within 31", reaches_in_volumes, reach_value}};

constexpr Gate<ConvProblem> kWindowGates[] = {
    kElement,
    kGroups,
    kChannels,
    kFilters,
    kStrides,
    kPixels,
    {"corners of rows and columns in [-128, 127] and taps within 255", reaches_in_frames, reach_value},
    {"temporal dilation 1", [](const ConvProblem& p) { return p.dilation.d == 1; },
     [](const ConvProblem& p) { return text("dilation", p.dilation.d); }},
    {"every output frame to meet an input frame",
     [](const ConvProblem& p) { return p.pad.front < p.filter.q && p.pad.back < p.filter.q; },
     [](const ConvProblem& p) {
         return text("temporal padding", p.pad.front) + " and " + std::to_string(p.pad.back) + ", " +
                text("taps", p.filter.q);
     }},
    {"at most 8 frames in and out",
     [](const ConvProblem& p) { return p.frames_in() <= kWindowFrames && p.frames_out() <= kWindowFrames; },
     [](const ConvProblem& p) {
         return text("frames", p.frames_in()) + " in, " + std::to_string(p.frames_out()) + " out";
     }}};

constexpr Gate<ConvProblem> kQsliceGates[] = {
    {"bf16", [](const ConvProblem& p) { return p.input.element == Element::BF16; }, met_element},
    {"stride 1", [](const ConvProblem& p) { return p.stride.all(1); },
     [](const ConvProblem& p) { return "stride " + text(p.stride); }},
    {"dilation 1", [](const ConvProblem& p) { return p.dilation.all(1); },
     [](const ConvProblem& p) { return "dilation " + text(p.dilation); }},
    kGroups,
    {"more than one temporal tap", [](const ConvProblem& p) { return p.filter.q > 1; },
     [](const ConvProblem& p) { return text("Q", p.filter.q); }},
    {"more than one tap in a frame", [](const ConvProblem& p) { return p.filter.r * p.filter.s > 1; },
     [](const ConvProblem& p) { return text("R * S", p.filter.r * p.filter.s); }},
    {"no temporal padding", [](const ConvProblem& p) { return p.pad.front == 0 && p.pad.back == 0; },
     [](const ConvProblem& p) { return text("front", p.pad.front) + ", " + text("back", p.pad.back); }},
    kChannels,
    kFilters,
    kPixels,
    {"corners of rows and columns in [-128, 127] and taps within 255", reaches_in_frames, reach_value}};

constexpr Gate<Subject> kOnSm100{"an sm_100 or sm_103 device",
                                 [](const Subject& s) { return s.chip.cuda_architecture() / 10 == 10; },
                                 [](const Subject& s) { return conv::met_chip(s, "cuda"); }};

constexpr Gate<Subject> kNarrowOutput{
    "an output of 16 bits", [](const Subject& s) { return s.problem.output.element != Element::F32; },
    [](const Subject& s) { return std::string(conv::element_spelling(s.problem.output.element)); }};

constexpr Gate<Subject> kMultipliedElement{
    "bf16, fp16 or fp8", [](const Subject& s) { return multiplies(s.problem.input.element); }, conv::met_dtype};
/// The kernel's gates that the problem fails; "" if none, or if no kernel here multiplies the element.
std::string failed(std::span<const Gate<ConvProblem>> gates, const Subject& s) {
    return multiplies(s.problem.input.element) ? conv::reasons(gates, s.problem) : "";
}
std::string failed_value(std::span<const Gate<ConvProblem>> gates, const Subject& s) {
    return "one that " + failed(gates, s);
}

bool few_filters(const ConvProblem& p) { return p.filter.k <= 16; }
bool bare(const ConvProblem& p) { return !p.residual && p.norm == conv::Norm::None && !p.upsample; }

// Tensor maps require strides of multiples of 16 bytes: 8 channels of 16 bits.
constexpr Gate<Subject> kInputChannels{"input channels a multiple of 8",
                                       [](const Subject& s) { return s.problem.c_in % 8 == 0; },
                                       [](const Subject& s) { return std::to_string(s.problem.c_in); }};

constexpr Gate<Subject> kImplicitGemm[] = {
    kOnSm100,
    conv::kBf16OrF16,
    {"an output of the input's type, or at most 16 output channels without residual, norm and upsampling",
     [](const Subject& s) {
         return s.problem.output.element == s.problem.input.element || (few_filters(s.problem) && bare(s.problem));
     },
     [](const Subject& s) { return std::string(conv::element_spelling(s.problem.output.element)); }},
    conv::kUnscaled,
    conv::kUngrouped,
    kInputChannels,
    {"output channels a multiple of 8, or at most 16 without residual, norm and upsampling",
     [](const Subject& s) { return s.problem.filter.k % 8 == 0 || (few_filters(s.problem) && bare(s.problem)); },
     [](const Subject& s) { return std::to_string(s.problem.filter.k); }},
    conv::kStride1,
    conv::kDilation1,
    {"1x1 or 3x3 taps in a frame",
     [](const Subject& s) {
         const conv::Filter& f = s.problem.filter;
         return f.r == f.s && (f.r == 1 || f.r == 3);
     },
     [](const Subject& s) { return std::to_string(s.problem.filter.r) + 'x' + std::to_string(s.problem.filter.s); }},
    {"at most 3 temporal taps", [](const Subject& s) { return s.problem.filter.q <= sm90::kMaxTemporalTaps; },
     [](const Subject& s) { return std::to_string(s.problem.filter.q); }},
    {"every output frame to meet an input frame",
     [](const Subject& s) {
         return s.problem.pad.front < s.problem.filter.q && s.problem.pad.back < s.problem.filter.q;
     },
     [](const Subject& s) {
         return "padding " + std::to_string(s.problem.pad.front) + " and " + std::to_string(s.problem.pad.back);
     }},
    {"upsampling by four 2x2 convolutions: 3x3 taps with padding 1",
     [](const Subject& s) { return !s.problem.upsample || cuda::upsample_of(s.problem) == cuda::Upsample::SubPixel; },
     [](const Subject&) { return std::string("other taps or padding"); }},
};

constexpr Gate<Subject> kWinograd[] = {
    kOnSm100,
    conv::kBf16OrF16,
    {"an output of the input's type",
     [](const Subject& s) { return s.problem.output.element == s.problem.input.element; },
     [](const Subject& s) { return std::string(conv::element_spelling(s.problem.output.element)); }},
    conv::kUnscaled,
    conv::kUngrouped,
    conv::kNoUpsampling,
    kInputChannels,
    {"output channels a multiple of 8", [](const Subject& s) { return s.problem.filter.k % 8 == 0; },
     [](const Subject& s) { return std::to_string(s.problem.filter.k); }},
    conv::kStride1,
    conv::kDilation1,
    conv::kTaps3x3x3,
    conv::kPaddedByTwoFrames,
    conv::kTwoFrames,
};

constexpr Gate<Subject> kSiluOrNone{"SiLU or no activation",
                                    [](const Subject& s) { return s.problem.activation != conv::Activation::Relu; },
                                    [](const Subject& s) { return std::string(to_string(s.problem.activation)); }};

bool takes_e5m2(const ConvProblem& p) { return p.coarser_operand() == Element::F8E5M2; }
// Kernels with SiLU are built for operands of one type, those with operands of fp8 e5m2 without.
constexpr Gate<Subject> kSiluWithoutE5m2{
    "no activation of sums of fp8 e5m2",
    [](const Subject& s) { return s.problem.activation == conv::Activation::None || !takes_e5m2(s.problem); },
    [](const Subject& s) { return std::string(to_string(s.problem.activation)); }};

constexpr Gate<Subject> kConv2d[] = {
    kOnSm100,
    kSiluOrNone,
    kSiluWithoutE5m2,
    kNarrowOutput,
    kMultipliedElement,
    {"what the 2-D kernel holds", [](const Subject& s) { return failed(gates(Activation::Frames2d), s).empty(); },
     [](const Subject& s) { return failed_value(gates(Activation::Frames2d), s); }},
};

constexpr Gate<Subject> kConv3d[] = {
    kOnSm100,
    kSiluOrNone,
    kSiluWithoutE5m2,
    kNarrowOutput,
    kMultipliedElement,
    {"what one launch over frames holds",
     [](const Subject& s) { return failed(gates(Activation::Window3d), s).empty(); },
     [](const Subject& s) { return failed_value(gates(Activation::Window3d), s); }},
};

constexpr Gate<Subject> kQSlice[] = {
    kOnSm100,
    kSiluOrNone,
    kNarrowOutput,
    conv::kBf16,
    {"what Q-slice splits", [](const Subject& s) { return failed(qslice_gates(), s).empty(); },
     [](const Subject& s) { return failed_value(qslice_gates(), s); }},
};

constexpr Gate<Subject> kIm2col[] = {
    kOnSm100,
    kSiluOrNone,
    {"bf16, fp16 or fp8 e4m3",
     [](const Subject& s) { return multiplies(s.problem.input.element) && !takes_e5m2(s.problem); },
     [](const Subject& s) { return std::string(conv::element_spelling(s.problem.coarser_operand())); }},
    {"pixels of an even number of bytes where they are doubled",
     [](const Subject& s) {
         return !s.problem.upsample || s.problem.c_in * element_bytes(s.problem.input.element) % 2 == 0;
     },
     [](const Subject& s) { return std::to_string(s.problem.c_in * element_bytes(s.problem.input.element)); }},
    {"no activation before an fp32 output",
     [](const Subject& s) {
         return s.problem.activation == conv::Activation::None || s.problem.output.element != Element::F32;
     },
     [](const Subject& s) { return std::string(to_string(s.problem.activation)); }},
};

}  // namespace

std::span<const Gate<ConvProblem>> gates(Activation activation) {
    switch (activation) {
        case Activation::Frames2d:
            return kFramesGates;
        case Activation::Volume3d:
            return kVolumeGates;
        default:
            return kWindowGates;
    }
}

std::span<const Gate<ConvProblem>> qslice_gates() { return kQsliceGates; }

std::span<const Gate<Subject>> implicit_gemm_gates() { return kImplicitGemm; }
std::span<const Gate<Subject>> winograd_gates() { return kWinograd; }
std::span<const Gate<Subject>> conv2d_gates() { return kConv2d; }
std::span<const Gate<Subject>> conv3d_gates() { return kConv3d; }
std::span<const Gate<Subject>> q_slice_gates() { return kQSlice; }
std::span<const Gate<Subject>> im2col_gates() { return kIm2col; }

}  // namespace kinetograph::sm100
