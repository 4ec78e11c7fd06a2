#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/host_model/matrix_operand.hpp>
#include <kinetograph/kernels/host_model/wgmma_products.hpp>

/// Accumulators hold poison from the issue of a product until the wait for its group. Their values are then in a
/// WgmmaTile, on which the products of a chain work in order.
namespace kinetograph::host_model {
namespace {

constexpr uint32_t kThreads = 128, kRows = 64;
constexpr uint32_t kPoison = 0x7fffdeadu;  // a NaN

/// PTX ISA, wgmma, D fragment: row and column of register i of thread t.
struct Cell {
    uint32_t row, column;
};
Cell accumulator_cell(uint32_t thread, uint32_t i) {
    const uint32_t lane = thread % 32;
    return {16 * (thread / 32) + lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2};
}

WarpgroupProducts& products_of(Lane& lane, const Instruction& at) {
    const uint32_t warpgroup = lane.thread / kThreads;
    if (warpgroup >= lane.cta->warpgroups.size()) {
        lane.cta->machine.fail(lane.who(), at, "the CTA has no complete warpgroup of 4 warps here");
    }
    return *lane.cta->products[warpgroup];
}

void gather_warpgroup(Lane& lane, const Instruction& at, uint64_t operand, void* mine,
                      const std::function<void(const std::vector<void*>&)>& act) {
    Machine& machine = lane.cta->machine;
    machine.gather(lane.cta->warpgroups[lane.thread / kThreads], lane.thread % kThreads, "warpgroup", at, operand, mine,
                   act);
}

/// `act` on every accumulator's register and its value.
template <class Act>
void for_each_accumulator(WgmmaTile& tile, const Act& act) {
    std::visit(
        [&](auto& values) {
            for (uint32_t thread = 0; thread < kThreads; ++thread) {
                for (uint32_t i = 0; i < tile.n / 2; ++i) {
                    const Cell cell = accumulator_cell(thread, i);
                    act(tile.registers[thread] + i * sizeof(values[0]), values[cell.row * tile.n + cell.column]);
                }
            }
        },
        tile.values);
}

/// How the elements of A and B are read.
std::pair<Format, Format> formats_of(Element element) {
    if (element == Element::U8) return {Format::U8, Format::I8};
    const Format format = element == Element::BF16 ? Format::BFloat16 : Format::Float16;
    return {format, format};
}

/// The tile in flight with these registers, or a new one that takes over the registers' values.
std::shared_ptr<WgmmaTile> tile_of(WarpgroupProducts& products, const std::vector<void*>& slots,
                                   const Instruction& at) {
    const auto& first = *static_cast<const WgmmaOperands*>(slots[0]);
    for (const auto& tile : products.tiles) {
        if (tile->registers[0] != static_cast<std::byte*>(first.accumulators)) continue;
        if (tile->n == first.n) return tile;
        Lane& lane = Machine::lane();
        lane.cta->machine.fail(lane.who(), at,
                               "uses accumulators of " + describe(tile->at) + ", in flight with another N");
    }
    auto tile = std::make_shared<WgmmaTile>();
    tile->n = first.n;
    tile->at = at;
    if (first.element == Element::U8) tile->values.emplace<std::vector<int32_t>>();
    for (uint32_t thread = 0; thread < kThreads; ++thread)
        tile->registers[thread] =
            static_cast<std::byte*>(static_cast<const WgmmaOperands*>(slots[thread])->accumulators);
    std::visit([&](auto& values) { values.resize(static_cast<size_t>(kRows) * first.n); }, tile->values);
    for_each_accumulator(*tile, [](std::byte* accumulator, auto& value) {
        std::memcpy(&value, accumulator, sizeof(value));
        std::memcpy(accumulator, &kPoison, sizeof(kPoison));
    });
    products.tiles.push_back(tile);
    return tile;
}

/// A from registers, [k][64]: word j of thread t holds row 16w + l/4 + 8*(j%2), k = 2*(l%4) + 8*(j/2) + {0, 1}.
std::vector<float> fragment_values(const std::vector<void*>& slots, Format format) {
    std::vector<float> values(16 * kRows);
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
        const auto& operands = *static_cast<const WgmmaOperands*>(slots[thread]);
        const uint32_t lane = thread % 32;
        for (uint32_t j = 0; j < 4; ++j) {
            const uint32_t row = 16 * (thread / 32) + lane / 4 + 8 * (j % 2), k = 2 * (lane % 4) + 8 * (j / 2);
            values[k * kRows + row] = to_float(format, operands.a_registers[j] & 0xffffu);
            values[(k + 1) * kRows + row] = to_float(format, operands.a_registers[j] >> 16);
        }
    }
    return values;
}

/// Executed by the last thread of the warpgroup to arrive.
void issue(Lane& lane, const std::vector<void*>& slots, const Instruction& at) {
    Cta& cta = *lane.cta;
    WarpgroupProducts& products = products_of(lane, at);
    const auto& operands = *static_cast<const WgmmaOperands*>(slots[0]);
    const auto [a_format, b_format] = formats_of(operands.element);
    const uint32_t n = operands.n;
    if (!products.open) products.open = std::make_shared<WgmmaGroup>();
    const auto group = products.open;
    const auto tile = tile_of(products, slots, at);
    group->tiles.push_back(tile);
    ++tile->open;
    ++group->unfinished;

    std::optional<MatrixOperand> a;
    std::vector<AccessPtr> reads;
    if (operands.a_registers == nullptr) {
        a = operand_or_fault(decode_wgmma(operands.a), "A", lane.who(), at);
        reads = track_operand(cta, *a, kRows, lane.who(), at, nullptr);
    }
    MatrixOperand b = operand_or_fault(decode_wgmma(operands.b), "B", lane.who(), at);
    b.major = operands.b_mn_major ? isa::Major::MN : isa::Major::K;
    for (auto& read : track_operand(cta, b, n, lane.who(), at, nullptr)) reads.push_back(std::move(read));
    group->reads.insert(group->reads.end(), reads.begin(), reads.end());

    std::vector<float> fragment;
    if (!a) fragment = fragment_values(slots, a_format);
    const bool accumulate = operands.accumulate;
    products.last_operation = cta.machine.begin(
        lane.who(), at,
        [&cta, &products, a, b, n, a_format = a_format, b_format = b_format, accumulate, tile, group, reads,
         fragment = std::move(fragment)] {
            std::visit(
                [&](auto& values) {
                    multiply(values.data(), n, a ? read_operand(cta, *a, kRows, a_format) : fragment,
                             read_operand(cta, b, n, b_format), kRows, n, accumulate);
                },
                tile->values);
            for (const auto& read : reads) read->landed = true;
            --tile->open;
            --group->unfinished;
            cta.machine.wake(products.queue);
        },
        products.last_operation);
}

/// Returns the values to the registers of tiles that no group uses any more.
void deliver(WarpgroupProducts& products) {
    std::erase_if(products.tiles, [&products](const auto& tile) {
        const auto uses = [&tile](const auto& group) {
            return group && std::find(group->tiles.begin(), group->tiles.end(), tile) != group->tiles.end();
        };
        if (uses(products.open) || std::any_of(products.groups.begin(), products.groups.end(), uses)) return false;
        for_each_accumulator(
            *tile, [](std::byte* accumulator, const auto& value) { std::memcpy(accumulator, &value, sizeof(value)); });
        return true;
    });
}

}  // namespace

void wgmma_fence(const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    products_of(lane, at);
    lane.wgmma_fenced = true;
}

void wgmma_mma(const WgmmaOperands& operands, const Instruction& at) {
    Lane& lane = Machine::lane();
    WarpgroupProducts& products = products_of(lane, at);
    const uint32_t place = lane.thread % kThreads;
    const bool in_flight = std::any_of(products.tiles.begin(), products.tiles.end(), [&](const auto& tile) {
        return tile->registers[place] == static_cast<std::byte*>(operands.accumulators);
    });
    if (!in_flight && !lane.wgmma_fenced) {
        lane.cta->machine.fail(lane.who(), at,
                               "uses accumulator registers without a wgmma.fence since they were last the thread's");
    }
    WgmmaOperands mine = operands;
    const uint64_t same = operands.a * 0x9e3779b97f4a7c15ull ^ operands.b * 31 ^ (operands.accumulate ? 1 : 0);
    gather_warpgroup(lane, at, same, &mine, [&](const auto& slots) { issue(lane, slots, at); });
}

void wgmma_commit(const Instruction& at) {
    Lane& lane = Machine::lane();
    WarpgroupProducts& products = products_of(lane, at);
    gather_warpgroup(lane, at, 0, nullptr, [&](const auto&) {
        products.groups.push_back(products.open ? products.open : std::make_shared<WgmmaGroup>());
        products.open = nullptr;
    });
}

void wgmma_wait(uint32_t pending, const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    WarpgroupProducts& products = products_of(lane, at);
    if (products.open) {
        machine.fail(lane.who(), at,
                     "waits while " + describe(products.open->tiles.back()->at) + " is in no committed group");
    }
    const size_t waited = products.groups.size() > pending ? products.groups.size() - pending : 0;
    for (size_t i = 0; i < waited; ++i) {
        const auto group = products.groups[i];
        while (group->unfinished != 0) {
            machine.wait(products.queue, at, [] { return std::string("matrix products have not finished"); });
        }
    }
    // The values appear in the registers only when the whole warpgroup has waited, so that no thread reads them by
    // chance.
    gather_warpgroup(lane, at, pending, nullptr, [&](const auto&) {
        for (size_t i = 0; i < waited; ++i) {
            for (const auto& read : products.groups.front()->reads) settle(read);
            products.groups.pop_front();
        }
        deliver(products);
    });
    lane.wgmma_fenced = false;
}

void wgmma_take(const void* accumulators, uint32_t count, const Instruction& at) {
    Lane& lane = Machine::lane();
    WarpgroupProducts& products = products_of(lane, at);
    const auto* taken = static_cast<const std::byte*>(accumulators);
    for (const auto& tile : products.tiles) {
        const std::byte* begin = tile->registers[lane.thread % kThreads];
        if (taken < begin + tile->n / 2 * sizeof(float) && begin < taken + count * sizeof(float)) {
            lane.cta->machine.fail(
                lane.who(), at,
                "reads accumulators of " + describe(tile->at) + " before wgmma.wait_group has waited for their group");
        }
    }
}

}  // namespace kinetograph::host_model
