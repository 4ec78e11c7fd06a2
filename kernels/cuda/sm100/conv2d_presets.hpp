#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_config.hpp>

/// The configurations that are built. Each starts from one of four shapes (one CTA or a pair, 128- or 64-byte swizzle)
/// and takes the number of filters, the element and the source that a layer needs.
namespace kinetograph::sm100 {

/// `filters` of one tile: a CTA multiplies `pixels` by this many, a pair twice as many pixels.
struct PresetOptions {
    uint32_t filters = 128;
    Element element = Element::BF16;
    Element output = Element::BF16;
    Element source_value = Element::BF16;
    Activation activation = Activation::Frames2d;
    Source source = Source::None;
    ClusterShape cluster{0, 0};  ///< 0: the smallest that the preset can have
    uint32_t pixels = 128;       ///< of a CTA: 128, or 64 for small images
    uint32_t stages = 0;         ///< of the main ring; 0: as many as fit
};

KG_HOST_DEVICE Conv2dConfig preset(uint32_t cta_group, isa::Swizzle swizzle, const PresetOptions& options) {
    Conv2dConfig c;
    c.element = c.filter_element = options.element;
    c.output = options.output;
    c.source_value = options.source_value;
    c.activation = options.activation;
    c.source = options.source;
    c.cta_group = cta_group;
    c.swizzle_a = c.swizzle_b = swizzle;
    c.swizzle_c = options.output == Element::F32 ? isa::Swizzle::Span128 : isa::Swizzle::Span64;
    const uint32_t bytes = element_bytes(options.element);
    c.block = {options.pixels, options.filters / cta_group, isa::span_bytes(swizzle) / bytes};
    c.mma = {options.pixels * cta_group, options.filters, 32 / bytes};
    c.output_tile.m = options.pixels * column_parts(c);
    c.cluster = options.cluster.x == 0 ? ClusterShape{cta_group, 1} : options.cluster;
    // Two k blocks of 64-byte rows make a stage as deep as one of 128-byte rows: half the barriers.
    c.k_group = 128 / isa::span_bytes(swizzle);
    c = with_most_stages(c);
    if (options.stages != 0) c.stages = options.stages;
    return c;
}

/// Rows of A and of B under swizzles of their own.
KG_HOST_DEVICE Conv2dConfig preset(uint32_t cta_group, isa::Swizzle a, isa::Swizzle b, const PresetOptions& options) {
    Conv2dConfig c = preset(cta_group, a > b ? a : b, options);
    c.swizzle_a = a;
    c.swizzle_b = b;
    return c;
}

/// One CTA, 128-byte swizzle: channels a multiple of 64 (bf16, fp16) or 128 (fp8).
KG_HOST_DEVICE Conv2dConfig one_sm_128b(const PresetOptions& options = {}) {
    return preset(1, isa::Swizzle::Span128, options);
}
/// One CTA, 64-byte swizzle: channels a multiple of 32 (bf16, fp16) or 64 (fp8), so 96 without waste.
KG_HOST_DEVICE Conv2dConfig one_sm_64b(const PresetOptions& options = {}) {
    return preset(1, isa::Swizzle::Span64, options);
}
/// A pair of CTAs multiplies 256 pixels: each reads only its half of the filters.
KG_HOST_DEVICE Conv2dConfig two_sm_128b(const PresetOptions& options = {.filters = 256}) {
    return preset(2, isa::Swizzle::Span128, options);
}
KG_HOST_DEVICE Conv2dConfig two_sm_64b(const PresetOptions& options = {.filters = 256}) {
    return preset(2, isa::Swizzle::Span64, options);
}

}  // namespace kinetograph::sm100
