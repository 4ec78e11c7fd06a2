#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/descriptors.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/shared_memory.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <vector>

#include "tensor_fixture.hpp"

/// Small integers in matrix formats: products and their sums are exact in fp32, so results are compared by ==.
namespace kinetograph::isa {

/// Row-major [rows][columns] of integers in -4..4, all different from their neighbours.
struct Matrix {
    Matrix(uint32_t its_rows, uint32_t its_columns, int salt)
        : rows(its_rows), columns(its_columns), values(rows * columns) {
        for (uint32_t i = 0; i < rows * columns; ++i) {
            values[i] = static_cast<int>((i * 2654435761u + static_cast<uint32_t>(salt) * 40503u) >> 16) % 9 - 4;
        }
    }
    int at(uint32_t row, uint32_t column) const { return values[row * columns + column]; }

    uint32_t rows, columns;
    std::vector<int> values;
};

/// Row `m` of a times row `n` of b, over columns [begin, end).
inline int dot(const Matrix& a, uint32_t m, const Matrix& b, uint32_t n, uint32_t begin, uint32_t end) {
    int sum = 0;
    for (uint32_t k = begin; k < end; ++k) sum += a.at(m, k) * b.at(n, k);
    return sum;
}

/// Encodings of -4..4, written out rather than computed: sign, exponent and mantissa of each format.
inline uint32_t encode(Element element, int value) {
    static constexpr uint32_t kHalf[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400},
                              kBFloat[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080};
    static constexpr uint32_t kE4M3[] = {0, 0x38, 0x40, 0x44, 0x48}, kE5M2[] = {0, 0x3c, 0x40, 0x42, 0x44};
    const uint32_t size = static_cast<uint32_t>(value < 0 ? -value : value);
    switch (element) {
        case Element::F16:
            return kHalf[size] | (value < 0 ? 0x8000u : 0);
        case Element::BF16:
            return kBFloat[size] | (value < 0 ? 0x8000u : 0);
        case Element::F8E4M3:
            return kE4M3[size] | (value < 0 ? 0x80u : 0);
        default:
            return kE5M2[size] | (value < 0 ? 0x80u : 0);
    }
}

/// All threads of the CTA write rows [first, first + rows) of the matrix as a K-major tile; row r starts `r * span`
/// after `tile`, and a pitch other than 8 rows leaves gaps between groups of 8 rows. `tile` starts on a pattern
/// boundary.
inline void write_tile(uint8_t* tile, const Matrix& matrix, uint32_t first, uint32_t rows, Element element,
                       Swizzle swizzle, uint32_t group_stride, uint32_t threads) {
    const uint32_t size = element_bytes(element), span = span_bytes(swizzle);
    for (uint32_t i = thread_index(); i < rows * matrix.columns; i += threads) {
        const uint32_t row = i / matrix.columns, byte = i % matrix.columns * size;
        const uint32_t bits = encode(element, matrix.at(first + row, i % matrix.columns));
        // Without swizzle: 8x16-byte core matrices, the columns of a group of 8 rows one after the other.
        const uint32_t place = swizzle == Swizzle::None
                                   ? row / 8 * group_stride + byte / 16 * 128 + row % 8 * 16 + byte % 16
                                   : documented_place(swizzle, row / 8 * group_stride + row % 8 * span + byte);
        if (size == 2) {
            store_shared(reinterpret_cast<uint16_t*>(tile + place), static_cast<uint16_t>(bits));
        } else {
            store_shared(tile + place, static_cast<uint8_t>(bits));
        }
    }
}

}  // namespace kinetograph::isa
