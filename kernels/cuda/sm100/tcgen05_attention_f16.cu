#include <kinetograph/kernels/cuda/sm100/attention_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_widths.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

namespace kinetograph::sm100 {

#define KG_SM100_ATTENTION(width)                                                        \
    KG_CUDA_KERNEL(sm100_attention_f16_##width, AttentionParams, kAttentionThreads, 1) { \
        AttentionKernel<AttentionConfig{Element::F16, width}>::run(params);              \
    }
KG_SM90_ATTENTION_WIDTHS(KG_SM100_ATTENTION)

}  // namespace kinetograph::sm100
