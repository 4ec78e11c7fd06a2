#include <kinetograph/kernels/cuda/sm100/gates.hpp>

#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_gates.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>
#include <kinetograph/kernels/cuda/sm100/shape.hpp>
#include <kinetograph/kernels/cuda/sm100/winograd_model.hpp>
#include <kinetograph/kernels/cuda/sm80/upsample.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>

namespace kinetograph::sm100 {
namespace {

using conv::Gate;
using conv::Subject;

constexpr Gate kOnSm100{"an sm_100 or sm_103 device",
                        [](const Subject& s) { return s.chip.cuda_architecture() / 10 == 10; },
                        [](const Subject& s) { return conv::met_chip(s, "cuda"); }};

// Compiling takes half a minute and 6 MiB, so only builds whose architectures include it have the kernels.
constexpr Gate kInBuild{"kernels for sm_100f in this build",
                        [](const Subject&) { return !cuda::fat_binary("conv2d_frames").empty(); },
                        [](const Subject&) { return std::string(cuda::fat_binary_compiler()); }};

constexpr Gate kNarrowOutput{
    "an output of 16 bits", [](const Subject& s) { return s.problem.output_dtype != Element::F32; },
    [](const Subject& s) { return std::string(conv::element_spelling(s.problem.output_dtype)); }};

bool multiplies(Element element) {
    return element == Element::BF16 || element == Element::F16 || element == Element::F8E4M3;
}
constexpr Gate kMultipliedElement{"bf16, fp16 or fp8", [](const Subject& s) { return multiplies(s.problem.dtype); },
                                  conv::met_dtype};
constexpr Gate kBf16BeforeActivation{
    "bf16 before an activation",
    [](const Subject& s) { return s.problem.activation == conv::Activation::None || s.problem.dtype == Element::BF16; },
    conv::met_dtype};

/// The kernel's gates that the problem fails; "" if none, or if no kernel here multiplies the element.
std::string failed(std::span<const Conv2dGate> gates, const Subject& s) {
    return multiplies(s.problem.dtype) ? declined(gates, shape_of(s.problem)) : "";
}
std::string failed_value(std::span<const Conv2dGate> gates, const Subject& s) {
    return "a problem that fails " + failed(gates, s);
}

bool few_filters(const conv::ConvProblem& p) { return p.filter.k <= 16; }
bool bare(const conv::ConvProblem& p) { return !p.residual && p.norm == conv::Norm::None && !p.upsample; }

// Tensor maps want pixels that begin at multiples of 16 bytes.
constexpr Gate kInputChannels{"input channels a multiple of 8",
                              [](const Subject& s) { return s.problem.c_in % 8 == 0; },
                              [](const Subject& s) { return std::to_string(s.problem.c_in); }};

constexpr Gate kImplicitGemm[] = {
    kOnSm100,
    kInBuild,
    conv::kBf16OrF16,
    {"an output of the input's type, or at most 16 output channels without residual, norm and upsampling",
     [](const Subject& s) {
         return s.problem.output_dtype == s.problem.dtype || (few_filters(s.problem) && bare(s.problem));
     },
     [](const Subject& s) { return std::string(conv::element_spelling(s.problem.output_dtype)); }},
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
     [](const Subject& s) { return !s.problem.upsample || sm80::upsample_of(s.problem) == sm80::Upsample::SubPixel; },
     [](const Subject&) { return std::string("other taps or padding"); }},
};

std::string met_winograd_model(const Subject& s);

constexpr Gate kWinograd[] = {
    kOnSm100,
    conv::kBf16OrF16,
    {"an output of the input's type", [](const Subject& s) { return s.problem.output_dtype == s.problem.dtype; },
     [](const Subject& s) { return std::string(conv::element_spelling(s.problem.output_dtype)); }},
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
    {"a kernel", [](const Subject&) { return false; }, met_winograd_model},
};

std::string met_winograd_model(const Subject& s) {
    return conv::met_model(
        {[](const conv::ConvProblem& problem, const conv::Chip& chip) { return winograd_seconds(problem, chip); },
         "implicit-gemm-sm100",
         [](const conv::ConvProblem& problem, const conv::Chip& chip) {
             return plan_implicit_gemm(problem, chip).seconds;
         }},
        std::span(kWinograd).first(std::size(kWinograd) - 1), s);
}

constexpr Gate kSiluOrNone{"SiLU or no activation",
                           [](const Subject& s) { return s.problem.activation != conv::Activation::Relu; },
                           [](const Subject& s) { return std::string(to_string(s.problem.activation)); }};

constexpr Gate kConv2d[] = {
    kOnSm100,
    kInBuild,
    kSiluOrNone,
    kNarrowOutput,
    kMultipliedElement,
    kBf16BeforeActivation,
    {"what the 2-D kernel holds", [](const Subject& s) { return failed(gates(Activation::Frames2d), s).empty(); },
     [](const Subject& s) { return failed_value(gates(Activation::Frames2d), s); }},
};

constexpr Gate kConv3d[] = {
    kOnSm100,
    kInBuild,
    kSiluOrNone,
    kNarrowOutput,
    kMultipliedElement,
    kBf16BeforeActivation,
    {"what one launch over frames holds",
     [](const Subject& s) { return failed(gates(Activation::Window3d), s).empty(); },
     [](const Subject& s) { return failed_value(gates(Activation::Window3d), s); }},
};

constexpr Gate kQSlice[] = {
    kOnSm100,
    kInBuild,
    kSiluOrNone,
    kNarrowOutput,
    conv::kBf16,
    {"what Q-slice splits", [](const Subject& s) { return failed(qslice_gates(), s).empty(); },
     [](const Subject& s) { return failed_value(qslice_gates(), s); }},
};

constexpr Gate kIm2col[] = {
    kOnSm100,
    kInBuild,
    kSiluOrNone,
    kMultipliedElement,
    {"pixels of an even number of bytes where they are doubled",
     [](const Subject& s) { return !s.problem.upsample || s.problem.c_in * element_bytes(s.problem.dtype) % 2 == 0; },
     [](const Subject& s) { return std::to_string(s.problem.c_in * element_bytes(s.problem.dtype)); }},
    {"no activation before an fp32 output",
     [](const Subject& s) {
         return s.problem.activation == conv::Activation::None || s.problem.output_dtype != Element::F32;
     },
     [](const Subject& s) { return std::string(to_string(s.problem.activation)); }},
};

}  // namespace

std::span<const Gate> implicit_gemm_gates() { return kImplicitGemm; }
std::span<const Gate> winograd_gates() { return kWinograd; }
std::span<const Gate> conv2d_gates() { return kConv2d; }
std::span<const Gate> conv3d_gates() { return kConv3d; }
std::span<const Gate> q_slice_gates() { return kQSlice; }
std::span<const Gate> im2col_gates() { return kIm2col; }

}  // namespace kinetograph::sm100
