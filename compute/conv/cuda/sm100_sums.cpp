#include <kinetograph/compute/conv/cuda/sm100_launch.hpp>
#include <kinetograph/compute/conv/cuda/sm100_sums.hpp>

#include <fmt/format.h>

namespace kinetograph::conv::cuda {

Sm100SumEntries choose_sums(const sm100::Conv2dProblemShape& image, const sm100::ChipRates& rates) {
    const sm100::Conv2dEntry* first = choose_product(image, rates);
    const std::uint32_t group = first->config.cta_group;
    const std::string shape =
        fmt::format("{}sm_{}b", group, first->config.swizzle_a == isa::Swizzle::Span128 ? 128 : 64);
    return {find_entry(fmt::format("conv2d_Frames2d_{}_n{}", shape, 96 * group)), first,
            find_entry(fmt::format("conv2d_next_sum_{}", shape)), find_entry(fmt::format("conv2d_last_sum_{}", shape))};
}

const sm100::Conv2dEntry* choose_product(const sm100::Conv2dProblemShape& product, const sm100::ChipRates& rates) {
    return sm100::choose_entry(product, {.output_bytes = 4}, rates);
}

}  // namespace kinetograph::conv::cuda
