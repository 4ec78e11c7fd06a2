#pragma once

#include <cstdint>

/// Widths of the attention's one head that are built, for bf16 and fp16, ascending; 384 is Wan 2.1's. The kernel is
/// called sm80_attention_<type>_<width> and takes any multiple of 8 channels up to its width.
#define KG_SM80_ATTENTION_WIDTHS(X) X(64) X(128) X(192) X(256) X(384)
/// Those that are taken in slices of kAttentionSlice channels; 1024 is Wan 2.2's.
#define KG_SM80_SLICED_ATTENTION_WIDTHS(X) X(1024)

namespace kinetograph::sm80 {

inline constexpr uint32_t kAttentionSlice = 256;

}  // namespace kinetograph::sm80
