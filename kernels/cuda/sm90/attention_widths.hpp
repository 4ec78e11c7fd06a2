#pragma once

/// Widths of the attention's one head that are built, for bf16 and fp16, ascending; 384 is Wan 2.1's. The kernel is
/// called sm90_attention_<type>_<width> and takes any multiple of 8 channels up to its width.
#define KG_SM90_ATTENTION_WIDTHS(X, ...) \
    X(128 __VA_OPT__(, ) __VA_ARGS__)    \
    X(192 __VA_OPT__(, ) __VA_ARGS__) X(256 __VA_OPT__(, ) __VA_ARGS__) X(384 __VA_OPT__(, ) __VA_ARGS__)
