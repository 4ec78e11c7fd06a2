#pragma once

#include <kinetograph/kernels/cuda/sm100/cost.hpp>

/// The kernels that work on fp32 sums in memory, and the image kernel of the same shape.
namespace kinetograph::sm100 {

/// For one group of CTAs and one swizzle; bf16 inputs. All four take the same tiles.
struct SumEntries {
    const Conv2dEntry* image = nullptr;      ///< bf16 output: the other configs follow from it
    const Conv2dEntry* first_sum = nullptr;  ///< stores sums
    const Conv2dEntry* next_sum = nullptr;   ///< loads and stores sums
    const Conv2dEntry* last_sum = nullptr;   ///< loads sums, bf16 output
};

/// The cheapest of those that are built for a 2-D problem in bf16, by estimate.
SumEntries choose_sums(const conv::ConvProblem& image, const ChipRates& rates);
/// All that are built, cheapest first.
std::vector<SumEntries> all_sums(const conv::ConvProblem& image, const ChipRates& rates);
/// The entry that writes the sums of a matrix product most cheaply: [rows, k] as an image of one row, in bf16, fp16 or
/// fp8 e4m3.
const Conv2dEntry& choose_product(const conv::ConvProblem& product, const ChipRates& rates);
std::vector<const Conv2dEntry*> all_products(const conv::ConvProblem& product, const ChipRates& rates);

}  // namespace kinetograph::sm100
