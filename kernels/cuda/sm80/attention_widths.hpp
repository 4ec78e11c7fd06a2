#pragma once

#include <cstdint>

/// Widths of the attention's one head that are built, for bf16 and fp16, ascending; 384 is Wan 2.1's. The kernel is
/// called sm80_attention_<type>_<width> and takes any multiple of 8 channels up to its width.
#define KG_SM80_ATTENTION_WIDTHS(X) X(64) X(128) X(192) X(256) X(384)
/// Those that are taken in slices of kAttentionSlice channels; 1024 is Wan 2.2's.
#define KG_SM80_SLICED_ATTENTION_WIDTHS(X) X(1024)

namespace kinetograph::sm80 {

inline constexpr uint32_t kAttentionSlice = 256;

/// The least width of a kernel that takes that many channels; 0 if none does.
constexpr uint32_t attention_width(int64_t channels) {
    if (channels <= 0 || channels % 8 != 0) return 0;
#define KG_FITS(width) \
    if (channels <= (width)) return width;
    KG_SM80_ATTENTION_WIDTHS(KG_FITS)
    KG_SM80_SLICED_ATTENTION_WIDTHS(KG_FITS)
#undef KG_FITS
    return 0;
}

}  // namespace kinetograph::sm80
