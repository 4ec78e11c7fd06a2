#include <kinetograph/compute/conv/cuda/gates.hpp>
#include <kinetograph/compute/conv/cuda/im2col.hpp>
#include <kinetograph/compute/conv/cuda/q_slice.hpp>
#include <kinetograph/compute/conv/cuda/sm100_conv.hpp>
#include <kinetograph/compute/conv/cuda/sm100_im2col.hpp>
#include <kinetograph/compute/conv/cuda/sm100_q_slice.hpp>
#include <kinetograph/compute/conv/direct/convolution.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/hip/four_wave.hpp>
#include <kinetograph/compute/conv/hip/im2col.hpp>
#include <kinetograph/compute/conv/onednn/convolution.hpp>
#include <kinetograph/compute/conv/reference/convolution.hpp>

#include <fmt/ranges.h>

#include <algorithm>

namespace kinetograph::conv {
namespace {

using tensor::DType;
using Subject = DispatchSubject;

/// Whether some output frame has all its taps in the padding.
bool sees_only_padding(const ConvProblem& p) {
    for (std::int64_t t = 0; t < p.d_out(); ++t) {
        bool meets_input = false;
        for (std::int64_t q = 0; q < p.filter.q; ++q) {
            const std::int64_t frame = t * p.stride.d + q * p.dilation.d - p.pad.front;
            meets_input |= frame >= 0 && frame < p.d;
        }
        if (!meets_input) return true;
    }
    return false;
}

constexpr Gate<Subject> kOnCpu{"a CPU device", [](const Subject& s) { return s.device.kind == accel::Kind::Cpu; },
                               [](const Subject& s) { return std::string(accel::to_string(s.device.kind)); }};

bool has_feature(const Subject& subject, std::string_view feature) {
    return subject.device.features.find(feature) != std::string::npos;
}

std::string features(const Subject& subject) {
    return subject.device.features.empty() ? "none" : subject.device.features;
}

constexpr Gate<Subject> kF32OrBf16{
    "fp32 or bf16", [](const Subject& s) { return s.problem.dtype == DType::F32 || s.problem.dtype == DType::BF16; },
    [](const Subject& s) { return std::string(tensor::to_string(s.problem.dtype)); }};

constexpr Gate<Subject> kEvenChannels{
    "an even number of input channels in a group for bf16",
    [](const Subject& s) { return s.problem.dtype == DType::F32 || s.problem.c_in / s.problem.groups % 2 == 0; },
    [](const Subject& s) { return fmt::format("{}", s.problem.c_in / s.problem.groups); }};

constexpr Gate<Subject> kDirectGates[] = {
    kOnCpu,
    kF32OrBf16,
    kNoUpsampling,
    {"AVX-512", [](const Subject& s) { return has_feature(s, "avx512f"); }, features},
    {"AVX512_BF16 for bf16",
     [](const Subject& s) { return s.problem.dtype == DType::F32 || has_feature(s, "avx512_bf16"); }, features},
    kEvenChannels,  // VDPBF16PS multiplies two at a time
    kUngrouped,
};

constexpr Gate<Subject> kMeetsInput{"every output frame to meet an input frame",
                                    [](const Subject& s) { return !sees_only_padding(s.problem); },
                                    [](const Subject& s) {
                                        const ConvProblem& p = s.problem;
                                        return fmt::format("{} frames, {} taps, pad {} in front and {} behind", p.d,
                                                           p.filter.q, p.pad.front, p.pad.back);
                                    }};

/// Rows or columns from a filter's first tap to its last.
std::int64_t reach(std::int64_t taps, std::int64_t dilation) { return (taps - 1) * dilation + 1; }

// oneDNN 2.6's im2col writes out of bounds where a filter sticks out of the image on both sides.
constexpr Gate<Subject> kFitsImage{"a filter no larger than the image",
                                   [](const Subject& s) {
                                       const ConvProblem& p = s.problem;
                                       return reach(p.filter.r, p.dilation.h) <= p.h &&
                                              reach(p.filter.s, p.dilation.w) <= p.w;
                                   },
                                   [](const Subject& s) {
                                       const ConvProblem& p = s.problem;
                                       return fmt::format("{}x{} on {}x{}", reach(p.filter.r, p.dilation.h),
                                                          reach(p.filter.s, p.dilation.w), p.h, p.w);
                                   }};

constexpr Gate<Subject> kOneDnnGates[] = {
    kOnCpu,
    kF32OrBf16,
    kNoUpsampling,
    kMeetsInput,
    kFitsImage,
    // oneDNN's bf16 code needs AVX-512; AVX512_BF16 makes it fast, without it the products are emulated.
    {"AVX-512 for bf16", [](const Subject& s) { return s.problem.dtype == DType::F32 || has_feature(s, "avx512f"); },
     features},
    kEvenChannels,  // oneDNN 2.6 reads past an odd last channel: seen with 17
};

constexpr Gate<Subject> kWidenedGates[] = {
    kOnCpu,
    kNoUpsampling,
    kMeetsInput,
    kFitsImage,
    {"bf16 activations", [](const Subject& s) { return s.problem.dtype == DType::BF16; },
     [](const Subject& s) { return std::string(tensor::to_string(s.problem.dtype)); }},
};

constexpr Gate<Subject> kReferenceGates[] = {
    kOnCpu,
    {"fp32 or bf16 frames to norm",
     [](const Subject& s) { return s.problem.norm == Norm::None || s.problem.output_dtype != DType::F16; },
     [](const Subject& s) { return std::string(tensor::to_string(s.problem.output_dtype)); }},
};

constexpr Gate<Subject> kOnGfx950{
    "a gfx950 device",
    [](const Subject& s) { return s.device.kind == accel::Kind::Hip && s.device.architecture.starts_with("gfx950"); },
    [](const Subject& s) {
        return s.device.kind == accel::Kind::Hip ? s.device.architecture : std::string(accel::to_string(s.device.kind));
    }};

constexpr Gate<Subject> kFourWaveGates[] = {
    kOnGfx950,
    {"bf16, fp16 or fp8", [](const Subject& s) { return hip::element_of(s.problem.dtype).has_value(); },
     [](const Subject& s) { return std::string(tensor::to_string(s.problem.dtype)); }},
    {"what one launch of the kernel holds",
     [](const Subject& s) {
         return !hip::element_of(s.problem.dtype) || gfx950::declined(hip::four_wave_problem(s.problem)).empty();
     },
     [](const Subject& s) {
         return fmt::format("{}", fmt::join(gfx950::declined(hip::four_wave_problem(s.problem)), "; "));
     }},
};

constexpr Gate<Subject> kIm2colGates[] = {
    kOnGfx950,
    kNoUpsampling,
    kBf16OrF16,
    {"no norm", [](const Subject& s) { return s.problem.norm == Norm::None; },
     [](const Subject&) { return std::string("one"); }},
};

constexpr Candidate kCandidates[] = {
    {"conv2d-sm100", "implicit GEMM of images on SM100's tensor memory", cuda::kConv2dSm100Gates,
     cuda::create_conv2d_sm100, true},
    {"conv3d-sm100", "causal implicit GEMM in one launch on SM100's tensor memory", cuda::kConv3dSm100Gates,
     cuda::create_conv3d_sm100, true},
    {"q-slice-sm100", "a 2-D implicit GEMM a temporal tap on SM100, its epilogue adding fp32 sums",
     cuda::kQSliceSm100Gates, cuda::create_q_slice_sm100, true},
    {"q-slice-rounded-sm100", "a 2-D implicit GEMM a temporal tap on SM100, its bf16 results added by a pass",
     cuda::kQSliceSm100Gates, cuda::create_rounded_q_slice_sm100, true},
    {"implicit-gemm", "implicit GEMM on any NVIDIA GPU since sm_80, frames read in place", cuda::kImplicitGemmGates,
     cuda::create_implicit_gemm, true},
    {"q-slice", "a 2-D implicit GEMM a temporal tap, its epilogue adding fp32 sums", cuda::kQSliceGates,
     cuda::create_q_slice, true},
    {"q-slice-rounded", "a 2-D implicit GEMM a temporal tap, its bf16 results added by a pass", cuda::kQSliceGates,
     cuda::create_rounded_q_slice, true},
    {"im2col-sm100", "a matrix of all taps and its product on SM100's tensor memory", cuda::kIm2colSm100Gates,
     cuda::create_im2col_sm100, true},
    {"im2col-cuda", "a matrix of all taps and its product on any NVIDIA GPU since sm_80", cuda::kIm2colGates,
     cuda::create_im2col, true},
    {"four-wave", "implicit GEMM on gfx950's matrix units, frames read in place", kFourWaveGates, hip::create_four_wave,
     true},
    {"im2col", "a matrix of all taps and its product on gfx950", kIm2colGates, hip::create_im2col, true},
    {"direct", "our AVX-512 loops, frames read in place", kDirectGates, direct::create, true},
    {"onednn", "generated code in the problem's own dtype, frames read in place", kOneDnnGates, onednn::create},
    {"onednn-f32", "bf16 widened to float32 frame by frame, then generated float32 code", kWidenedGates,
     onednn::create_widened},
    {"reference", "plain loops, sums in fp64", kReferenceGates, reference::create},
};

}  // namespace

std::span<const Candidate> candidates() { return kCandidates; }

std::vector<DispatchRow> explain(const accel::DeviceInfo& device, const ConvProblem& problem) {
    const Subject subject{problem, device};
    std::vector<DispatchRow> rows;
    for (const Candidate& candidate : kCandidates) {
        DispatchRow row{candidate.name, true, {}};
        for (const auto& gate : candidate.gates) {
            if (gate.holds(subject)) continue;
            row.open = false;
            row.reason += fmt::format("{}wants {}, met {}", row.reason.empty() ? "" : "; ", gate.requirement,
                                      gate.value(subject));
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string to_string(std::span<const DispatchRow> rows) {
    std::size_t width = 0;
    for (const DispatchRow& row : rows) width = std::max(width, row.candidate.size());
    std::string text;
    for (const DispatchRow& row : rows) {
        text += fmt::format("  {:<{}}  {}\n", row.candidate, width, row.open ? "open" : "closed: " + row.reason);
    }
    return text;
}

}  // namespace kinetograph::conv
