#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_plan.hpp>

/// How the attention of frames runs on SM100: whether, and by which kernel. Its launches are the Hopper kernel's with
/// another CTA.
namespace kinetograph::sm100 {

/// Why `chip` does not run it by these kernels, as "wants ..., met ..." for each condition; "" if it does.
std::string attention_reasons(const conv::Chip& chip, Element element, int64_t channels);

/// sm100_attention_<type>_<width> of tcgen05_attention_<type>.
conv::KernelName attention_kernel(Element element, uint32_t channels);

sm90::AttentionCta attention_cta(uint32_t channels);

}  // namespace kinetograph::sm100
