#include <kinetograph/kernels/hip/gfx950/passes/attention.hpp>

using namespace kinetograph::gfx950;
using kinetograph::Element;

#define KG_ATTENTION(type, storage, width)                                       \
    KG_KERNEL(kinetograph_attention_##type##_##width, AttentionParams, 512, 2) { \
        AttentionKernel<AttentionConfig<Element::storage, width>>(params).run(); \
    }
#define KG_SLICED_ATTENTION(type, storage, width)                                                 \
    KG_KERNEL(kinetograph_attention_##type##_##width, AttentionParams, 256, 1) {                  \
        AttentionKernel<AttentionConfig<Element::storage, width, kAttentionSlice>>(params).run(); \
    }
#define KG_ATTENTION_OF(type, storage)       \
    KG_ATTENTION(type, storage, 64)          \
    KG_ATTENTION(type, storage, 128)         \
    KG_ATTENTION(type, storage, 256)         \
    KG_ATTENTION(type, storage, 384)         \
    KG_SLICED_ATTENTION(type, storage, 1024) \
    KG_KERNEL(kinetograph_attention_join_##type, AttentionJoinParams, 256, 4) { join_splits<Element::storage>(params); }

KG_ATTENTION_OF(bf16, BF16)
KG_ATTENTION_OF(f16, F16)
KG_ATTENTION_OF(f32, F32)

KG_KERNEL(kinetograph_attention_values_16, AttentionValuesParams, 256, 4) { transpose_values<2>(params); }
KG_KERNEL(kinetograph_attention_values_32, AttentionValuesParams, 256, 4) { transpose_values<4>(params); }
