#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <span>

/// How the attention of frames runs on Hopper: whether, by which kernel, and its launches.
namespace kinetograph::sm90 {

struct AttentionShape {
    Element element = Element::BF16;
    uint32_t tokens = 0;    ///< of a frame
    uint32_t channels = 0;  ///< of the one head
};

/// The width of the kernel that takes so many channels; 0 where none does.
uint32_t attention_width(int64_t channels);

/// Why `chip` does not run it by these kernels, as "wants ..., met ..." for each condition; "" if it does.
std::string attention_reasons(const conv::Chip& chip, Element element, int64_t channels);

/// What a chip's attention asks for besides the element and the head.
struct AttentionChip {
    bool holds;  ///< the device is one
    std::string_view wanted, image, build;
};
/// The same for the kernels of another chip that take the same heads.
std::string attention_reasons(const AttentionChip& kernels, const conv::Chip& chip, Element element, int64_t channels);

/// sm90_attention_<type>_<width> of wgmma_attention_<type>.
conv::KernelName attention_kernel(Element element, uint32_t channels);

/// What a kernel's CTA takes: kQueryTile queries whatever the chip.
struct AttentionCta {
    uint32_t threads, shared_bytes;
};
AttentionCta attention_cta(uint32_t channels);

/// Frames [tokens, 3 * channels], query, key and value of a token in this order, into as many frames [tokens,
/// channels]; all 16-byte aligned. Each launch takes kMaxAttentionFrames of them.
std::vector<conv::ConvLaunch> attention_launches(const AttentionShape& shape, const AttentionCta& cta,
                                                 std::span<const std::byte* const> qkv,
                                                 std::span<std::byte* const> output, const conv::EncodeMap& encode);

}  // namespace kinetograph::sm90
