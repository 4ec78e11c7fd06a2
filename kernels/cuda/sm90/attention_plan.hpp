#pragma once

#include <kinetograph/kernels/conv/attention.hpp>

/// Attention within frames on Hopper, and the host code that SM100's attention shares with it.
namespace kinetograph::sm90 {

/// The least width of a kernel that takes so many channels; 0 if none does.
uint32_t attention_width(int64_t channels);

/// log2(e) / sqrt(channels): scores times it are the exponents of weights that are powers of two.
float softmax_scale(int64_t channels);

/// Of the kernels of both chips.
std::span<const conv::Gate<conv::AttentionSubject>> attention_gates();

/// The size of a kernel's CTA, which handles kQueryTile queries on either chip.
struct AttentionCta {
    uint32_t threads, shared_bytes;
};
AttentionCta attention_cta(uint32_t channels);

/// All frames 16-byte aligned. Each launch takes up to kMaxAttentionFrames.
std::vector<conv::ConvLaunch> attention_launches(const conv::AttentionProblem& problem, const AttentionCta& cta,
                                                 const conv::OpTensors& tensors, const conv::EncodeMap& encode);

/// The plan of one kernel, with attention_launches(); a CTA takes `clocks` for a tile of keys.
conv::OpPlan plan_attention(const conv::AttentionProblem& problem, const conv::Chip& chip, conv::KernelName kernel,
                            const AttentionCta& cta, double clocks);

}  // namespace kinetograph::sm90
