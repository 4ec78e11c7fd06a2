#pragma once

#include <kinetograph/kernels/cuda/sm100/attention_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_widths.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

/// A width of attention_widths.hpp as a kernel.
#define KG_SM100_ATTENTION_ENTRY(width, word, element)                                          \
    KG_CUDA_KERNEL(sm100_attention_##word##_##width, AttentionParams, kAttentionThreads, 1) { \
        AttentionKernel<AttentionConfig{Element::element, width}>::run(params);              \
    }
