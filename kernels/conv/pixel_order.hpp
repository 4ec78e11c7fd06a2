// The order in which a pixel's channels become the four pixels of a 2x2 block.
#pragma once

#include <cstdint>
#include <kinetograph/kernels/isa/host_device.hpp>

namespace kinetograph::conv {

enum class PixelOrder : std::uint8_t {
    RowsFirst,     ///< PyTorch's pixel shuffle: channel 2 dy + dx of four
    ColumnsFirst,  ///< channel 2 dx + dy
};

KG_HOST_DEVICE std::uint32_t place_in_block(PixelOrder order, std::uint32_t dy, std::uint32_t dx) {
    return order == PixelOrder::RowsFirst ? 2 * dy + dx : 2 * dx + dy;
}

}  // namespace kinetograph::conv
