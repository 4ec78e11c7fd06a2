#include <kinetograph/kernels/cuda/sm80/attention.hpp>

using namespace kinetograph;

/// Width 384: the decoder of Wan 2.1.
extern "C" __global__ void __launch_bounds__(sm80::kAttentionThreads, 1)
    sm80_attention_bf16_384(const __grid_constant__ sm80::AttentionParams params) {
    sm80::AttentionKernel<isa::Element::BFloat16, 384>::run(params);
}
