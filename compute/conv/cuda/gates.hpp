// What the CUDA back ends ask of a problem and a device.
#pragma once

#include <kinetograph/compute/conv/cuda/implicit_gemm.hpp>
#include <kinetograph/compute/conv/cuda/sm100_problem.hpp>
#include <kinetograph/compute/conv/gates.hpp>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>

#include <charconv>

namespace kinetograph::conv::cuda {

/// "sm_90" -> 90; 0 for what is no CUDA device.
inline int chip(const DispatchSubject& subject) {
    constexpr std::string_view kPrefix = "sm_";
    const std::string& name = subject.device.architecture;
    if (subject.device.kind != accel::Kind::Cuda || !name.starts_with(kPrefix)) return 0;
    int chip = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), chip);
    return chip;
}

inline std::string chip_value(const DispatchSubject& s) {
    return s.device.kind == accel::Kind::Cuda ? s.device.architecture : std::string(accel::to_string(s.device.kind));
}

inline constexpr Gate<DispatchSubject> kSinceSm80{"a CUDA device since sm_80",
                                                  [](const DispatchSubject& s) { return chip(s) >= 80; }, chip_value};

inline constexpr Gate<DispatchSubject> kImplicitGemmGates[] = {
    kSinceSm80,
    kBf16OrF16,
    kUngrouped,
    {"what one launch of the kernel holds",
     [](const DispatchSubject& s) { return !element_of(s.problem.dtype) || declined_by_sm80(s.problem).empty(); },
     [](const DispatchSubject& s) { return declined_by_sm80(s.problem); }},
};

inline constexpr Gate<DispatchSubject> kBf16{
    "bf16", [](const DispatchSubject& s) { return s.problem.dtype == tensor::DType::BF16; }, dtype_value};

/// The identity that makes a 3-D convolution a sum of 2-D ones, and channels that fill whole blocks of their loop.
inline constexpr Gate<DispatchSubject> kQSliceGates[] = {
    kSinceSm80,
    kNoUpsampling,
    kUngrouped,
    kBf16,
    {"stride 1", [](const DispatchSubject& s) { return s.problem.stride.all(1); },
     [](const DispatchSubject& s) {
         const Dhw& stride = s.problem.stride;
         return fmt::format("{},{},{}", stride.d, stride.h, stride.w);
     }},
    {"dilation 1", [](const DispatchSubject& s) { return s.problem.dilation.all(1); },
     [](const DispatchSubject& s) {
         const Dhw& dilation = s.problem.dilation;
         return fmt::format("{},{},{}", dilation.d, dilation.h, dilation.w);
     }},
    {"more than one temporal tap", [](const DispatchSubject& s) { return s.problem.filter.q > 1; },
     [](const DispatchSubject& s) { return fmt::format("{}", s.problem.filter.q); }},
    {"more than one tap in a frame",
     [](const DispatchSubject& s) { return s.problem.filter.r * s.problem.filter.s > 1; },
     [](const DispatchSubject& s) { return fmt::format("{}x{}", s.problem.filter.r, s.problem.filter.s); }},
    {"no temporal padding",
     [](const DispatchSubject& s) { return s.problem.pad.front == 0 && s.problem.pad.back == 0; },
     [](const DispatchSubject& s) {
         return fmt::format("{} in front and {} behind", s.problem.pad.front, s.problem.pad.back);
     }},
    {"input channels a multiple of 32", [](const DispatchSubject& s) { return s.problem.c_in % 32 == 0; },
     [](const DispatchSubject& s) { return fmt::format("{}", s.problem.c_in); }},
    {"output channels a multiple of 8", [](const DispatchSubject& s) { return s.problem.filter.k % 8 == 0; },
     [](const DispatchSubject& s) { return fmt::format("{}", s.problem.filter.k); }},
};

inline constexpr Gate<DispatchSubject> kIm2colGates[] = {kSinceSm80, kBf16OrF16};

inline constexpr Gate<DispatchSubject> kOnSm100{
    "an sm_100 or sm_103 device", [](const DispatchSubject& s) { return chip(s) / 10 == 10; }, chip_value};

// Half a minute of compiling and 6 MiB, so builds carry them where their architectures say so.
inline constexpr Gate<DispatchSubject> kSm100InBuild{
    "kernels for sm_100f in this build",
    [](const DispatchSubject&) { return !kinetograph::cuda::fat_binary("conv2d_frames").empty(); },
    [](const DispatchSubject&) { return std::string(kinetograph::cuda::fat_binary_compiler()); }};

inline constexpr Gate<DispatchSubject> kNarrowOutput{
    "an output of 16 bits", [](const DispatchSubject& s) { return s.problem.output_dtype != tensor::DType::F32; },
    [](const DispatchSubject& s) { return std::string(tensor::to_string(s.problem.output_dtype)); }};

inline constexpr Gate<DispatchSubject> kSm100Element{
    "bf16, fp16 or fp8", [](const DispatchSubject& s) { return sm100_element_of(s.problem.dtype).has_value(); },
    dtype_value};

inline constexpr Gate<DispatchSubject> kConv2dSm100Gates[] = {
    kOnSm100,
    kSm100InBuild,
    kNoUpsampling,
    kNarrowOutput,
    kSm100Element,
    {"bf16 before an activation",
     [](const DispatchSubject& s) {
         return s.problem.activation == Activation::None || s.problem.dtype == tensor::DType::BF16;
     },
     dtype_value},
    {"what the 2-D kernel holds",
     [](const DispatchSubject& s) {
         return declined_by_sm100(sm100::gates(sm100::Activation::Frames2d), s.problem).empty();
     },
     [](const DispatchSubject& s) {
         return "a problem that fails " + declined_by_sm100(sm100::gates(sm100::Activation::Frames2d), s.problem);
     }},
};

inline constexpr Gate<DispatchSubject> kConv3dSm100Gates[] = {
    kOnSm100,
    kSm100InBuild,
    kNoUpsampling,
    kNarrowOutput,
    kBf16,
    {"what one launch over frames holds",
     [](const DispatchSubject& s) {
         return declined_by_sm100(sm100::gates(sm100::Activation::Window3d), s.problem).empty();
     },
     [](const DispatchSubject& s) {
         return "a problem that fails " + declined_by_sm100(sm100::gates(sm100::Activation::Window3d), s.problem);
     }},
};

inline constexpr Gate<DispatchSubject> kQSliceSm100Gates[] = {
    kOnSm100,
    kSm100InBuild,
    kNoUpsampling,
    kNarrowOutput,
    kBf16,
    {"what Q-slice splits",
     [](const DispatchSubject& s) { return declined_by_sm100(sm100::qslice_gates(), s.problem).empty(); },
     [](const DispatchSubject& s) {
         return "a problem that fails " + declined_by_sm100(sm100::qslice_gates(), s.problem);
     }},
};

inline constexpr Gate<DispatchSubject> kIm2colSm100Gates[] = {
    kOnSm100,
    kSm100InBuild,
    kNoUpsampling,
    kSm100Element,
    {"no activation before an fp32 output",
     [](const DispatchSubject& s) {
         return s.problem.activation == Activation::None || s.problem.output_dtype != tensor::DType::F32;
     },
     [](const DispatchSubject& s) { return std::string(to_string(s.problem.activation)); }},
};

}  // namespace kinetograph::conv::cuda
