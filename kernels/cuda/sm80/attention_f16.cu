#include <kinetograph/kernels/cuda/sm80/attention.hpp>
#include <kinetograph/kernels/cuda/sm80/attention_widths.hpp>

using namespace kinetograph;

#define KG_ENTRY(width)                                                                    \
    extern "C" __global__ void __launch_bounds__(sm80::kAttentionThreads, 1)               \
        sm80_attention_f16_##width(const __grid_constant__ sm80::AttentionParams params) { \
        sm80::AttentionKernel<isa::Element::Float16, width>::run(params);                  \
    }
KG_SM80_ATTENTION_WIDTHS(KG_ENTRY)
