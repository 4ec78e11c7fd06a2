#include <cassert>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/sum_entries.hpp>

namespace kinetograph::sm100 {
namespace {

SumEntries sums_of(const Conv2dEntry& first) {
    const uint32_t group = first.config.cta_group;
    const std::string shape =
        std::to_string(group) + "sm_" + (first.config.swizzle_a == isa::Swizzle::Span128 ? "128b" : "64b");
    return {find_entry("conv2d_Frames2d_" + shape + "_n" + std::to_string(96 * group)), &first,
            find_entry("conv2d_next_sum_" + shape), find_entry("conv2d_last_sum_" + shape)};
}

}  // namespace

SumEntries choose_sums(const conv::ConvProblem& image, const ChipRates& rates) {
    return sums_of(choose_product(image, rates));
}

std::vector<SumEntries> all_sums(const conv::ConvProblem& image, const ChipRates& rates) {
    std::vector<SumEntries> all;
    for (const Conv2dEntry* first : all_products(image, rates)) all.push_back(sums_of(*first));
    return all;
}

const Conv2dEntry& choose_product(const conv::ConvProblem& product, const ChipRates& rates) {
    const Conv2dEntry* entry = choose_entry(product, {.output_bytes = 4}, rates);
    assert(entry != nullptr);
    return *entry;
}

std::vector<const Conv2dEntry*> all_products(const conv::ConvProblem& product, const ChipRates& rates) {
    return entries_for(product, {.output_bytes = 4}, rates);
}

}  // namespace kinetograph::sm100
