#pragma once

#include <kinetograph/kernels/conv/gate.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_configs.hpp>
#include <string_view>
#include <vector>

/// Which of the built 2-D kernels a problem gets, from what would limit each. A function of problem and chip; an
/// estimate from data sheets, not a measurement. A problem with upsampling is passed as that of the doubled image.
namespace kinetograph::sm100 {

/// B200: 148 SMs, 2250 TFLOP/s dense bf16 and 8 TB/s of HBM by its data sheet. The rates inside the chip have not been
/// measured there: 40 bytes a clock from L2 into an SM are an H200's, 128 bytes a clock of shared memory every chip's
/// since sm_70.
struct ChipRates {
    uint32_t sms = 148;
    conv::ResidentClusters clusters{};
    double flops_per_clock = 8192;  ///< of one SM, 16-bit operands; 8-bit ones double it
    double clocks_per_second = 2250e12 / (148 * 8192);
    double l2_bytes_per_clock = 40;       ///< into one SM
    double narrow_halo_share = 1;         ///< of that rate for halos in rows of 64 bytes; an H200 reaches 19 of its 40
    double shared_bytes_per_clock = 128;  ///< of one SM: operands that MMAs read, and what arrives for them
    double hbm_bytes_per_second = 8e12;
    double l2_bytes = 126e6;  ///< what the chip's L2 keeps
    /// Of the rate of products, what the power budget sustains if all SMs multiply without a pause. 1: that of the data
    /// sheet; an H200 holds 1.50 of 1.98 GHz.
    double power_share = 1;
    /// Rows of a CTA at which a pair's MMA is at its full rate. 64 rows of a pair fill all lanes of tensor memory, so
    /// they may be enough; until that is measured the model takes half of the rate.
    uint32_t full_rows_of_pairs = 128;

    uint32_t clusters_at_once(uint32_t ctas) const { return clusters.at_once(ctas, sms); }
};

/// Clocks of an epilogue warp for a piece of 32 pixels x 32 channels: for the sweep that reads sums from tensor memory
/// and stores results, and for the norm's sweep over registers.
struct PieceClocks {
    double sums = 0, norm = 0;
};
PieceClocks piece_clocks(const conv::ConvProblem& problem);

enum class Limit : uint8_t { Mma, Shared, L2, Hbm, Epilogue, Power };

struct Conv2dEstimate {
    uint64_t tiles = 0;           ///< of one MMA (one CTA or a pair), those that fill up clusters included
    uint64_t rounds = 0;          ///< tiles of the busiest SM
    uint32_t panel = 1;           ///< Conv2dGeometry::panel that moves the fewest bytes
    double seconds = 0;           ///< the largest of those below
    double mma_seconds = 0;       ///< products alone, idle SMs of the last round included
    double shared_seconds = 0;    ///< operands into and out of shared memory alone
    double l2_seconds = 0;        ///< operands into shared memory alone
    double hbm_seconds = 0;       ///< every tensor once, or as often as it does not stay in L2
    double epilogue_seconds = 0;  ///< of the epilogue's warps alone
    double power_seconds = 0;     ///< of the products' energy; SMs that the last round leaves idle take none
    Limit limit = Limit::Mma;

    /// Sets power_seconds from the products of so many clusters' tiles in so many places at once, then `seconds` and
    /// `limit` from the parts.
    void find_limit(double tiles_of_clusters, double places, const ChipRates& chip);

    /// What choices compare: among entries limited by HBM alone, the one that needs less of L2 wins.
    double cost() const { return seconds + 1e-3 * (mma_seconds + l2_seconds); }
};
Conv2dEstimate estimate(const Conv2dConfig& config, const conv::ConvProblem& problem, const ChipRates& chip = {});

/// What a launch needs of an entry, in addition to the problem's element.
struct EntryRequest {
    Activation activation = Activation::Frames2d;
    Source source = Source::None;
    EntryFunction function = EntryFunction::None;
    uint32_t output_bytes = 2;     ///< per value: 4 for sums
    std::string_view kernel = {};  ///< only the entry of this name, if given; its SiLU may be that of the staged tile
};

/// The entry of least cost among those that match the request; null if none of them is built. `problem` has
/// passed gates(activation).
const Conv2dEntry* choose_entry(const conv::ConvProblem& problem, const EntryRequest& request,
                                const ChipRates& chip = {});

/// The entries that a request may name, cheapest first.
std::vector<const Conv2dEntry*> entries_for(const conv::ConvProblem& problem, const EntryRequest& request,
                                            const ChipRates& chip = {});

}  // namespace kinetograph::sm100
