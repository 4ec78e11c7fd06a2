#include <cmath>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_widths.hpp>

namespace kinetograph::sm90 {
namespace {

using isa::TensorMapDesc;

constexpr int64_t kWidestDeclined = 64;  // channels: sm_80's kernel fills up less there

/// {channels, tokens} of one part of a frame, whose tokens are `pitch` bytes apart; box: one span of a
/// warpgroup's queries.
TensorMapDesc rows_map(const AttentionShape& shape, const std::byte* first, uint64_t pitch) {
    TensorMapDesc map = isa::dense_map(isa::MapMode::Tiled, shape.element, const_cast<std::byte*>(first), 2,
                                       {shape.channels, shape.tokens});
    map.stride_bytes[0] = pitch;
    map.swizzle = kAttentionSwizzle;
    map.box = {kSpanChannels, kWarpgroupQueries};
    return map;
}

TensorMapDesc key_value_map(const AttentionShape& shape, const std::byte* keys) {
    const uint64_t part = uint64_t{shape.channels} * 2;
    TensorMapDesc map = isa::dense_map(isa::MapMode::Tiled, shape.element, const_cast<std::byte*>(keys), 3,
                                       {shape.channels, 2, shape.tokens});
    map.stride_bytes = {part, 3 * part};
    map.swizzle = kAttentionSwizzle;
    map.box = {kSpanChannels, 1, kKeyTile};
    return map;
}

}  // namespace

AttentionCta attention_cta(uint32_t channels) {
#define KG_SIZE(width)                        \
    if (attention_width(channels) == (width)) \
        return {kAttentionThreads, sizeof(AttentionSmem<AttentionConfig{Element::BF16, width}>)};
    KG_SM90_ATTENTION_WIDTHS(KG_SIZE)
#undef KG_SIZE
    return {};
}

uint32_t attention_width(int64_t channels) {
    if (channels <= kWidestDeclined || channels % 8 != 0) return 0;
#define KG_FITS(width) \
    if (channels <= (width)) return width;
    KG_SM90_ATTENTION_WIDTHS(KG_FITS)
#undef KG_FITS
    return 0;
}

std::string attention_reasons(const conv::Chip& chip, Element element, int64_t channels) {
    return attention_reasons({.holds = chip.cuda_architecture() == 90,
                              .wanted = "an sm_90 device",
                              .image = "wgmma_attention_bf16",
                              .build = "kernels for sm_90a in this build"},
                             chip, element, channels);
}

std::string attention_reasons(const AttentionChip& kernels, const conv::Chip& chip, Element element, int64_t channels) {
    std::string reasons;
    const auto unless = [&reasons](bool holds, std::string_view wanted, std::string_view met) {
        if (holds) return;
        if (!reasons.empty()) reasons += "; ";
        reasons.append("wants ").append(wanted).append(", met ").append(met);
    };
    unless(kernels.holds, kernels.wanted, chip.kind == "cuda" ? chip.architecture : chip.kind);
    unless(!cuda::fat_binary(kernels.image).empty(), kernels.build, cuda::fat_binary_compiler());
    unless(element == Element::BF16 || element == Element::F16, "bf16 or fp16", conv::element_spelling(element));
    unless(attention_width(channels) != 0, "a head of 72 to 384 channels, a multiple of 8", std::to_string(channels));
    return reasons;
}

conv::KernelName attention_kernel(Element element, uint32_t channels) {
    const bool bf16 = element == Element::BF16;
    return {
        std::string(bf16 ? "sm90_attention_bf16_" : "sm90_attention_f16_") + std::to_string(attention_width(channels)),
        bf16 ? "wgmma_attention_bf16" : "wgmma_attention_f16"};
}

std::vector<conv::ConvLaunch> attention_launches(const AttentionShape& shape, const AttentionCta& cta,
                                                 std::span<const std::byte* const> qkv,
                                                 std::span<std::byte* const> output, const conv::EncodeMap& encode) {
    const uint64_t part = uint64_t{shape.channels} * 2;  // bytes of a token's query, key or value
    std::vector<conv::ConvLaunch> launches;
    for (size_t first = 0; first < qkv.size(); first += kMaxAttentionFrames) {
        const auto frames = static_cast<uint32_t>(std::min<size_t>(kMaxAttentionFrames, qkv.size() - first));
        AttentionParams params{};
        params.tokens = shape.tokens;
        params.scale = static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(shape.channels)));
        for (uint32_t i = 0; i < frames; ++i) {
            params.query[i] = encode(rows_map(shape, qkv[first + i], 3 * part));
            params.key_value[i] = encode(key_value_map(shape, qkv[first + i] + part));
            params.output[i] = encode(rows_map(shape, output[first + i], part));
        }
        launches.push_back({.grid = {(shape.tokens + kQueryTile - 1) / kQueryTile, frames, 1},
                            .threads = cta.threads,
                            .shared_bytes = cta.shared_bytes,
                            .arguments = conv::Arguments::of(params)});
    }
    return launches;
}

}  // namespace kinetograph::sm90
