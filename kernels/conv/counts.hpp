#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace kinetograph::conv {

/// value / by, rounded up. Neither is negative, by is not zero.
template <std::integral Count>
constexpr Count ceil_div(Count value, std::type_identity_t<Count> by) {
    return (value + by - 1) / by;
}

/// The smallest multiple of `of` that is at least value. Neither is negative, of is not zero.
template <std::integral Count>
constexpr Count round_up(Count value, std::type_identity_t<Count> of) {
    return ceil_div(value, of) * of;
}

/// Counts in the types that launches and tensor maps take. Every count of a problem that passes the gates fits.
constexpr std::int32_t i32(std::int64_t count) { return static_cast<std::int32_t>(count); }
constexpr std::uint32_t u32(std::int64_t count) { return static_cast<std::uint32_t>(count); }
constexpr std::uint64_t u64(std::int64_t count) { return static_cast<std::uint64_t>(count); }

}  // namespace kinetograph::conv
