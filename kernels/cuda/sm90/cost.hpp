#pragma once

#include <kinetograph/kernels/conv/gate.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>

/// Which of the compiled tiles a convolution takes, and how long it will run.
namespace kinetograph::sm90 {

struct NamedConvConfig {
    std::string_view kernel;  ///< entry point in the fat binary: "sm90_conv_bf16_n96_32x8_3_32"
    ConvConfig config;
};

/// All that are compiled.
std::span<const NamedConvConfig> conv_configs();

/// The tiles with fp32_sums, for Q-slice.
std::span<const NamedConvConfig> sum_configs();

/// Pixels along rows and columns that the tiles walk: an output frame, or one parity of an upsampled one.
struct Walk {
    int64_t h, w, parities;
};
Walk walk_of(const conv::ConvProblem& problem);

/// The product of [rows][c_in] and [k][c_in] as a 1x1 convolution without bias. Rows, a multiple of kProductColumns,
/// are the pixels of an image so wide: of one column of 8 x 8 blocks.
inline constexpr int64_t kProductColumns = 8;
conv::ConvProblem product_problem(int64_t rows, int64_t c_in, int64_t k, Element dtype, Element output);

/// The same problem on rows of kProductColumns pixels, if each result needs the pixel at its own place alone: pixels
/// lie densely, so tiles cover them in any shape, and rows so short leave at most one tile of a frame in part empty.
/// Every other problem as it is.
conv::ConvProblem flattened(conv::ConvProblem problem);

/// Tiles of the whole problem.
int64_t conv_tiles(const ConvConfig& config, const conv::ConvProblem& problem);

/// Clocks of a product of 64 pixels, 16 channels and so many filters: the longer of its multiplications and reading its
/// operands from shared memory at 128 bytes a clock.
double product_clocks(uint32_t filters);
/// Seconds of so many clocks of an SM whose tensor cores are busy.
double clock_seconds(double clocks, const conv::Chip& chip);
/// Clocks of a tile's main loop in that problem: the longer of its products and of loading their operands.
double tile_clocks(const ConvConfig& config, const conv::ConvProblem& problem);
/// Clocks that one warpgroup's epilogue takes for the blocks of that tile.
double epilogue_clocks(const ConvConfig& config, const conv::ConvProblem& problem);
/// Seconds of a launch whose longest CTA takes so many clocks: the longer of those and the problem's memory traffic.
double launch_seconds(double clocks, const conv::ConvProblem& problem, const conv::Chip& chip);

/// Seconds that the problem takes with that tile, without a norm pass after it: the longer of its tiles in sequence
/// and its memory traffic; with constants fitted to measurements on an H200.
double conv_seconds(const ConvConfig& config, const conv::ConvProblem& problem, const conv::Chip& chip);

/// Whether the tile takes the problem: element, taps and channels of a block of K are equal, and bn holds all filters
/// if there is a norm or a partial piece. Channels follow from c_in alone, so that every tile adds in the same order.
bool fits(const ConvConfig& config, const conv::ConvProblem& problem);

/// The cheapest tile that fits; null if none does. One whose epilogues overlap is taken only where they are the longer
/// part.
const NamedConvConfig* choose_config(const conv::ConvProblem& problem, const conv::Chip& chip);
const NamedConvConfig* choose_sum_config(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm90
