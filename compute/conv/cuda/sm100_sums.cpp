#include <kinetograph/compute/conv/cuda/sm100_launch.hpp>
#include <kinetograph/compute/conv/cuda/sm100_sums.hpp>

#include <fmt/format.h>

namespace kinetograph::conv::cuda {
namespace {

Sm100SumEntries entries(std::uint32_t cta_group, std::uint32_t span) {
    const std::string shape = fmt::format("{}sm_{}b", cta_group, span);
    return {find_entry(fmt::format("conv2d_Frames2d_{}_n{}", shape, 96 * cta_group)),
            find_entry(fmt::format("conv2d_first_sum_{}", shape)), find_entry(fmt::format("conv2d_next_sum_{}", shape)),
            find_entry(fmt::format("conv2d_last_sum_{}", shape))};
}

}  // namespace

Sm100SumEntries choose_sums(const sm100::Conv2dProblemShape& image, const sm100::ChipRates& rates) {
    Sm100SumEntries best;
    double seconds = 0;
    for (const std::uint32_t cta_group : {1U, 2U})
        for (const std::uint32_t span : {128U, 64U}) {
            const Sm100SumEntries candidate = entries(cta_group, span);
            const sm100::Conv2dEstimate cost = sm100::estimate(candidate.first_sum->config, image, rates);
            // Where only memory limits, the one that asks less of the second-level cache is the better neighbour.
            const double all = cost.seconds + 1e-3 * (cost.mma_seconds + cost.l2_seconds);
            if (best.image != nullptr && all >= seconds) continue;
            best = candidate;
            seconds = all;
        }
    return best;
}

}  // namespace kinetograph::conv::cuda
