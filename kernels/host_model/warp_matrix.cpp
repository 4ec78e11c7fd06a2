#include <array>
#include <bit>
#include <cstring>
#include <kinetograph/kernels/host_model/machine.hpp>
#include <kinetograph/kernels/isa/convert.hpp>

namespace kinetograph::host_model {
namespace {

using Slots = std::vector<void*>;

/// Bank conflicts of one phase of ldmatrix: the rows of a matrix beyond the first in each 16-byte column of the 128
/// bytes that all banks hold. Without conflicts the 8 rows lie in 8 different columns.
uint32_t conflicts(const std::array<uint32_t, 8>& offsets) {
    uint32_t columns = 0;
    for (const uint32_t offset : offsets) columns |= 1u << (offset / 16 % 8);
    return 8 - static_cast<uint32_t>(std::popcount(columns));
}

uint32_t row_of(const void* slot, uint32_t load) {
    const auto& loads = *static_cast<const MatrixLoads*>(slot);
    return loads.row + load * loads.stride;
}

/// Matrix `matrix` of load `load`. Executed by the last lane to arrive.
void load_matrix(Lane& lane, const Slots& slots, uint32_t load, uint32_t matrix, const Instruction& at) {
    Cta& cta = *lane.cta;
    uint16_t elements[8][8];
    std::array<uint32_t, 8> offsets{};
    for (uint32_t row = 0; row < 8; ++row) {
        const uint32_t address = row_of(slots[matrix * 8 + row], load);
        const ClusterPlace place = cluster_place(lane, address, 16, at);
        if (place.cta != &cta || place.offset % 16 != 0) {
            cta.machine.fail(lane.who(), at,
                             "lane " + std::to_string(matrix * 8 + row) + " gives shared+" +
                                 std::to_string(place.offset) + ", which is not 16-byte aligned or another CTA's");
        }
        check_access({.cta = &cta, .begin = place.offset, .end = place.offset + 16, .who = lane.who(), .at = at});
        cta.order.read(lane, place.offset, place.offset + 16, at, true);
        if (!cta.order.written(place.offset, place.offset + 16) && cta.layout[place.offset / 16] == kNeverWritten) {
            cta.machine.fail(lane.who(), at,
                             "reads shared+" + std::to_string(place.offset) +
                                 ", which neither cp.async, TMA nor store_shared has written");
        }
        std::memcpy(elements[row], cta.memory + place.offset, 16);
        offsets[row] = place.offset;
    }
    cta.machine.count_bank_conflicts(conflicts(offsets));
    for (uint32_t l = 0; l < 32; ++l) {
        const uint32_t i = l / 4, j = l % 4 * 2;
        const auto& mine = *static_cast<const MatrixLoads*>(slots[l]);
        const uint32_t low = mine.transposed ? elements[j][i] : elements[i][j];
        const uint32_t high = mine.transposed ? elements[j + 1][i] : elements[i][j + 1];
        mine.words[load * mine.matrices + matrix] = low | high << 16;
    }
}

/// Each lane gets the value that lane `source(lane)` passes. `operand` is the instruction's, the same in all lanes.
template <class Source>
uint32_t exchange(uint32_t value, uint32_t operand, const Instruction& at, const Source& source) {
    struct Exchange {
        uint32_t value, result;
    } mine{value, 0};
    Lane& lane = Machine::lane();
    lane.cta->machine.gather(
        lane.cta->warps[lane.warp()], lane.lane(), "warp", at, operand, &mine, [source](const Slots& slots) {
            for (uint32_t l = 0; l < 32; ++l)
                static_cast<Exchange*>(slots[l])->result = static_cast<const Exchange*>(slots[source(l)])->value;
        });
    return mine.result;
}

float value_of(uint32_t word, uint32_t half, bool bfloat16) {
    const uint32_t bits = half == 0 ? word & 0xffffu : word >> 16;
    return bfloat16 ? isa::float_of(bits << 16) : isa::from_float16(bits);
}

/// The largest fragment counts of one instruction sequence: a tile of 128 rows and 128 columns.
constexpr uint32_t kMostRows = 8, kMostColumns = 16;

/// D[16 m][8 n] += A[16 m][16] * B[8 n][16]^T; the 16 products of an element are added in order in fp32.
class WarpProducts {
  public:
    explicit WarpProducts(const Slots& slots) : slots_(slots) {
        for (uint32_t l = 0; l < 32; ++l) {
            read_a(l);
            read_b(l);
        }
    }
    void run() {
        for (uint32_t i = 0; i < of(0).m; ++i) {
            for (uint32_t j = 0; j < of(0).n; ++j) multiply(i, j);
        }
    }

  private:
    const FragmentProducts& of(uint32_t lane) const { return *static_cast<const FragmentProducts*>(slots_[lane]); }

    void read_a(uint32_t l) {
        const FragmentProducts& mine = of(l);
        for (uint32_t i = 0; i < mine.m * 4; ++i) {
            for (uint32_t half = 0; half < 2; ++half) {
                a_[i / 4 * 16 + l / 4 + i % 2 * 8][l % 4 * 2 + i % 4 / 2 * 8 + half] =
                    value_of(mine.a[i], half, mine.bfloat16);
            }
        }
    }
    void read_b(uint32_t l) {
        const FragmentProducts& mine = of(l);
        for (uint32_t i = 0; i < mine.n * 2; ++i) {
            for (uint32_t half = 0; half < 2; ++half)
                b_[i / 2][l % 4 * 2 + i % 2 * 8 + half][l / 4] = value_of(mine.b[i], half, mine.bfloat16);
        }
    }
    void multiply(uint32_t i, uint32_t j) {
        constexpr uint32_t kTogether = 4;  // rows whose sums the compiler keeps in registers
        float d[16][8];
        const uint32_t first = (i * of(0).n + j) * 4;
        for (uint32_t l = 0; l < 32; ++l) {
            for (uint32_t k = 0; k < 4; ++k) d[l / 4 + k / 2 * 8][l % 4 * 2 + k % 2] = of(l).d[first + k];
        }
        for (uint32_t m = 0; m < 16; m += kTogether) {
            for (uint32_t k = 0; k < 16; ++k) {
                for (uint32_t row = m; row < m + kTogether; ++row) {
                    for (uint32_t n = 0; n < 8; ++n) d[row][n] += a_[i * 16 + row][k] * b_[j][k][n];
                }
            }
        }
        for (uint32_t l = 0; l < 32; ++l) {
            for (uint32_t k = 0; k < 4; ++k) of(l).d[first + k] = d[l / 4 + k / 2 * 8][l % 4 * 2 + k % 2];
        }
    }

    const Slots& slots_;
    float a_[kMostRows * 16][16];
    float b_[kMostColumns][16][8];
};

}  // namespace

void ldmatrix(const MatrixLoads& loads, const Instruction& at) {
    Lane& lane = Machine::lane();
    MatrixLoads mine = loads;
    lane.cta->machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, 0, &mine, [&](const Slots& slots) {
        for (uint32_t load = 0; load < loads.loads; ++load) {
            for (uint32_t matrix = 0; matrix < loads.matrices; ++matrix) load_matrix(lane, slots, load, matrix, at);
        }
    });
}

void stmatrix(const uint32_t* words, uint32_t row, const Instruction& at) {
    struct Mine {
        const uint32_t* words;
        uint32_t row[4];
    };
    Lane& lane = Machine::lane();
    Mine mine{words, {}};
    lane.cta->machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, 0, &mine, [](const Slots& slots) {
        for (uint32_t l = 0; l < 32; ++l) {
            for (uint32_t i = 0; i < 4; ++i)
                static_cast<Mine*>(slots[l])->row[i] = static_cast<const Mine*>(slots[l % 8 * 4 + i])->words[l / 8];
        }
    });
    void* to = shared_pointer(row, sizeof(mine.row), at);
    check_shared_store(to, sizeof(mine.row), at);
    std::memcpy(to, mine.row, sizeof(mine.row));
}

void mma_sync(const FragmentProducts& products, const Instruction& at) {
    Lane& lane = Machine::lane();
    FragmentProducts mine = products;
    if (mine.m > kMostRows || mine.n > kMostColumns)
        lane.cta->machine.fail(lane.who(), at, "more fragments at once than the model takes");
    lane.cta->machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, 0, &mine,
                             [](const Slots& slots) { WarpProducts(slots).run(); });
}

uint32_t shuffle_xor(uint32_t value, uint32_t mask, const Instruction& at) {
    if (mask == 0 || mask >= 32) {
        Lane& lane = Machine::lane();
        lane.cta->machine.fail(lane.who(), at, "mask " + std::to_string(mask) + " is outside 1..31");
    }
    return exchange(value, mask, at, [mask](uint32_t lane) { return lane ^ mask; });
}

uint32_t rotate_lanes(uint32_t value, uint32_t lanes, const Instruction& at) {
    return exchange(value, lanes, at, [lanes](uint32_t lane) { return (lane + lanes) % 32; });
}

void check_global(const void* address, uint32_t bytes, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step(32);
    if (address == nullptr || reinterpret_cast<uintptr_t>(address) % bytes != 0) {
        lane.cta->machine.fail(lane.who(), at,
                               "the address is null or not aligned to " + std::to_string(bytes) + " bytes");
    }
}

}  // namespace kinetograph::host_model
