#pragma once

#include <cstdint>
#include <cstring>
#include <kinetograph/kernels/isa/tensor_map.hpp>
#include <vector>

/// Index-coded tensors, and loops that compute the expected result of loading them. Independent of the model's code:
/// one formula per element, no walking.
namespace kinetograph::isa {

/// 16-bit tensor with axes innermost first; element i holds i + 1, so that zero means "outside" and all values differ.
struct CodedTensor {
    CodedTensor(uint32_t its_rank, std::array<uint64_t, 5> its_size) : rank(its_rank), size(its_size) {
        uint64_t count = 1;
        for (uint32_t axis = 0; axis < rank; ++axis) count *= size[axis];
        elements = std::vector<uint16_t>(count);
        for (uint64_t i = 0; i < count; ++i) elements[i] = static_cast<uint16_t>(i % 65521 + 1);
    }

    /// The element at the coordinates, zero outside.
    uint16_t at(const std::vector<int64_t>& place) const {
        uint64_t index = 0;
        for (uint32_t axis = rank; axis-- > 0;) {
            if (place[axis] < 0 || place[axis] >= static_cast<int64_t>(size[axis])) return 0;
            index = index * size[axis] + static_cast<uint64_t>(place[axis]);
        }
        return elements[index];
    }

    TensorMapDesc map(MapMode mode, Swizzle swizzle) {
        TensorMapDesc desc = dense_map(mode, Element::U16, elements.data(), rank, size);
        desc.swizzle = swizzle;
        return desc;
    }

    uint32_t rank;
    std::array<uint64_t, 5> size;
    std::vector<uint16_t> elements;  // operator new aligns to the 16 bytes that tensor maps ask for
};

/// The documented patterns as tables, one 128-byte line of 16-byte chunks per row: chunk `c` of line `line` is at chunk
/// pattern[line % lines][c]. PTX ISA, Tensors, swizzling modes, figures.
inline uint32_t documented_chunk(Swizzle swizzle, uint32_t line, uint32_t chunk) {
    static constexpr uint32_t k128[8][8] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
        {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
    static constexpr uint32_t k64[4][8] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4}};
    static constexpr uint32_t k32[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}};
    switch (swizzle) {
        case Swizzle::Span128:
            return k128[line % 8][chunk];
        case Swizzle::Span64:
            return k64[line % 4][chunk];
        case Swizzle::Span32:
            return k32[line % 2][chunk];
        default:
            return chunk;
    }
}

/// For a tile that starts on a pattern boundary: the offset at which the documented tables put row-major byte `byte`.
inline uint32_t documented_place(Swizzle swizzle, uint32_t byte) {
    return byte / 128 * 128 + documented_chunk(swizzle, byte / 128, byte / 16 % 8) * 16 + byte % 16;
}

/// Element `index`, in box order, of a tile of 16-bit elements that starts on a pattern boundary.
inline uint16_t element_of(const uint8_t* tile, Swizzle swizzle, uint32_t index) {
    uint16_t value = 0;
    std::memcpy(&value, tile + documented_place(swizzle, index * 2), sizeof(value));
    return value;
}

}  // namespace kinetograph::isa
