#include <kinetograph/compute/conv/cuda/sm100_launch.hpp>
#include <kinetograph/compute/conv/cuda/sm100_sums.hpp>

#include <fmt/format.h>

namespace kinetograph::conv::cuda {
namespace {

/// What the entries that write sums of an element's products begin with.
std::string_view sums_of(isa::Element element) {
    switch (element) {
        case isa::Element::Float16:
            return "conv2d_fp16_sum";
        case isa::Element::Float8E4M3:
            return "conv2d_e4m3_sum";
        default:
            return "conv2d_first_sum";
    }
}

/// "1sm_128b": CTAs of an MMA and swizzle of the cheapest entry that writes sums, by estimate; and its CTAs.
struct Form {
    std::string name;
    std::uint32_t cta_group = 0;
};
Form cheapest(const sm100::Conv2dProblemShape& image, const sm100::ChipRates& rates) {
    Form best;
    double seconds = 0;
    for (const std::uint32_t cta_group : {1U, 2U})
        for (const std::uint32_t span : {128U, 64U}) {
            Form form{fmt::format("{}sm_{}b", cta_group, span), cta_group};
            const auto* const entry = find_entry(fmt::format("{}_{}", sums_of(image.element), form.name));
            const sm100::Conv2dEstimate cost = sm100::estimate(entry->config, image, rates);
            // Where only memory limits, the one that asks less of the second-level cache is the better neighbour.
            const double all = cost.seconds + 1e-3 * (cost.mma_seconds + cost.l2_seconds);
            if (best.cta_group != 0 && all >= seconds) continue;
            best = std::move(form);
            seconds = all;
        }
    return best;
}

}  // namespace

Sm100SumEntries choose_sums(const sm100::Conv2dProblemShape& image, const sm100::ChipRates& rates) {
    const Form form = cheapest(image, rates);
    return {find_entry(fmt::format("conv2d_Frames2d_{}_n{}", form.name, 96 * form.cta_group)),
            find_entry(fmt::format("conv2d_first_sum_{}", form.name)),
            find_entry(fmt::format("conv2d_next_sum_{}", form.name)),
            find_entry(fmt::format("conv2d_last_sum_{}", form.name))};
}

const sm100::Conv2dEntry* choose_product(const sm100::Conv2dProblemShape& product, const sm100::ChipRates& rates) {
    return find_entry(fmt::format("{}_{}", sums_of(product.element), cheapest(product, rates).name));
}

}  // namespace kinetograph::conv::cuda
