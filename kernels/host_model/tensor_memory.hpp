#pragma once

#include <cstdint>
#include <kinetograph/kernels/host_model/instructions.hpp>
#include <vector>

namespace kinetograph::host_model {

struct Lane;

inline constexpr uint32_t kTensorLanes = 128, kTensorColumns = 512;

/// Columns that a warp has reserved.
struct TensorAllocation {
    uint32_t begin = 0, columns = 0;
    Instruction at;
};

/// Columns that a warp has loaded; a product may overwrite them once the load was waited for and fenced.
struct TensorRead {
    uint32_t begin = 0, end = 0;
    uint8_t quarter = 0;
    uint32_t warp = 0;
    Instruction at;
    bool waited = false, fenced = false;
};

/// Tensor memory of one CTA.
struct TensorMemory {
    std::vector<uint32_t> cells;  ///< [kTensorLanes][kTensorColumns] once something is allocated
    std::vector<TensorAllocation> allocations;
    std::vector<TensorRead> reads;
    uint32_t largest_next = kTensorColumns;  ///< successive allocations must not grow
    bool allocated = false;
    bool relinquished = false;
    int group = 0;  ///< cta_group of all tcgen05 instructions so far
    Instruction group_at;

    uint32_t* row(uint32_t lane) { return cells.data() + static_cast<size_t>(lane) * kTensorColumns; }
};

}  // namespace kinetograph::host_model
