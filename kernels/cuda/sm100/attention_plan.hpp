#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_plan.hpp>

/// Attention within frames on SM100: the launches are the Hopper kernel's, with a CTA of another size.
namespace kinetograph::sm100 {

sm90::AttentionCta attention_cta(uint32_t channels);

}  // namespace kinetograph::sm100
