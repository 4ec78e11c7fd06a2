#include <algorithm>
#include <bit>
#include <cstring>
#include <kinetograph/kernels/host_model/machine.hpp>

namespace kinetograph::host_model {
namespace {

constexpr uint32_t kPoison = 0x7fffdeadu;  // a NaN

void gather_warp(Lane& lane, const Instruction& at, uint64_t operand, const std::function<void()>& act) {
    lane.cta->machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, operand, nullptr,
                             [&act](const auto&) { act(); });
}

std::string columns_text(uint32_t begin, uint32_t end) {
    return "columns [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

/// First columns of the free ranges from which an allocation may be placed.
std::vector<uint32_t> free_places(const TensorMemory& tensor, uint32_t columns) {
    std::vector<uint32_t> places;
    for (uint32_t begin = 0; begin < kTensorColumns; begin += columns) {
        const bool taken = std::any_of(tensor.allocations.begin(), tensor.allocations.end(), [&](const auto& other) {
            return begin < other.begin + other.columns && other.begin < begin + columns;
        });
        if (!taken) places.push_back(begin);
    }
    return places;
}

void allocate(Lane& lane, uint32_t* slot, uint32_t columns, const Instruction& at) {
    Cta& cta = *lane.cta;
    Machine& machine = cta.machine;
    TensorMemory& tensor = cta.tensor;
    if (!std::has_single_bit(columns) || columns < 32 || columns > kTensorColumns) {
        machine.fail(lane.who(), at, std::to_string(columns) + " columns: a power of two from 32 to 512 is needed");
    }
    if (tensor.relinquished) machine.fail(lane.who(), at, "allocates after tcgen05.relinquish_alloc_permit");
    if (columns > tensor.largest_next) {
        machine.fail(lane.who(), at,
                     "allocates " + std::to_string(columns) + " columns after an allocation of " +
                         std::to_string(tensor.largest_next) + ": successive allocations must not grow");
    }
    // The machine chooses among the free places, the same in both CTAs of a pair: kernels must use the address they are
    // given.
    const auto places = free_places(tensor, columns);
    if (places.empty()) {
        machine.fail(lane.who(), at, "waits for ever: no " + std::to_string(columns) + " columns in a row are free");
    }
    const uint32_t begin = places[(machine.launch().seed + tensor.allocations.size()) % places.size()];
    if (tensor.cells.empty()) {
        tensor.cells.assign(static_cast<size_t>(kTensorLanes) * kTensorColumns, std::bit_cast<float>(kPoison));
    }
    tensor.allocations.push_back({.begin = begin, .columns = columns, .warp = lane.warp(), .at = at});
    std::fill_n(tensor.written.begin() + begin, columns, false);
    tensor.largest_next = columns;
    tensor.allocated = true;
    const uint32_t offset = shared_offset(slot, 4, 4, at);
    check_access({.cta = &cta, .begin = offset, .end = offset + 4, .writes = true, .who = lane.who(), .at = at});
    *slot = begin;
    cta.layout[offset / 16] = kPlain;
}

void deallocate(Lane& lane, uint32_t address, uint32_t columns, int group, const Instruction& at) {
    Cta& cta = *lane.cta;
    Machine& machine = cta.machine;
    TensorMemory& tensor = cta.tensor;
    const auto found = std::find_if(tensor.allocations.begin(), tensor.allocations.end(), [&](const auto& allocation) {
        return allocation.begin == address && allocation.columns == columns;
    });
    if (found == tensor.allocations.end()) {
        machine.fail(lane.who(), at,
                     "frees " + std::to_string(columns) + " columns at address " + std::to_string(address) +
                         ", which are not allocated so");
    }
    if (group == 2 && !cta.cluster.ctas[cta.rank ^ 1]->tensor.allocated) {
        machine.fail(lane.who(), at,
                     "frees columns before the CTA of rank " + std::to_string(cta.rank ^ 1) +
                         ", its pair, has allocated: a cluster barrier is missing");
    }
    for (const TensorRead& read : tensor.reads) {
        if (!read.waited && read.begin < address + columns && address < read.end) {
            machine.fail(lane.who(), at,
                         "frees " + columns_text(read.begin, read.end) + " while " + describe(read.at) + " of warp " +
                             std::to_string(read.warp) + " has not been waited for");
        }
    }
    check_access({.cta = &cta,
                  .space = Space::Tensor,
                  .begin = address,
                  .end = address + columns,
                  .writes = true,
                  .who = lane.who(),
                  .at = at});
    std::erase_if(tensor.reads, [&](const auto& read) { return read.begin < address + columns && address < read.end; });
    tensor.allocations.erase(found);
}

}  // namespace

void check_group(Lane& lane, int group, const Instruction& at) {
    Cta& cta = *lane.cta;
    if (group == 2 && (cta.rank ^ 1) >= cta.cluster.ctas.size()) {
        cta.machine.fail(lane.who(), at,
                         "cta_group::2 needs a pair of CTAs; the cluster has no rank " + std::to_string(cta.rank ^ 1));
    }
    if (cta.tensor.group != 0 && cta.tensor.group != group) {
        cta.machine.fail(lane.who(), at,
                         "cta_group::" + std::to_string(group) +
                             " after cta_group::" + std::to_string(cta.tensor.group) + " in " +
                             describe(cta.tensor.group_at) + ": a kernel uses one of them");
    }
    cta.tensor.group = group;
    cta.tensor.group_at = at;
}

void check_allocated(Cta& cta, uint32_t begin, uint32_t end, const Who& who, const Instruction& at) {
    const auto& allocations = cta.tensor.allocations;
    const bool inside = std::any_of(allocations.begin(), allocations.end(), [&](const auto& allocation) {
        return allocation.begin <= begin && end <= allocation.begin + allocation.columns;
    });
    if (!inside) {
        cta.machine.fail(who, at,
                         "tensor memory " + columns_text(begin, end) + " of " + describe(cta.block) +
                             " are not inside one allocation");
    }
}

void tensor_alloc(uint32_t* slot, uint32_t columns, int group, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    check_group(lane, group, at);
    gather_warp(lane, at, columns, [&] { allocate(lane, slot, columns, at); });
}

void tensor_dealloc(uint32_t address, uint32_t columns, int group, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    check_group(lane, group, at);
    gather_warp(lane, at, uint64_t{address} << 32 | columns, [&] { deallocate(lane, address, columns, group, at); });
}

void tensor_relinquish(int group, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    check_group(lane, group, at);
    gather_warp(lane, at, 0, [&] { lane.cta->tensor.relinquished = true; });
}

void tensor_load(uint32_t* values, uint32_t columns, uint32_t address, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    Machine& machine = cta.machine;
    machine.step();
    const uint32_t first_lane = address >> 16, begin = address & 0xffffu, end = begin + columns;
    if (first_lane != 32 * (lane.warp() % 4)) {
        machine.fail(lane.who(), at,
                     "addresses lane " + std::to_string(first_lane) + "; warp " + std::to_string(lane.warp()) +
                         " reaches lanes " + std::to_string(32 * (lane.warp() % 4)) + " and the 31 after it");
    }
    check_allocated(cta, begin, end, lane.who(), at);
    check_access({.cta = &cta,
                  .space = Space::Tensor,
                  .begin = begin,
                  .end = end,
                  .quarters = static_cast<uint8_t>(1u << (lane.warp() % 4)),
                  .who = lane.who(),
                  .at = at});
    for (uint32_t column = begin; column < end; ++column) {
        if (!cta.tensor.written[column]) {
            machine.fail(lane.who(), at, "reads column " + std::to_string(column) + ", which no product has written");
        }
        if (cta.tensor.settled[column] > lane.after_sync) {
            machine.fail(lane.who(), at,
                         "reads " + columns_text(begin, end) +
                             " without tcgen05.fence::after_thread_sync since their product was waited for");
        }
    }
    PendingTensorLoad load{.registers = values, .values = std::vector<uint32_t>(columns), .at = at};
    for (uint32_t i = 0; i < columns; ++i) {
        load.values[i] = std::bit_cast<uint32_t>(cta.tensor.cell(first_lane + lane.lane(), begin + i));
        values[i] = kPoison;
    }
    lane.tensor_loads.push_back(std::move(load));
    gather_warp(lane, at, address,
                [&] { cta.tensor.reads.push_back({.begin = begin, .end = end, .warp = lane.warp(), .at = at}); });
}

void tensor_wait_load(const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    gather_warp(lane, at, 0, [&] {
        for (TensorRead& read : lane.cta->tensor.reads) {
            if (read.warp == lane.warp()) read.waited = true;
        }
    });
    for (const PendingTensorLoad& load : lane.tensor_loads) {
        std::copy(load.values.begin(), load.values.end(), load.registers);
    }
    lane.tensor_loads.clear();
}

void tcgen05_fence(bool before, const Instruction&) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    machine.step();
    if (!before) {
        lane.after_sync = machine.time();
        return;
    }
    for (TensorRead& read : lane.cta->tensor.reads) {
        const uint32_t bit = 1u << lane.lane();
        // The first fence after the load counts; fences of later tiles add nothing.
        if (read.warp != lane.warp() || (read.fenced_lanes & bit) != 0) continue;
        read.fenced_lanes |= bit;
        read.fence_time = machine.time();
    }
}

}  // namespace kinetograph::host_model
