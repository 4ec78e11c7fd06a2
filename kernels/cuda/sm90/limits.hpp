#pragma once

#include <cstdint>

/// What one block may have on sm_90.
namespace kinetograph::sm90 {

inline constexpr uint32_t kSharedLimit = 232448;  // 227 KiB: opt-in limit

}  // namespace kinetograph::sm90
