#pragma once

#include <array>
#include <cstdint>
#include <kinetograph/kernels/host_model/instructions.hpp>
#include <vector>

namespace kinetograph::host_model {

inline constexpr uint32_t kTensorLanes = 128, kTensorColumns = 512;

/// Columns reserved by a warp.
struct TensorAllocation {
    uint32_t begin = 0, columns = 0;
    uint32_t warp = 0;
    Instruction at;
};

/// Columns loaded by a warp; a product may overwrite them once every lane has waited for the load and fenced.
struct TensorRead {
    uint32_t begin = 0, end = 0;
    uint32_t warp = 0;
    Instruction at;
    bool waited = false;
    uint32_t fenced_lanes = 0;  ///< bit = lane
    uint64_t fence_time = 0;
};

/// Tensor memory of one CTA.
struct TensorMemory {
    std::vector<float> cells;  ///< [kTensorLanes][kTensorColumns] once something is allocated
    std::vector<TensorAllocation> allocations;
    std::vector<TensorRead> reads;
    std::array<uint64_t, kTensorColumns> settled{};  ///< when a product into the column was last waited for
    std::array<bool, kTensorColumns> written{};
    uint32_t largest_next = kTensorColumns;  ///< successive allocations must not grow
    bool allocated = false;
    bool relinquished = false;
    int group = 0;  ///< cta_group of all tcgen05 instructions so far, 0 before the first
    Instruction group_at;

    float& cell(uint32_t lane, uint32_t column) { return cells[static_cast<size_t>(lane) * kTensorColumns + column]; }
};

}  // namespace kinetograph::host_model
