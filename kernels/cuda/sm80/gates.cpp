#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/cuda/host/pass_launch.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>
#include <kinetograph/kernels/cuda/sm80/gates.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::Gate;
using conv::Subject;

constexpr Gate<Subject> kImplicitGemm[] = {
    kSinceSm80,
    conv::kBf16OrF16,
    conv::kUnscaled,
    conv::kUngrouped,
    {"temporal taps that one launch has room for",
     [](const Subject& s) { return s.problem.filter.q <= kMaxConvFrameTaps; },
     [](const Subject& s) {
         return std::to_string(s.problem.filter.q) + "; there is room for " + std::to_string(kMaxConvFrameTaps);
     }},
};

constexpr Gate<Subject> kWinograd[] = {
    kSinceSm80,
    conv::kBf16OrF16,
    conv::kUnscaled,
    conv::kUngrouped,
    conv::kNoUpsampling,
    {"input channels a multiple of 8", [](const Subject& s) { return s.problem.c_in % 8 == 0; },
     [](const Subject& s) { return std::to_string(s.problem.c_in); }},
    conv::kStride1,
    conv::kDilation1,
    conv::kTaps3x3x3,
    conv::kPaddedByTwoFrames,
    conv::kTwoFrames,
};

constexpr Gate<Subject> kQSlice[] = {
    kSinceSm80,
    conv::kNoUpsampling,
    conv::kUngrouped,
    conv::kBf16,
    conv::kUnscaled,
    conv::kStride1,
    conv::kDilation1,
    {"more than one temporal tap", [](const Subject& s) { return s.problem.filter.q > 1; },
     [](const Subject& s) { return std::to_string(s.problem.filter.q); }},
    {"more than one tap in a frame", [](const Subject& s) { return s.problem.filter.r * s.problem.filter.s > 1; },
     [](const Subject& s) { return std::to_string(s.problem.filter.r) + 'x' + std::to_string(s.problem.filter.s); }},
    {"no temporal padding", [](const Subject& s) { return s.problem.pad.front == 0 && s.problem.pad.back == 0; },
     [](const Subject& s) {
         return std::to_string(s.problem.pad.front) + " before and " + std::to_string(s.problem.pad.back) + " after";
     }},
    {"input channels a multiple of 32", [](const Subject& s) { return s.problem.c_in % 32 == 0; },
     [](const Subject& s) { return std::to_string(s.problem.c_in); }},
    {"output channels a multiple of 8", [](const Subject& s) { return s.problem.filter.k % 8 == 0; },
     [](const Subject& s) { return std::to_string(s.problem.filter.k); }},
};

constexpr Gate<Subject> kIm2col[] = {
    kSinceSm80,
    conv::kBf16OrF16,
    conv::kUnscaled,
    {"pixels of whole 16 bytes, or temporal taps that one launch has room for",
     [](const Subject& s) { return s.problem.c_in % 8 == 0 || s.problem.filter.q <= cuda::kMaxPassFrames; },
     [](const Subject& s) {
         return std::to_string(2 * s.problem.c_in) + " bytes and " + std::to_string(s.problem.filter.q) +
                " taps; there is room for " + std::to_string(cuda::kMaxPassFrames);
     }},
};

}  // namespace

std::span<const Gate<Subject>> implicit_gemm_gates() { return kImplicitGemm; }
std::span<const Gate<Subject>> winograd_gates() { return kWinograd; }
std::span<const Gate<Subject>> q_slice_gates() { return kQSlice; }
std::span<const Gate<Subject>> im2col_gates() { return kIm2col; }

}  // namespace kinetograph::sm80
