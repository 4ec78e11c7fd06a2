// Gates that back ends of several kinds of device have.
#pragma once

#include <kinetograph/compute/conv/dispatch.hpp>

namespace kinetograph::conv {

inline std::string dtype_value(const DispatchSubject& s) { return std::string(tensor::to_string(s.problem.dtype)); }

inline constexpr Gate<DispatchSubject> kNoUpsampling{
    "an input as it lies in memory", [](const DispatchSubject& s) { return !s.problem.upsample; },
    [](const DispatchSubject&) { return std::string("one to upsample"); }};

inline constexpr Gate<DispatchSubject> kUngrouped{
    "groups 1", [](const DispatchSubject& s) { return s.problem.groups == 1; },
    [](const DispatchSubject& s) { return fmt::format("{}", s.problem.groups); }};

inline constexpr Gate<DispatchSubject> kBf16OrF16{"bf16 or fp16",
                                                  [](const DispatchSubject& s) {
                                                      return s.problem.dtype == tensor::DType::BF16 ||
                                                             s.problem.dtype == tensor::DType::F16;
                                                  },
                                                  dtype_value};

}  // namespace kinetograph::conv
