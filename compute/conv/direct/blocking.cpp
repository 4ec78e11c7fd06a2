#include <kinetograph/compute/conv/direct/blocking.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/base/processor.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::conv::direct {
namespace {

constexpr std::int64_t kLanes = 16;

/// Of a chunk's filter: about half of a second-level cache; the other half is for activations.
std::int64_t chunk_bytes() { return processor().cache_bytes * 15 / 32; }

/// Index of the packed filter's element for output channel `k` of `block`, tap row `row`, tap `s`, input channel `c`.
std::int64_t packed_index(const ConvProblem& p, Arrangement arrangement, const ChannelBlock& block, std::int64_t row,
                          std::int64_t s, std::int64_t c, std::int64_t k) {
    const std::int64_t bytes = tensor::bytes_per_element(p.input.element);
    const std::int64_t start = (row * block.row_bytes + s * (block.row_bytes / p.filter.s)) / bytes;
    if (arrangement == Arrangement::Narrow) {
        const std::int64_t step = kernel_limits(p.input.element).register_bytes / bytes;
        return start + (c / step * block.count + k) * step + c % step;
    }
    const std::int64_t pack = 4 / bytes;
    return start + (c / pack * kLanes * block.kernel_count + k) * pack + c % pack;
}

/// All output channels in one block: pixels are loaded in their own layout, a register of channels at a time.
void add_narrow_block(const ConvProblem& problem, Blocking& blocking) {
    const std::int64_t channel_bytes = problem.c_in * tensor::bytes_per_element(problem.input.element);
    const std::int64_t step = kernel_limits(problem.input.element).register_bytes;
    const std::int64_t steps = (channel_bytes + step - 1) / step;
    blocking.arrangement = Arrangement::Narrow;
    blocking.blocks.push_back({.first = 0,
                               .count = problem.filter.k,
                               .kernel_count = static_cast<int>(problem.filter.k),
                               .sums_pitch = kLanes,
                               .row_bytes = problem.filter.s * steps * problem.filter.k * step,
                               .filter_offset = 0});
}

/// Blocks of as many vectors as a kernel takes, as equal as possible.
void add_wide_blocks(const ConvProblem& problem, Blocking& blocking) {
    const std::int64_t vectors = (problem.filter.k + kLanes - 1) / kLanes;
    const std::int64_t most = kernel_limits(problem.input.element).max_vectors;
    const std::int64_t count = (vectors + most - 1) / most;
    const std::int64_t vector_bytes =
        problem.filter.s * problem.c_in * tensor::bytes_per_element(problem.input.element) * kLanes;
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t own = vectors / count + (i < vectors % count ? 1 : 0);
        blocking.blocks.push_back({.first = first,
                                   .count = std::min(own * kLanes, problem.filter.k - first),
                                   .kernel_count = static_cast<int>(own),
                                   .sums_pitch = own * kLanes,
                                   .row_bytes = own * vector_bytes,
                                   .filter_offset = 0});
        first += own * kLanes;
    }
}

}  // namespace

Blocking choose_blocking(const ConvProblem& problem, std::int64_t rows_a_tile) {
    Blocking blocking;
    problem.filter.k <= kMaxNarrow && !problem.multiplies_integers() ? add_narrow_block(problem, blocking)
                                                                     : add_wide_blocks(problem, blocking);
    const std::int64_t rows = problem.filter.q * problem.filter.r;
    for (ChannelBlock& block : blocking.blocks) {
        block.filter_offset = blocking.filter_bytes;
        blocking.filter_bytes += rows * block.row_bytes;
    }
    blocking.rows_a_chunk = std::clamp<std::int64_t>(chunk_bytes() / blocking.blocks.front().row_bytes, 1, rows_a_tile);
    blocking.chunks = (rows_a_tile + blocking.rows_a_chunk - 1) / blocking.rows_a_chunk;
    return blocking;
}

void pack_filter(const ConvProblem& p, const Blocking& blocking, const float* filter, std::byte* packed) {
    std::memset(packed, 0, static_cast<std::size_t>(blocking.filter_bytes));
    const std::int64_t rows = p.filter.q * p.filter.r;
    for (const ChannelBlock& block : blocking.blocks) {
        std::byte* to = packed + block.filter_offset;
        for (std::int64_t k = 0; k < block.count; ++k) {
            const float* from = filter + (block.first + k) * p.c_in * rows * p.filter.s;
            for (std::int64_t c = 0; c < p.c_in; ++c) {
                for (std::int64_t row = 0; row < rows; ++row) {
                    for (std::int64_t s = 0; s < p.filter.s; ++s) {
                        const float value = *from++;
                        const std::int64_t index = packed_index(p, blocking.arrangement, block, row, s, c, k);
                        if (p.multiplies_integers()) {
                            store_element(to, index, Element::I8, value);
                        } else if (p.input.element == tensor::DType::BF16) {
                            const std::uint16_t bits = tensor::to_bf16(value);
                            std::memcpy(to + index * 2, &bits, 2);
                        } else {
                            std::memcpy(to + index * 4, &value, 4);
                        }
                    }
                }
            }
        }
    }
}

}  // namespace kinetograph::conv::direct
