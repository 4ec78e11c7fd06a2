#include <kinetograph/kernels/cuda/sm100/attention_plan.hpp>

#include <kinetograph/kernels/cuda/sm100/attention_smem.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_widths.hpp>

namespace kinetograph::sm100 {

std::string attention_reasons(const conv::Chip& chip, Element element, int64_t channels) {
    return sm90::attention_reasons({.holds = chip.cuda_architecture() / 10 == 10,
                                    .wanted = "an sm_100 or sm_103 device",
                                    .image = "tcgen05_attention_bf16",
                                    .build = "kernels for sm_100f in this build"},
                                   chip, element, channels);
}

conv::KernelName attention_kernel(Element element, uint32_t channels) {
    const std::string name = element_name(element);
    return {"sm100_attention_" + name + '_' + std::to_string(sm90::attention_width(channels)),
            element == Element::BF16 ? "tcgen05_attention_bf16" : "tcgen05_attention_f16"};
}

sm90::AttentionCta attention_cta(uint32_t channels) {
#define KG_SIZE(width)                              \
    if (sm90::attention_width(channels) == (width)) \
        return {kAttentionThreads, sizeof(AttentionSmem<AttentionConfig{Element::BF16, width}>)};
    KG_SM90_ATTENTION_WIDTHS(KG_SIZE)
#undef KG_SIZE
    return {};
}

}  // namespace kinetograph::sm100
