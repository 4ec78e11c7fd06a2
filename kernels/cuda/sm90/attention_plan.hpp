#pragma once

#include <kinetograph/kernels/conv/attention.hpp>

/// The attention of frames on Hopper, and what SM100's shares with it.
namespace kinetograph::sm90 {

/// The width of the kernel that takes so many channels; 0 where none does.
uint32_t attention_width(int64_t channels);

/// Why the kernels of the fat binary `image`, called `build`, do not take the problem.
std::string attention_reasons(const conv::AttentionProblem& problem, std::string_view image, std::string_view build);

/// What a kernel's CTA takes: kQueryTile queries whatever the chip.
struct AttentionCta {
    uint32_t threads, shared_bytes;
};
AttentionCta attention_cta(uint32_t channels);

/// Frames [tokens, 3 * channels], query, key and value of a token in this order, into as many frames [tokens,
/// channels]; all 16-byte aligned. Each launch takes kMaxAttentionFrames of them.
std::vector<conv::ConvLaunch> attention_launches(const conv::AttentionProblem& problem, const AttentionCta& cta,
                                                 std::span<const std::byte* const> qkv,
                                                 std::span<std::byte* const> output, const conv::EncodeMap& encode);

/// One kernel whose launches are these; a CTA takes `clocks` for a tile of keys.
conv::AttentionPlan plan_attention(const conv::AttentionProblem& problem, const conv::Chip& chip,
                                   conv::KernelName kernel, const AttentionCta& cta, double clocks);

}  // namespace kinetograph::sm90
