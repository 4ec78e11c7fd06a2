#include <kinetograph/kernels/cuda/sm90/attention_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_widths.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

namespace kinetograph::sm90 {

#define KG_ENTRY(channels)                                                                  \
    KG_CUDA_KERNEL(sm90_attention_bf16_##channels, AttentionParams, kAttentionThreads, 1) { \
        AttentionKernel<AttentionConfig{Element::BF16, channels}>::run(params);             \
    }
KG_SM90_ATTENTION_WIDTHS(KG_ENTRY)

}  // namespace kinetograph::sm90
