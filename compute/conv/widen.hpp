// From bf16 to float32, which is exact.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kinetograph::conv {

/// One thread.
void widen(const std::byte* from, float* to, std::int64_t count);

}  // namespace kinetograph::conv
