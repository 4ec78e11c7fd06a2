// How the direct back end divides a convolution: output channels into blocks, taps into chunks that fit the cache.
#pragma once

#include <kinetograph/compute/conv/direct/tile_kernels.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

#include <vector>

namespace kinetograph::conv::direct {

/// Output channels [first, first + count).
struct ChannelBlock {
    std::int64_t first = 0, count = 0;
    int kernel_count = 0;            ///< `count` for tile_kernel(): vectors, or output channels if narrow
    std::int64_t sums_pitch = 0;     ///< elements from one pixel's sums to the next's
    std::int64_t row_bytes = 0;      ///< packed filter of one row of S taps
    std::int64_t filter_offset = 0;  ///< bytes into the packed filter
};

struct Blocking {
    std::vector<ChannelBlock> blocks;
    Arrangement arrangement = Arrangement::Wide;
    std::int64_t rows_a_chunk = 0;  ///< rows of taps whose filter stays in the second-level cache
    std::int64_t chunks = 0;        ///< that the rows of a tile are cut into
    std::int64_t filter_bytes = 0;  ///< of all blocks
};

/// Of a problem whose input is a multiplied_element(). A tile adds up `rows_a_tile` of the Q * R rows of taps.
Blocking choose_blocking(const ConvProblem& problem, std::int64_t rows_a_tile);

/// Packs a filter [k][c][q][r][s] block by block: rows of taps [q][r], each in the layout of TapRow::filter. Output
/// channels beyond k are zero. Of U8 inputs the filter is rounded to I8. `packed` has filter_bytes.
void pack_filter(const ConvProblem& problem, const Blocking& blocking, const float* filter, std::byte* packed);

}  // namespace kinetograph::conv::direct
