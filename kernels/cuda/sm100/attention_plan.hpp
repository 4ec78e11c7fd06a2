#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_plan.hpp>

/// The attention of frames on SM100: the Hopper kernel's launches with another CTA.
namespace kinetograph::sm100 {

sm90::AttentionCta attention_cta(uint32_t channels);

}  // namespace kinetograph::sm100
