#pragma once

#include <cstdint>

namespace kinetograph::gfx950 {

/// A filter in device memory to the rows that FourWaveConv reads (pack.hpp), rounded once to their element: zeros after
/// the channels of a tap, after the taps of a temporal tap and after the last one. Grid: words of 4 bytes of a row,
/// filters, parities.
struct FilterPackParams {
    const void* filter;
    void* packed;
    uint32_t filter_bytes;
    uint32_t filters;
    uint32_t taps_q, taps_r, taps_s, channels;                  ///< of a row: 2 x 2 in a frame if folded
    uint32_t stride_k, stride_q, stride_r, stride_s, stride_c;  ///< elements of the filter as given
    uint32_t tap_pitch, frame_pitch, pitch;                     ///< elements of a row: of a tap, a temporal tap, all
    bool folded;  ///< each of four parities of the output has the sums of the 3 x 3 taps that read one stored pixel
};

}  // namespace kinetograph::gfx950
