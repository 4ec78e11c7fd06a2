#include <cassert>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/sum_entries.hpp>

namespace kinetograph::sm100 {

SumEntries choose_sums(const Conv2dProblemShape& image, const ChipRates& rates) {
    const Conv2dEntry& first = choose_product(image, rates);
    const uint32_t group = first.config.cta_group;
    const std::string shape =
        std::to_string(group) + "sm_" + (first.config.swizzle_a == isa::Swizzle::Span128 ? "128b" : "64b");
    return {find_entry("conv2d_Frames2d_" + shape + "_n" + std::to_string(96 * group)), &first,
            find_entry("conv2d_next_sum_" + shape), find_entry("conv2d_last_sum_" + shape)};
}

const Conv2dEntry& choose_product(const Conv2dProblemShape& product, const ChipRates& rates) {
    const Conv2dEntry* entry = choose_entry(product, {.output_bytes = 4}, rates);
    assert(entry != nullptr);
    return *entry;
}

}  // namespace kinetograph::sm100
