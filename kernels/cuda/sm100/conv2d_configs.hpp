#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_presets.hpp>
#include <kinetograph/kernels/cuda/sm100/epilogue_functions.hpp>

/// Every entry point that is built for sm_100f, as one list for the .cu files' kernels, the host's table and the tests.
/// X(name, config, epilogue function). A name states the CTAs per MMA, the swizzle and the filters of a tile.
namespace kinetograph::sm100 {

using SiluInRegisters = Silu<EpilogueForm::InRegisters>;
using SiluAfterSharedMemory = Silu<EpilogueForm::AfterSharedMemory>;

/// What an entry's epilogue function is.
enum class EntryFunction : uint8_t { None, SiluInRegisters, SiluAfterSharedMemory, ChannelSums };
template <class Function>
inline constexpr EntryFunction kEntryFunction = EntryFunction::None;
template <>
inline constexpr EntryFunction kEntryFunction<SiluInRegisters> = EntryFunction::SiluInRegisters;
template <>
inline constexpr EntryFunction kEntryFunction<SiluAfterSharedMemory> = EntryFunction::SiluAfterSharedMemory;
template <>
inline constexpr EntryFunction kEntryFunction<ChannelSums> = EntryFunction::ChannelSums;

KG_HOST_DEVICE isa::Swizzle swizzle_of(uint32_t span) {
    return span == 128 ? isa::Swizzle::Span128 : span == 64 ? isa::Swizzle::Span64 : isa::Swizzle::Span32;
}
KG_HOST_DEVICE Conv2dConfig entry_config(uint32_t cta_group, uint32_t span, PresetOptions options) {
    return preset(cta_group, swizzle_of(span), options);
}
KG_HOST_DEVICE Conv2dConfig entry_config(uint32_t cta_group, uint32_t span, uint32_t filters, Activation activation,
                                         Source source) {
    PresetOptions options;
    options.filters = filters;
    options.activation = activation;
    options.source = source;
    return entry_config(cta_group, span, options);
}
/// fp16 operands give an fp16 output, fp8 ones a bf16 output.
KG_HOST_DEVICE Conv2dConfig element_config(uint32_t cta_group, uint32_t span, Element element, Source source,
                                           Activation activation = Activation::Frames2d) {
    PresetOptions options;
    options.filters = 128 * cta_group;
    options.element = element;
    options.activation = activation;
    options.source = source;
    if (element == Element::F16) options.output = options.source_value = Element::F16;
    return entry_config(cta_group, span, options);
}
/// Activations and filters of two formats of fp8.
KG_HOST_DEVICE Conv2dConfig mixed_config(uint32_t cta_group, uint32_t span, Element element, Element filter,
                                         Source source, Activation activation) {
    Conv2dConfig c = element_config(cta_group, span, element, source, activation);
    c.filter_element = filter;
    return c;
}
/// Activations and filters in rows of their own lengths.
KG_HOST_DEVICE Conv2dConfig swizzled_config(uint32_t cta_group, uint32_t span_a, uint32_t span_b,
                                            Activation activation) {
    PresetOptions options;
    options.activation = activation;
    return preset(cta_group, swizzle_of(span_a), swizzle_of(span_b), options);
}
KG_HOST_DEVICE Conv2dConfig cluster_config(uint32_t cta_group, uint32_t span, uint32_t filters, Activation activation,
                                           uint32_t x, uint32_t y) {
    PresetOptions options;
    options.filters = filters;
    options.activation = activation;
    options.cluster = {x, y};
    return entry_config(cta_group, span, options);
}
/// A ring of fewer stages than fit.
KG_HOST_DEVICE Conv2dConfig staged_config(uint32_t cta_group, uint32_t span, uint32_t filters, Activation activation,
                                          uint32_t stages) {
    PresetOptions options;
    options.filters = filters;
    options.activation = activation;
    options.stages = stages;
    return entry_config(cta_group, span, options);
}
/// 64 pixels a CTA: MMA_M 64 alone, 128 for a pair.
KG_HOST_DEVICE Conv2dConfig small_config(uint32_t cta_group, uint32_t span, uint32_t filters, Activation activation,
                                         Source source) {
    PresetOptions options;
    options.filters = filters;
    options.activation = activation;
    options.source = source;
    options.pixels = 64;
    return entry_config(cta_group, span, options);
}
/// The fp32 steps of a Q-slice convolution: they store sums, load and store sums, or load sums.
KG_HOST_DEVICE Conv2dConfig sums_config(uint32_t cta_group, uint32_t span, bool loads, bool stores) {
    PresetOptions options;
    options.filters = 96 * cta_group;
    options.source = loads ? Source::Accumulate : Source::None;
    options.source_value = Element::F32;
    if (stores) options.output = Element::F32;
    return entry_config(cta_group, span, options);
}

/// The product of an im2col matrix in fp16 or fp8: fp32 sums, no source.
KG_HOST_DEVICE Conv2dConfig product_config(uint32_t cta_group, uint32_t span, Element element) {
    PresetOptions options;
    options.filters = 96 * cta_group;
    options.element = element;
    options.output = Element::F32;
    return entry_config(cta_group, span, options);
}

// The table. A make(X, group, span, ...) is the rows of one MMA shape; KG_SM100_SHAPES repeats them for all four.
#define KG_SM100_SHAPES(make, X, ...)                                                    \
    make(X, 1, 128 __VA_OPT__(, ) __VA_ARGS__) make(X, 1, 64 __VA_OPT__(, ) __VA_ARGS__) \
        make(X, 2, 128 __VA_OPT__(, ) __VA_ARGS__) make(X, 2, 64 __VA_OPT__(, ) __VA_ARGS__)

// bf16, one form of activation, with and without residual.
#define KG_SM100_TILE(X, group, span, form, n)                                                                    \
    X(conv2d_##form##_##group##sm_##span##b_n##n, (entry_config(group, span, n, Activation::form, Source::None)), \
      NoEpilogue)                                                                                                 \
    X(conv2d_##form##_##group##sm_##span##b_n##n##_residual,                                                      \
      (entry_config(group, span, n, Activation::form, Source::Residual)), NoEpilogue)
#define KG_SM100_TILES(X, group, span, form) \
    KG_SM100_TILE(X, group, span, form, 64)  \
    KG_SM100_TILE(X, group, span, form, 96)  \
    KG_SM100_TILE(X, group, span, form, 128) \
    KG_SM100_TILE(X, group, span, form, 192) \
    KG_SM100_TILE(X, group, span, form, 256)
// Clusters that share tiles.
#define KG_SM100_CLUSTER(X, group, span, n, form, x, y)            \
    X(conv2d_##form##_##group##sm_##span##b_n##n##_cluster_##x##y, \
      (cluster_config(group, span, n, Activation::form, x, y)), NoEpilogue)
// Rings of fewer stages than fit, by name.
#define KG_SM100_STAGES(X, group, span, n, form, stages)            \
    X(conv2d_##form##_##group##sm_##span##b_n##n##_stages_##stages, \
      (staged_config(group, span, n, Activation::form, stages)), NoEpilogue)
#define KG_SM100_FRAMES(X) KG_SM100_SHAPES(KG_SM100_TILES, X, Frames2d)
#define KG_SM100_VOLUMES(X) KG_SM100_SHAPES(KG_SM100_TILES, X, Volume3d)
#define KG_SM100_WINDOWS(X)                          \
    KG_SM100_SHAPES(KG_SM100_TILES, X, Window3d)     \
    KG_SM100_CLUSTER(X, 2, 128, 192, Window3d, 2, 2) \
    KG_SM100_CLUSTER(X, 2, 128, 192, Window3d, 4, 2) \
    KG_SM100_STAGES(X, 2, 128, 192, Window3d, 3)     \
    KG_SM100_STAGES(X, 2, 128, 192, Window3d, 5)

// The same with SiLU in registers, in one width.
#define KG_SM100_SILU(X, group, span, form)                                                                         \
    X(conv2d_silu_##form##_##group##sm_##span##b, (entry_config(group, span, 128, Activation::form, Source::None)), \
      SiluInRegisters)                                                                                              \
    X(conv2d_silu_##form##_##group##sm_##span##b_residual,                                                          \
      (entry_config(group, span, 128, Activation::form, Source::Residual)), SiluInRegisters)
#define KG_SM100_SILUS(X)                       \
    KG_SM100_SHAPES(KG_SM100_SILU, X, Frames2d) \
    KG_SM100_SHAPES(KG_SM100_SILU, X, Volume3d) \
    KG_SM100_SHAPES(KG_SM100_SILU, X, Window3d)

// Other elements in three dimensions: fp8, and fp16.
#define KG_SM100_ELEMENT_3D(X, group, span, form, name, element)                                   \
    X(conv2d_##name##_##form##_##group##sm_##span##b,                                              \
      (element_config(group, span, Element::element, Source::None, Activation::form)), NoEpilogue) \
    X(conv2d_##name##_##form##_##group##sm_##span##b_residual,                                     \
      (element_config(group, span, Element::element, Source::Residual, Activation::form)), NoEpilogue)
// The same with SiLU, and of images.
#define KG_SM100_ELEMENT_SILU(X, group, span, form, name, element)                                      \
    X(conv2d_silu_##name##_##form##_##group##sm_##span##b,                                              \
      (element_config(group, span, Element::element, Source::None, Activation::form)), SiluInRegisters) \
    X(conv2d_silu_##name##_##form##_##group##sm_##span##b_residual,                                     \
      (element_config(group, span, Element::element, Source::Residual, Activation::form)), SiluInRegisters)
#define KG_SM100_OF_ELEMENT(X, name, element)                          \
    KG_SM100_SHAPES(KG_SM100_ELEMENT_3D, X, Volume3d, name, element)   \
    KG_SM100_SHAPES(KG_SM100_ELEMENT_3D, X, Window3d, name, element)   \
    KG_SM100_SHAPES(KG_SM100_ELEMENT_SILU, X, Frames2d, name, element) \
    KG_SM100_SHAPES(KG_SM100_ELEMENT_SILU, X, Volume3d, name, element) \
    KG_SM100_SHAPES(KG_SM100_ELEMENT_SILU, X, Window3d, name, element)
#define KG_SM100_EIGHTHS(X) KG_SM100_OF_ELEMENT(X, e4m3, F8E4M3)
#define KG_SM100_HALVES(X) KG_SM100_OF_ELEMENT(X, fp16, F16)

// Two formats of fp8: activations, filters. One CTA for any channels, pairs for many.
#define KG_SM100_MIXED(X, group, span, form, name, filter_name, element, filter)                                  \
    X(conv2d_##name##_##filter_name##_##form##_##group##sm_##span##b,                                             \
      (mixed_config(group, span, Element::element, Element::filter, Source::None, Activation::form)), NoEpilogue) \
    X(conv2d_##name##_##filter_name##_##form##_##group##sm_##span##b_residual,                                    \
      (mixed_config(group, span, Element::element, Element::filter, Source::Residual, Activation::form)), NoEpilogue)
#define KG_SM100_MIXED_SHAPES(X, form, name, filter_name, element, filter) \
    KG_SM100_MIXED(X, 1, 64, form, name, filter_name, element, filter)     \
    KG_SM100_MIXED(X, 2, 128, form, name, filter_name, element, filter)
#define KG_SM100_MIXED_FORM(X, form)                           \
    KG_SM100_MIXED_SHAPES(X, form, e4m3, e5m2, F8E4M3, F8E5M2) \
    KG_SM100_MIXED_SHAPES(X, form, e5m2, e4m3, F8E5M2, F8E4M3) \
    KG_SM100_MIXED_SHAPES(X, form, e5m2, e5m2, F8E5M2, F8E5M2)
#define KG_SM100_MIXES(X)            \
    KG_SM100_MIXED_FORM(X, Frames2d) \
    KG_SM100_MIXED_FORM(X, Volume3d) \
    KG_SM100_MIXED_FORM(X, Window3d)

// Rows of activations and of filters of so many bytes, by name.
#define KG_SM100_SWIZZLE(X, group, form, span, filter_span)     \
    X(conv2d_##form##_##group##sm_a##span##b_b##filter_span##b, \
      (swizzled_config(group, span, filter_span, Activation::form)), NoEpilogue)
#define KG_SM100_SWIZZLES_OF(X, group, form)  \
    KG_SM100_SWIZZLE(X, group, form, 128, 64) \
    KG_SM100_SWIZZLE(X, group, form, 64, 128) \
    KG_SM100_SWIZZLE(X, group, form, 128, 32) \
    KG_SM100_SWIZZLE(X, group, form, 32, 128) \
    KG_SM100_SWIZZLE(X, group, form, 64, 32)  \
    KG_SM100_SWIZZLE(X, group, form, 32, 64)  \
    KG_SM100_SWIZZLE(X, group, form, 32, 32)
#define KG_SM100_SWIZZLES(X)             \
    KG_SM100_SWIZZLES_OF(X, 1, Frames2d) \
    KG_SM100_SWIZZLES_OF(X, 2, Frames2d) \
    KG_SM100_SWIZZLES_OF(X, 1, Volume3d) \
    KG_SM100_SWIZZLES_OF(X, 2, Volume3d) \
    KG_SM100_SWIZZLES_OF(X, 1, Window3d) \
    KG_SM100_SWIZZLES_OF(X, 2, Window3d)

// 64 pixels a CTA, for small images.
#define KG_SM100_SMALL_TILE(X, group, span, form, n)                              \
    X(conv2d_small_##form##_##group##sm_##span##b_n##n,                           \
      (small_config(group, span, n, Activation::form, Source::None)), NoEpilogue) \
    X(conv2d_small_##form##_##group##sm_##span##b_n##n##_residual,                \
      (small_config(group, span, n, Activation::form, Source::Residual)), NoEpilogue)
#define KG_SM100_SMALL_TILES(X, form)         \
    KG_SM100_SMALL_TILE(X, 1, 128, form, 64)  \
    KG_SM100_SMALL_TILE(X, 1, 64, form, 64)   \
    KG_SM100_SMALL_TILE(X, 2, 128, form, 64)  \
    KG_SM100_SMALL_TILE(X, 2, 128, form, 128) \
    KG_SM100_SMALL_TILE(X, 2, 64, form, 64)
#define KG_SM100_SMALLS(X)            \
    KG_SM100_SMALL_TILES(X, Frames2d) \
    KG_SM100_SMALL_TILES(X, Volume3d) \
    KG_SM100_SMALL_TILES(X, Window3d)

// Variants: other elements, other epilogue functions, clusters that share tiles, the steps of Q-slice, im2col products.
#define KG_SM100_ELEMENT(X, group, span, name, element)                                                     \
    X(conv2d_##name##_##group##sm_##span##b, (element_config(group, span, Element::element, Source::None)), \
      NoEpilogue)                                                                                           \
    X(conv2d_##name##_##group##sm_##span##b_residual,                                                       \
      (element_config(group, span, Element::element, Source::Residual)), NoEpilogue)
#define KG_SM100_FUNCTION(X, group, span, source)                                                    \
    X(conv2d_silu_staged_##group##sm_##span##b_##source,                                             \
      (entry_config(group, span, 128, Activation::Frames2d, Source::source)), SiluAfterSharedMemory) \
    X(conv2d_channel_sums_##group##sm_##span##b_##source,                                            \
      (entry_config(group, span, 128, Activation::Frames2d, Source::source)), ChannelSums)
#define KG_SM100_SUMS(X, group, span)                                                              \
    X(conv2d_first_sum_##group##sm_##span##b, (sums_config(group, span, false, true)), NoEpilogue) \
    X(conv2d_next_sum_##group##sm_##span##b, (sums_config(group, span, true, true)), NoEpilogue)   \
    X(conv2d_last_sum_##group##sm_##span##b, (sums_config(group, span, true, false)), NoEpilogue)
#define KG_SM100_PRODUCT(X, group, span, name, element) \
    X(conv2d_##name##_sum_##group##sm_##span##b, (product_config(group, span, Element::element)), NoEpilogue)
#define KG_SM100_VARIANTS(X)                           \
    KG_SM100_SHAPES(KG_SM100_ELEMENT, X, fp16, F16)    \
    KG_SM100_SHAPES(KG_SM100_ELEMENT, X, e4m3, F8E4M3) \
    KG_SM100_FUNCTION(X, 1, 128, None)                 \
    KG_SM100_FUNCTION(X, 1, 128, Residual)             \
    KG_SM100_FUNCTION(X, 2, 128, None)                 \
    KG_SM100_FUNCTION(X, 2, 128, Residual)             \
    KG_SM100_CLUSTER(X, 1, 128, 128, Frames2d, 2, 1)   \
    KG_SM100_CLUSTER(X, 1, 128, 128, Frames2d, 1, 2)   \
    KG_SM100_CLUSTER(X, 1, 64, 128, Frames2d, 2, 2)    \
    KG_SM100_CLUSTER(X, 1, 128, 128, Frames2d, 4, 1)   \
    KG_SM100_CLUSTER(X, 1, 128, 128, Frames2d, 1, 4)   \
    KG_SM100_STAGES(X, 2, 128, 192, Frames2d, 3)       \
    KG_SM100_STAGES(X, 2, 128, 192, Frames2d, 5)       \
    KG_SM100_CLUSTER(X, 2, 128, 256, Frames2d, 4, 1)   \
    KG_SM100_CLUSTER(X, 2, 128, 256, Frames2d, 2, 2)   \
    KG_SM100_CLUSTER(X, 2, 64, 256, Frames2d, 4, 2)    \
    KG_SM100_CLUSTER(X, 2, 128, 192, Frames2d, 4, 2)   \
    KG_SM100_SHAPES(KG_SM100_SUMS, X)                  \
    KG_SM100_SHAPES(KG_SM100_PRODUCT, X, fp16, F16)    \
    KG_SM100_SHAPES(KG_SM100_PRODUCT, X, e4m3, F8E4M3)

#define KG_SM100_ENTRIES(X) \
    KG_SM100_FRAMES(X)      \
    KG_SM100_VOLUMES(X)     \
    KG_SM100_WINDOWS(X)     \
    KG_SM100_SILUS(X)       \
    KG_SM100_EIGHTHS(X)     \
    KG_SM100_HALVES(X) KG_SM100_SMALLS(X) KG_SM100_VARIANTS(X) KG_SM100_MIXES(X) KG_SM100_SWIZZLES(X)

struct Conv2dEntry {
    const char* name;    ///< of the function in the module
    const char* walked;  ///< "name@N", which stands for the name with a panel width N (plan.hpp)
    Conv2dConfig config;
    EntryFunction function;
};
#define KG_SM100_ROW(name, config, function) {#name, #name "@N", config, kEntryFunction<function>},
inline constexpr Conv2dEntry kConv2dEntries[] = {KG_SM100_ENTRIES(KG_SM100_ROW)};
#undef KG_SM100_ROW

}  // namespace kinetograph::sm100
