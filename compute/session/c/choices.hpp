// Values of the C header's enums as those of the C++ ones.
#pragma once

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

}  // namespace kinetograph::c
