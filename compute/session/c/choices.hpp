// Numbers of the C header's structures: enums as those of C++, choices of yes or no, and members that are not in use.
#pragma once

#include "kinetograph.h"

#include <kinetograph/engine/base/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace kinetograph::c {

/// Errors: InvalidArgument (`value` is none of them).
template <class Ours, std::size_t kCount>
Result<Ours> choice(const std::array<Ours, kCount>& all, std::uint32_t value, const char* type) {
    if (value < kCount) return all[value];
    return fail(ErrorCode::InvalidArgument, "{} is no {}", value, type);
}

/// Errors: InvalidArgument (`value` is neither 0 nor 1).
inline Result<bool> yes_or_no(std::uint32_t value, const char* member) {
    if (value <= 1) return value == 1;
    return fail(ErrorCode::InvalidArgument, "{} is {}, wanted 0 or 1", member, value);
}

/// Errors: InvalidArgument (a member without a meaning is set).
inline Result<void> check_unused(std::uint32_t value, const char* member) {
    if (value == 0) return {};
    return fail(ErrorCode::InvalidArgument, "{} is {}, wanted 0: it means nothing in this library, version {}.{}",
                member, value, KG_VERSION_MAJOR, KG_VERSION_MINOR);
}

}  // namespace kinetograph::c
