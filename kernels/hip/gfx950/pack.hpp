#pragma once

#include <kinetograph/kernels/conv/problem.hpp>
#include <kinetograph/kernels/hip/gfx950/conv_configs.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/filter_pack_params.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>
#include <vector>

/// How a problem's filter lies along K, and its parameters as FourWaveConv reads them, packed once when a model is
/// loaded.
namespace kinetograph::gfx950 {

/// Upsampling before a 3x3 filter (conv::is_sub_pixel, 16-bit elements): computed as four 2x2 filters on the stored
/// image, one for each parity of the output's row and column.
bool is_folded(const conv::ConvProblem& problem);

/// The taps and pixels of one launch's tiles: an output frame, or one parity of it with the folded filter.
struct Walk {
    int64_t parities, h, w, r, s;
};
Walk walk_of(const conv::ConvProblem& problem);

/// Channels of one tap along K.
int64_t tap_pitch(const conv::ConvProblem& problem, ConvPath path, uint32_t bk);
/// k blocks of a temporal tap.
int64_t steps_per_q(const conv::ConvProblem& problem, ConvPath path, uint32_t bk);
/// Elements of a packed filter row.
int64_t filter_row(const conv::ConvProblem& problem, ConvPath path, uint32_t bk);

/// Orders of a filter's axes, the innermost last: PyTorch's [k][c][q][r][s]; [k][q][r][s][c] (KRSC); [q][r][s][c][k]
/// (RSCF, QRSCF).
enum class FilterOrder : uint8_t { Kcqrs, Kqrsc, Qrsck };

/// The filter in the kernel's order: one row of filter_row() elements per output channel, elements [q][r][s][c]. The r
/// * s * c of each temporal tap (Padded: the c of every tap) are followed by zeros up to whole k blocks, the row by
/// zeros up to a multiple of 256 elements. Rounded once, to the problem's element type. With is_folded() four such
/// filters, one a parity. Empty for an empty problem. Pack when loading.
std::vector<std::byte> pack_filter(const conv::ConvProblem& problem, const ConvKernel& kernel,
                                   std::span<const float> filter, FilterOrder order = FilterOrder::Kcqrs);

/// pack_filter() on the device: the same bytes of a filter in its memory, of F32 or, with 16 bits, of the problem's own
/// element, in the order Kcqrs or Kqrsc. `packed` takes packed_filter_bytes().
struct FilterPackProblem {
    const conv::ConvProblem& problem;
    const ConvKernel& kernel;
    Element stored = Element::F32;
    FilterOrder order = FilterOrder::Kcqrs;
};
LaunchShape launch_shape(const FilterPackProblem& problem);
FilterPackParams make_params(const FilterPackProblem& problem, const std::byte* filter, std::byte* packed);
uint64_t packed_filter_bytes(const conv::ConvProblem& problem, const ConvKernel& kernel);

/// Bias, gamma or scales, padded with zeros to a multiple of 256 channels.
std::vector<float> pack_channels(const conv::ConvProblem& problem, std::span<const float> values);

}  // namespace kinetograph::gfx950
