#include <kinetograph/kernels/cuda/sm80/attention.hpp>
#include <kinetograph/kernels/cuda/sm80/attention_widths.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

using namespace kinetograph;

#define KG_ENTRY(width)                                                                              \
    KG_CUDA_KERNEL(sm80_attention_bf16_##width, sm80::AttentionParams, sm80::kAttentionThreads, 1) { \
        sm80::AttentionKernel<Element::BF16, width>::run(params);                                    \
    }
KG_SM80_ATTENTION_WIDTHS(KG_ENTRY)
#define KG_SLICED_ENTRY(width)                                                                                       \
    KG_CUDA_KERNEL(sm80_attention_bf16_##width, sm80::AttentionParams, sm80::kAttentionThreads, 1) {                 \
        sm80::AttentionKernel<Element::BF16, sm80::kAttentionSlice, sm80::AttentionFault::None, width>::run(params); \
    }
KG_SM80_SLICED_ATTENTION_WIDTHS(KG_SLICED_ENTRY)
