#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

/// Parameters as ConvKernel reads them, packed once when a model is loaded.
namespace kinetograph::sm90 {

/// Filter as cuda::pack_filter stores it: [parity][k][q][r][s][c_in rounded up to 8]; bias and gamma with zeros up to
/// the end of the widest tile. Of bytes the filter is [k][q][r][s][c_in] of s8, then ConvParams::starts, and scales are
/// ConvParams::lines, padded likewise. folds are divided by the scale of the norm's bytes.
conv::PackedParameters pack_parameters(const conv::ConvProblem& problem, const conv::ConvParameters& parameters);

/// Bytes from a packed filter of s8 to the starts.
uint64_t starts_offset(const conv::ConvProblem& problem);

/// A packed filter with bias and gamma padded like those of pack_parameters().
conv::PackedParameters pack_with_filter(std::vector<std::byte> filter, const conv::ConvParameters& parameters);

/// The name of the layout of pack_parameters(): plans with equal layouts share its results.
std::string packing_layout(const conv::ConvProblem& problem);

}  // namespace kinetograph::sm90
