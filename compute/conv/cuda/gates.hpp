// What the CUDA back ends ask of a problem and a device.
#pragma once

#include <kinetograph/compute/conv/cuda/implicit_gemm.hpp>
#include <kinetograph/compute/conv/gates.hpp>

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

/// The identity that makes a 3-D convolution a sum of 2-D ones, and channels that fill whole blocks of their loop.
inline constexpr Gate<DispatchSubject> kQSliceGates[] = {
    kSinceSm80,
    kNoUpsampling,
    kUngrouped,
    {"bf16", [](const DispatchSubject& s) { return s.problem.dtype == tensor::DType::BF16; }, dtype_value},
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

}  // namespace kinetograph::conv::cuda
