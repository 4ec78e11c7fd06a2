#pragma once

/// Widths of the attention's one head that are built, for bf16 and fp16: four times a decoder's dim; 384 is Wan 2.1's.
/// The kernel is called sm80_attention_<type>_<width>.
#define KG_SM80_ATTENTION_WIDTHS(X) X(64) X(128) X(192) X(256) X(384)
