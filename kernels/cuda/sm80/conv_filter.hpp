#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_problem.hpp>
#include <vector>

/// Filters as ConvKernel reads them, packed once when a model is loaded.
namespace kinetograph::sm80 {

/// Channels of one tap along K: c_in rounded up to a chunk of 8; the rest are zeros.
constexpr int64_t padded_channels(int64_t c_in) { return (c_in + 7) / 8 * 8; }

/// Bytes of the packed filter of that shape.
int64_t packed_filter_bytes(const ConvShape& shape);

/// filter   [c_out][c_in][q][r][s] fp32, PyTorch's order
/// returns  [c_out][q][r][s][c_padded] of shape.element, rounded to nearest even. With Upsample::SubPixel
///          [parity row][parity column][c_out][q][2][2][c_padded]: taps that fall on the same stored pixel are summed
///          in fp32 and rounded once.
std::vector<uint16_t> pack_filter(const ConvShape& shape, const float* filter);

}  // namespace kinetograph::sm80
