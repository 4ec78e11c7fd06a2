#include <array>
#include <bit>
#include <cstring>
#include <kinetograph/kernels/host_model/machine.hpp>
#include <kinetograph/kernels/isa/convert.hpp>

namespace kinetograph::host_model {
namespace {

using Slots = std::vector<void*>;

struct MatrixLoad {
    uint32_t* words;
    uint32_t row;
};

/// Rows that one phase of ldmatrix reads in the same bank: all 8 of a matrix come from different 16-byte columns of the
/// 128 bytes of banks, or it takes longer.
uint32_t conflicts(const std::array<uint32_t, 8>& offsets) {
    uint32_t columns = 0;
    for (const uint32_t offset : offsets) columns |= 1u << (offset / 16 % 8);
    return 8 - static_cast<uint32_t>(std::popcount(columns));
}

/// Executed by the last lane to come.
void load_matrix(Lane& lane, const Slots& slots, uint32_t matrix, bool transposed, const Instruction& at) {
    Cta& cta = *lane.cta;
    uint16_t elements[8][8];
    std::array<uint32_t, 8> offsets{};
    for (uint32_t row = 0; row < 8; ++row) {
        const uint32_t address = static_cast<const MatrixLoad*>(slots[matrix * 8 + row])->row;
        const ClusterPlace place = cluster_place(lane, address, 16, at);
        if (place.cta != &cta || place.offset % 16 != 0) {
            cta.machine.fail(lane.who(), at,
                             "lane " + std::to_string(matrix * 8 + row) + " gives shared+" +
                                 std::to_string(place.offset) + ", which is not 16-byte aligned or another CTA's");
        }
        cta.order.read(lane, place.offset, place.offset + 16, at, true);
        if (!cta.order.written(place.offset, place.offset + 16)) {
            cta.machine.fail(lane.who(), at,
                             "reads shared+" + std::to_string(place.offset) +
                                 ", which neither cp.async nor store_shared has written");
        }
        std::memcpy(elements[row], cta.memory + place.offset, 16);
        offsets[row] = place.offset;
    }
    cta.machine.count_bank_conflicts(conflicts(offsets));
    for (uint32_t l = 0; l < 32; ++l) {
        const uint32_t i = l / 4, j = l % 4 * 2;
        const uint32_t low = transposed ? elements[j][i] : elements[i][j];
        const uint32_t high = transposed ? elements[j + 1][i] : elements[i][j + 1];
        static_cast<const MatrixLoad*>(slots[l])->words[matrix] = low | high << 16;
    }
}

struct Product {
    float* d;
    const uint32_t* a;
    const uint32_t* b;
};

float value_of(uint32_t word, uint32_t half, bool bfloat16) {
    const uint32_t bits = half == 0 ? word & 0xffffu : word >> 16;
    return bfloat16 ? isa::float_of(bits << 16) : isa::from_float16(bits);
}

/// D[16][8] += A[16][16] * B[8][16]^T, the 16 products of an element one after the other in fp32.
void multiply_fragments(const Slots& slots, bool bfloat16) {
    float a[16][16], b[16][8], d[16][8];
    for (uint32_t l = 0; l < 32; ++l) {
        const auto& mine = *static_cast<const Product*>(slots[l]);
        const uint32_t g = l / 4, t = l % 4;
        for (uint32_t i = 0; i < 4; ++i) {
            for (uint32_t half = 0; half < 2; ++half) {
                a[g + i % 2 * 8][2 * t + i / 2 * 8 + half] = value_of(mine.a[i], half, bfloat16);
            }
            d[g + i / 2 * 8][2 * t + i % 2] = mine.d[i];
        }
        for (uint32_t i = 0; i < 2; ++i) {
            for (uint32_t half = 0; half < 2; ++half) {
                b[2 * t + i * 8 + half][g] = value_of(mine.b[i], half, bfloat16);
            }
        }
    }
    for (uint32_t m = 0; m < 16; ++m) {
        for (uint32_t k = 0; k < 16; ++k) {
            for (uint32_t n = 0; n < 8; ++n) d[m][n] += a[m][k] * b[k][n];
        }
    }
    for (uint32_t l = 0; l < 32; ++l) {
        const auto& mine = *static_cast<const Product*>(slots[l]);
        for (uint32_t i = 0; i < 4; ++i) mine.d[i] = d[l / 4 + i / 2 * 8][2 * (l % 4) + i % 2];
    }
}

}  // namespace

void ldmatrix(uint32_t* words, uint32_t matrices, uint32_t row, bool transposed, const Instruction& at) {
    Lane& lane = Machine::lane();
    MatrixLoad mine{words, row};
    lane.cta->machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, 0, &mine, [&](const Slots& slots) {
        for (uint32_t matrix = 0; matrix < matrices; ++matrix) load_matrix(lane, slots, matrix, transposed, at);
    });
}

void mma_sync(float* d, const uint32_t* a, const uint32_t* b, bool bfloat16, const Instruction& at) {
    Lane& lane = Machine::lane();
    Product mine{d, a, b};
    lane.cta->machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, 0, &mine,
                             [bfloat16](const Slots& slots) { multiply_fragments(slots, bfloat16); });
}

uint32_t shuffle_xor(uint32_t value, uint32_t mask, const Instruction& at) {
    struct Exchange {
        uint32_t value, result;
    } mine{value, 0};
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    if (mask == 0 || mask >= 32) machine.fail(lane.who(), at, "mask " + std::to_string(mask) + " is outside 1..31");
    machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, mask, &mine, [mask](const Slots& slots) {
        for (uint32_t l = 0; l < 32; ++l) {
            static_cast<Exchange*>(slots[l])->result = static_cast<const Exchange*>(slots[l ^ mask])->value;
        }
    });
    return mine.result;
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
