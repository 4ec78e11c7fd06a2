#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/hip/gfx950/gates.hpp>
#include <kinetograph/kernels/hip/gfx950/pack.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ConvProblem;
using conv::Gate;
using conv::Subject;

constexpr Gate<Subject> kOnGfx950{
    "a gfx950 device",
    [](const Subject& s) { return s.chip.kind == "hip" && s.chip.architecture.starts_with("gfx950"); },
    [](const Subject& s) { return conv::met_chip(s, "hip"); }};

bool multiplies(Element element) {
    return element == Element::BF16 || element == Element::F16 || element == Element::F8E4M3;
}

std::string met(int64_t value) { return std::to_string(value); }

/// Whether the other gates can be asked: they divide by and multiply what this one looks at.
bool has_sizes(const ConvProblem& p) {
    return p.groups == 1 && p.c_in >= 1 && p.filter.q >= 1 && p.filter.r >= 1 && p.filter.s >= 1 && p.stride.h >= 1 &&
           p.stride.w >= 1 && p.dilation.h >= 1 && p.dilation.w >= 1;
}
uint64_t packed_filter_bytes(const ConvProblem& p) {
    return static_cast<uint64_t>(walk_of(p).parities * conv::round_up(p.filter.k, 256) *
                                 filter_row(p, ConvPath::Padded, 128) * element_bytes(p.input.element));
}

/// Of one launch of FourWaveConv, its norm included.
constexpr Gate<ConvProblem> kLaunch[] = {
    {"groups 1", [](const ConvProblem& p) { return p.groups == 1; },
     [](const ConvProblem& p) { return met(p.groups); }},
    {"channels, taps, strides and dilations of at least 1",
     [](const ConvProblem& p) { return p.groups != 1 || has_sizes(p); },
     [](const ConvProblem& p) {
         return met(p.c_in) + ", " + conv::met({p.filter.q, p.filter.r, p.filter.s}) + ", " + conv::met(p.stride) +
                " and " + conv::met(p.dilation);
     }},
    {"temporal taps of at most the 64 frames that a launch names",
     [](const ConvProblem& p) { return !has_sizes(p) || p.filter.q <= kMaxConvFrameTaps; },
     [](const ConvProblem& p) { return met(p.filter.q); }},
    {"an input frame of less than the 4 GiB that a buffer descriptor spans",
     [](const ConvProblem& p) { return !has_sizes(p) || p.input_frame_bytes() < kDescriptorBytes; },
     [](const ConvProblem& p) { return std::to_string(p.input_frame_bytes()) + " bytes"; }},
    {"an output frame of less than the 4 GiB that a buffer descriptor spans",
     [](const ConvProblem& p) { return !has_sizes(p) || p.output_frame_bytes() < kDescriptorBytes; },
     [](const ConvProblem& p) { return std::to_string(p.output_frame_bytes()) + " bytes"; }},
    {"a packed filter of less than the 4 GiB that a buffer descriptor spans",
     [](const ConvProblem& p) { return !has_sizes(p) || packed_filter_bytes(p) < kDescriptorBytes; },
     [](const ConvProblem& p) { return std::to_string(packed_filter_bytes(p)) + " bytes"; }},
    {"at most as many output channels under a norm as a tile holds of a pixel's",
     [](const ConvProblem& p) {
         return !has_sizes(p) || p.norm == conv::Norm::None || p.filter.k <= kMostNormedChannels;
     },
     [](const ConvProblem& p) { return met(p.filter.k) + "; a tile holds " + met(kMostNormedChannels); }},
    {"a multiple of 8 output channels under a norm, or at most 128",
     [](const ConvProblem& p) {
         return !has_sizes(p) || p.norm == conv::Norm::None || p.filter.k % 8 == 0 || p.filter.k <= 128;
     },
     [](const ConvProblem& p) { return met(p.filter.k); }},
    {"a norm of rounded outputs",
     [](const ConvProblem& p) {
         return !has_sizes(p) || p.output.element != Element::F32 || p.norm == conv::Norm::None;
     },
     [](const ConvProblem&) { return std::string("F32"); }},
    {"a source of 16 bits, which is prefetched into registers",
     [](const ConvProblem& p) { return !has_sizes(p) || p.output.element != Element::F32 || !p.residual; },
     [](const ConvProblem&) { return std::string("F32"); }},
};

constexpr Gate<Subject> kMultiplied{
    "bf16, fp16 or fp8", [](const Subject& s) { return multiplies(s.problem.input.element); }, conv::met_dtype};

constexpr Gate<Subject> kOneLaunch{
    "what one launch of the kernel holds",
    [](const Subject& s) {
        return !multiplies(s.problem.input.element) || launch_reasons(without_norm(s.problem)).empty();
    },
    [](const Subject& s) { return "one that " + launch_reasons(without_norm(s.problem)); }};

constexpr Gate<Subject> kFourWave[] = {
    kOnGfx950,
    kMultiplied,
    conv::kFilterOfInputsType,
    kOneLaunch,
};

constexpr Gate<Subject> kWinograd[] = {
    kOnGfx950,      conv::kBf16OrF16, conv::kUnscaled,  conv::kNoUpsampling,      kOneLaunch,
    conv::kStride1, conv::kDilation1, conv::kTaps3x3x3, conv::kPaddedByTwoFrames, conv::kTwoFrames,
};

constexpr Gate<Subject> kIm2col[] = {
    kOnGfx950,
    conv::kNoUpsampling,
    kMultiplied,
    conv::kFilterOfInputsType,
    {"no norm", [](const Subject& s) { return s.problem.norm == conv::Norm::None; },
     [](const Subject&) { return std::string("one"); }},
    {"a matrix whose parts descriptors span",
     [](const Subject& s) { return s.problem.upsample || !im2col_refusal(s.problem); },
     [](const Subject& s) { return *im2col_refusal(s.problem); }},
    {"a product that one launch of the kernel holds",
     [](const Subject& s) {
         return s.problem.upsample || launch_reasons(without_norm(im2col_product(s.problem))).empty();
     },
     [](const Subject& s) { return "one that " + launch_reasons(without_norm(im2col_product(s.problem))); }},
};

}  // namespace

std::string launch_reasons(const ConvProblem& problem) {
    return conv::reasons(std::span<const Gate<ConvProblem>>(kLaunch), problem);
}

ConvProblem without_norm(ConvProblem problem) {
    problem.norm = conv::Norm::None;
    return problem;
}

std::span<const Gate<Subject>> four_wave_gates() { return kFourWave; }
std::span<const Gate<Subject>> winograd_gates() { return kWinograd; }
std::span<const Gate<Subject>> im2col_gates() { return kIm2col; }

}  // namespace kinetograph::gfx950
