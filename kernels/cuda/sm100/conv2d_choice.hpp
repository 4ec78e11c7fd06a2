#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_entries.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_problem.hpp>

/// Which of the built kernels a problem gets, from what would limit each. A function of problem and chip; an estimate
/// from data sheets, not a measurement.
namespace kinetograph::sm100 {

/// B200: 148 SMs, 2250 TFLOP/s dense bf16 and 8 TB/s of HBM by its data sheet. The rate from L2 into an SM has not been
/// measured there; 40 bytes a clock is an H200's.
struct ChipRates {
    uint32_t sms = 148;
    double flops_per_clock = 8192;  ///< of one SM, 16-bit operands; 8-bit ones double it
    double clocks_per_second = 2250e12 / (148 * 8192);
    double l2_bytes_per_clock = 40;  ///< into one SM
    double hbm_bytes_per_second = 8e12;
};

enum class Limit : uint8_t { Mma, L2, Hbm };

struct Conv2dEstimate {
    uint64_t tiles = 0;      ///< of one MMA: one CTA or a pair
    uint64_t rounds = 0;     ///< tiles that the busiest SM works on
    double seconds = 0;      ///< the largest of the three
    double mma_seconds = 0;  ///< products alone, idle SMs of the last round included
    double l2_seconds = 0;   ///< operands into shared memory alone
    double hbm_seconds = 0;  ///< every tensor once
    Limit limit = Limit::Mma;

    /// What choices compare: among entries limited by HBM alone, the one that needs less of L2 wins.
    double cost() const { return seconds + 1e-3 * (mma_seconds + l2_seconds); }
};
Conv2dEstimate estimate(const Conv2dConfig& config, const Conv2dProblemShape& shape, const ChipRates& chip = {});

/// What a launch needs of an entry, in addition to the shape's element.
struct EntryRequest {
    Activation activation = Activation::Frames2d;
    Source source = Source::None;
    EntryFunction function = EntryFunction::None;
    uint32_t output_bytes = 2;  ///< of a value: 4 for sums
};

/// The entry of least cost among those that match the request; null if none of them is built. `shape` has passed
/// gates(activation).
const Conv2dEntry* choose_entry(const Conv2dProblemShape& shape, const EntryRequest& request,
                                const ChipRates& chip = {});

}  // namespace kinetograph::sm100
