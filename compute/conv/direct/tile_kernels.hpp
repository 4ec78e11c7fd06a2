// The innermost loops of the direct back end: one tile of output pixels times one block of output channels, in
// registers of AVX-512 or AVX2; of integers also in plain loops.
#pragma once

#include <kinetograph/kernels/isa/element.hpp>

#include <cstddef>
#include <cstdint>

namespace kinetograph::conv::direct {

/// How a filter's output channels map to the lanes of registers.
enum class Arrangement : std::uint8_t {
    Wide,    ///< lanes are output channels; a step is one 4-byte word of every pixel
    Narrow,  ///< lanes are input channels, for the 1 to 4 output channels of a last layer; summed across at the end
};

/// One row of taps: an input row and the packed filter of its S taps.
struct TapRow {
    const std::byte* input = nullptr;  ///< pixel 0 of the input row
    /// Wide:   [s][c_in / pack][16 * vectors][pack], pack: 4 for U8, 2 for bf16, 1 for float32
    /// Narrow: [s][c_in in steps of a register][output channel][register], zero beyond c_in
    const std::byte* filter = nullptr;
};

/// A tile: `pixels` (at most the kernel's) neighbouring output pixels of one row.
struct Tile {
    const TapRow* rows = nullptr;
    std::int64_t row_count = 0;
    std::int64_t taps = 1;           ///< S
    std::int64_t first_column = 0;   ///< input column under tap 0 of the first pixel; may be outside
    std::int64_t tap_step = 1;       ///< dilation, in columns
    std::int64_t pixel_step = 1;     ///< stride, in columns
    std::int64_t width = 0;          ///< columns of the input
    std::int64_t channel_bytes = 0;  ///< of one input pixel
    std::int64_t pixels = 0;
    const std::byte* zeros = nullptr;  ///< channel_bytes of zeros, or of the zero point, read for taps outside
    float* sums = nullptr;  ///< [kernel's pixels][16 * vectors], int32 for U8, 64-byte aligned; written, or added to
    bool add = false;       ///< start from `sums` instead of zero
};

struct TileKernel {
    int pixels = 0;
    void (*run)(const Tile& tile) = nullptr;
};

/// Most output channels that Narrow takes.
constexpr int kMaxNarrow = 4;

/// What the kernels multiply for inputs of that type: BF16, which has products with AVX512_BF16 and an even number of
/// channels, is otherwise widened to F32 before.
Element multiplied_element(Element input, std::int64_t channels);

/// What packed filters for tile_kernel() depend on.
struct KernelLimits {
    std::int64_t max_vectors = 0;     ///< of 16 output channels that a Wide kernel takes
    std::int64_t register_bytes = 0;  ///< step of Narrow
};
KernelLimits kernel_limits(Element element);

/// Wide: the kernel for blocks of 16 * `count` output channels, at most KernelLimits::max_vectors. Narrow: for `count`
/// output channels, at most kMaxNarrow, with a pitch of 16 sums between pixels. `element` is a multiplied_element();
/// F32 needs AVX2. U8, which is Wide, needs nothing: its sums are the same integers on every processor.
TileKernel tile_kernel(Arrangement arrangement, int count, Element element);

}  // namespace kinetograph::conv::direct
