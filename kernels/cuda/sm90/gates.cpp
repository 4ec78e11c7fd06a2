#include <algorithm>
#include <kinetograph/kernels/conv/winograd_time.hpp>
#include <kinetograph/kernels/cuda/host/upsample.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_walk_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_walk_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/gates.hpp>
#include <kinetograph/kernels/cuda/sm90/volume_passes.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::Gate;
using conv::Subject;

constexpr Gate<Subject> kOnSm90{"an sm_90 device", [](const Subject& s) { return s.chip.cuda_architecture() == 90; },
                                [](const Subject& s) { return conv::met_chip(s, "cuda"); }};
// Tensor maps require strides of multiples of 16 bytes: 8 channels.
constexpr Gate<Subject> kInputChannels{"input channels a multiple of 8",
                                       [](const Subject& s) { return s.problem.c_in % 8 == 0; },
                                       [](const Subject& s) { return std::to_string(s.problem.c_in); }};
constexpr Gate<Subject> kTaps{
    "1x1 or 3x3 taps in a frame",
    [](const Subject& s) {
        const conv::Filter& f = s.problem.filter;
        return f.r == f.s && (f.r == 1 || f.r == 3);
    },
    [](const Subject& s) { return std::to_string(s.problem.filter.r) + 'x' + std::to_string(s.problem.filter.s); }};
constexpr Gate<Subject> kTemporalTaps{"temporal taps that one launch has room for",
                                      [](const Subject& s) { return s.problem.filter.q <= kMaxTemporalTaps; },
                                      [](const Subject& s) {
                                          return std::to_string(s.problem.filter.q) + "; there is room for " +
                                                 std::to_string(kMaxTemporalTaps);
                                      }};

constexpr Gate<Subject> kSameOutput{
    "an output of the input's type",
    [](const Subject& s) { return s.problem.output.element == s.problem.input.element; },
    [](const Subject& s) { return std::string(conv::element_spelling(s.problem.output.element)); }};
constexpr Gate<Subject> kOutputChannels{"output channels a multiple of 8",
                                        [](const Subject& s) { return s.problem.filter.k % 8 == 0; },
                                        [](const Subject& s) { return std::to_string(s.problem.filter.k); }};

constexpr Gate<Subject> kImplicitGemm[] = {
    kOnSm90,
    conv::kBf16OrF16,
    kSameOutput,
    conv::kUnscaled,
    conv::kUngrouped,
    kInputChannels,
    kOutputChannels,
    conv::kStride1,
    conv::kDilation1,
    kTaps,
    kTemporalTaps,
    {"upsampling by four 2x2 convolutions: 3x3 taps with padding 1",
     [](const Subject& s) { return !s.problem.upsample || cuda::upsample_of(s.problem) == cuda::Upsample::SubPixel; },
     [](const Subject&) { return std::string("other taps or padding"); }},
};

constexpr Gate<Subject> kBytes[] = {
    kOnSm90,
    {"an input of u8", [](const Subject& s) { return s.problem.multiplies_integers(); },
     [](const Subject& s) { return std::string(conv::element_spelling(s.problem.input.element)); }},
    {"an output of bf16", [](const Subject& s) { return s.problem.output.element == Element::BF16; },
     [](const Subject& s) { return std::string(conv::element_spelling(s.problem.output.element)); }},
    conv::kUngrouped,
    conv::kNoUpsampling,
    {"input and output channels multiples of 16",
     [](const Subject& s) { return s.problem.c_in % 16 == 0 && s.problem.filter.k % 16 == 0; },
     [](const Subject& s) { return std::to_string(s.problem.c_in) + " and " + std::to_string(s.problem.filter.k); }},
    conv::kStride1,
    conv::kDilation1,
    {"3x3 taps in a frame, padded by at most 1",
     [](const Subject& s) {
         const conv::Padding& pad = s.problem.pad;
         return s.problem.filter.r == 3 && s.problem.filter.s == 3 &&
                std::max({pad.top, pad.bottom, pad.left, pad.right}) <= 1;
     },
     [](const Subject& s) {
         const conv::Padding& pad = s.problem.pad;
         return std::to_string(s.problem.filter.r) + 'x' + std::to_string(s.problem.filter.s) + ", padded by " +
                std::to_string(std::max({pad.top, pad.bottom, pad.left, pad.right}));
     }},
    kTemporalTaps,
};

constexpr Gate<Subject> kWinograd[] = {
    kOnSm90,          conv::kBf16OrF16, kSameOutput,    conv::kUnscaled,  conv::kUngrouped, conv::kNoUpsampling,
    kInputChannels,   kOutputChannels,  conv::kStride1, conv::kDilation1, conv::kTaps3x3x3, conv::kPaddedByTwoFrames,
    conv::kTwoFrames,
};

constexpr Gate<Subject> kVolume[] = {
    kOnSm90,
    conv::kBf16,
    kSameOutput,
    conv::kUnscaled,
    conv::kUngrouped,
    conv::kNoUpsampling,
    kInputChannels,
    {"8 to 1024 output channels, a multiple of 8",
     [](const Subject& s) {
         return s.problem.filter.k % 8 == 0 && s.problem.filter.k <= kVolumeChannels * kVolumeThreads;
     },
     [](const Subject& s) { return std::to_string(s.problem.filter.k); }},
    conv::kStride1,
    conv::kDilation1,
    conv::kTaps3x3x3,
    conv::kPaddedByTwoFrames,
    {"an even number of output frames", [](const Subject& s) { return s.problem.d_out() % 2 == 0; },
     [](const Subject& s) { return std::to_string(s.problem.d_out()); }},
};

constexpr Gate<Subject> kNarrowGemm[] = {
    kOnSm90,
    conv::kBf16OrF16,
    conv::kUnscaled,
    conv::kUngrouped,
    conv::kNoUpsampling,
    kInputChannels,
    {"up to 4, 8 or 12 output channels under 3x3 taps, or up to 32 under one",
     [](const Subject& s) {
         const int64_t k = s.problem.filter.k;
         return s.problem.filter.r == 1 ? k <= 32 : k <= 4 || k == 8 || k == 12;
     },
     [](const Subject& s) { return std::to_string(s.problem.filter.k); }},
    {"at most 256 input channels for fewer than 4 output channels under 3x3 taps",
     [](const Subject& s) {
         return s.problem.filter.r == 1 || s.problem.filter.k >= 4 || s.problem.c_in <= kWalkInputs;
     },
     [](const Subject& s) { return std::to_string(s.problem.c_in); }},
    conv::kStride1,
    conv::kDilation1,
    kTaps,
    kTemporalTaps,
    {"no norm", [](const Subject& s) { return s.problem.norm == conv::Norm::None; },
     [](const Subject&) { return std::string("a norm"); }},
    {"carried sums of up to 4 channels and 6 frames, those that are kept included",
     [](const Subject& s) {
         return !s.problem.carried || (walks_frames(s.problem) && s.problem.d_out() <= kMaxOutputs);
     },
     [](const Subject& s) {
         return std::to_string(s.problem.filter.k) + " channels, " + std::to_string(s.problem.d_out()) + " frames";
     }},
};

constexpr Gate<Subject> kQSlice[] = {
    kOnSm90,
    conv::kBf16,
    kSameOutput,
    conv::kUnscaled,
    conv::kUngrouped,
    conv::kNoUpsampling,
    kInputChannels,
    kOutputChannels,
    conv::kStride1,
    conv::kDilation1,
    {"more than one temporal tap", [](const Subject& s) { return s.problem.filter.q > 1; },
     [](const Subject& s) { return std::to_string(s.problem.filter.q); }},
    {"3x3 taps in a frame", [](const Subject& s) { return s.problem.filter.r == 3 && s.problem.filter.s == 3; },
     [](const Subject& s) { return std::to_string(s.problem.filter.r) + 'x' + std::to_string(s.problem.filter.s); }},
    {"no temporal padding", [](const Subject& s) { return s.problem.pad.front == 0 && s.problem.pad.back == 0; },
     [](const Subject& s) {
         return std::to_string(s.problem.pad.front) + " before and " + std::to_string(s.problem.pad.back) + " after";
     }},
};

}  // namespace

std::span<const Gate<Subject>> implicit_gemm_gates() { return kImplicitGemm; }
std::span<const Gate<Subject>> byte_gates() { return kBytes; }
std::span<const Gate<Subject>> winograd_gates() { return kWinograd; }
std::span<const Gate<Subject>> volume_gates() { return kVolume; }
std::span<const Gate<Subject>> narrow_gemm_gates() { return kNarrowGemm; }
std::span<const Gate<Subject>> q_slice_gates() { return kQSlice; }

}  // namespace kinetograph::sm90
