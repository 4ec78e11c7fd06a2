#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

/// Filters in ConvKernel's order, packed once when a model is loaded.
namespace kinetograph::cuda {

/// Channels of one tap along K: c_in rounded up to a chunk of 8, filled with zeros.
constexpr int64_t padded_channels(int64_t c_in) { return (c_in + 7) / 8 * 8; }

/// Bytes of the problem's packed filter.
int64_t packed_filter_bytes(const conv::ConvProblem& problem);

/// filter   [k][c_in][q][r][s] fp32, PyTorch's order
/// returns  [k][q][r][s][c_padded] of problem.dtype, rounded to nearest even. With Upsample::SubPixel
///          [parity row][parity column][k][q][2][2][c_padded]: taps that fall on the same stored pixel are summed
///          in fp32 and rounded once.
std::vector<std::byte> pack_filter(const conv::ConvProblem& problem, std::span<const float> filter);

/// [k][c][3][r][s] to [k][c][4][r][s]: halves of g0, g2, g0 + g1 + g2 and g0 - g1 + g2 in place of the taps g0, g1, g2
/// in time, the filters of F(2,3) along time in the order in which sm_80's kernel uses them.
std::vector<float> winograd_filter(const conv::ConvProblem& problem, std::span<const float> filter);

/// [k][c][q][r][s] to [k][c][r][s] of temporal tap `q`.
std::vector<float> slice_filter(const conv::ConvProblem& problem, std::span<const float> filter, int64_t q);

}  // namespace kinetograph::cuda
