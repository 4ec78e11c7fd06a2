#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <kinetograph/kernels/host_model/machine.hpp>
#include <memory>
#include <variant>
#include <vector>

namespace kinetograph::host_model {

/// One accumulator tile of a warpgroup in flight: D is values[64][n], of float or int32_t, thread t's accumulators are
/// at registers[t].
struct WgmmaTile {
    std::array<std::byte*, 128> registers{};
    uint32_t n = 0;
    std::variant<std::vector<float>, std::vector<int32_t>> values;
    uint32_t open = 0;  ///< products that still work on it
    Instruction at;
};

struct WgmmaGroup {
    std::vector<std::shared_ptr<WgmmaTile>> tiles;
    std::vector<AccessPtr> reads;
    uint32_t unfinished = 0;
};

/// A warpgroup's products in flight: groups in the order of their commits.
struct WarpgroupProducts {
    std::deque<std::shared_ptr<WgmmaGroup>> groups;
    std::shared_ptr<WgmmaGroup> open;
    std::vector<std::shared_ptr<WgmmaTile>> tiles;
    uint64_t last_operation = 0;
    WaitQueue queue;
};

}  // namespace kinetograph::host_model
