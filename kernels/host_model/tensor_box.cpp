#include <array>
#include <cstring>
#include <kinetograph/kernels/host_model/tensor_box.hpp>

namespace kinetograph::host_model {
namespace {

using isa::MapMode;
using isa::TensorMapDesc;
using Position = std::array<int64_t, 5>;

bool inside(const TensorMapDesc& desc, const Position& at, uint32_t first_axis) {
    for (uint32_t axis = first_axis; axis < desc.rank; ++axis) {
        if (at[axis] < 0 || at[axis] >= static_cast<int64_t>(desc.size[axis])) return false;
    }
    return true;
}

uint8_t* element(const TensorMapDesc& desc, const Position& at) {
    int64_t offset = at[0] * element_bytes(desc.element);
    for (uint32_t axis = 1; axis < desc.rank; ++axis)
        offset += at[axis] * static_cast<int64_t>(desc.stride_bytes[axis - 1]);
    return static_cast<uint8_t*>(desc.address) + offset;
}

/// Calls `visit(start of a packed row, bytes inside the tensor before it, bytes inside)` for each row of the box in
/// order. A row is `row_elements` along axis 0; where all of it lies outside, `inside` is 0.
template <class Visit>
void visit_row(const TensorMapDesc& desc, Position at, uint32_t row_elements, const Visit& visit) {
    const uint32_t size = element_bytes(desc.element);
    const int64_t begin = std::max<int64_t>(0, -at[0]);
    const int64_t end = std::min<int64_t>(row_elements, static_cast<int64_t>(desc.size[0]) - at[0]);
    if (end <= begin || !inside(desc, at, 1)) return visit(nullptr, 0, 0);
    at[0] += begin;
    visit(element(desc, at), static_cast<size_t>(begin) * size, static_cast<size_t>(end - begin) * size);
}

template <class Visit>
void visit_tiled(const TensorMapDesc& desc, const int32_t* coordinates, const Visit& visit) {
    std::array<uint32_t, 5> step{};
    for (;;) {
        Position at{};
        for (uint32_t axis = 0; axis < desc.rank; ++axis) at[axis] = int64_t{coordinates[axis]} + step[axis];
        visit_row(desc, at, desc.box[0], visit);
        uint32_t axis = 1;
        for (; axis < desc.rank; ++axis) {
            step[axis] += desc.element_stride[axis];
            if (step[axis] < desc.box[axis]) break;
            step[axis] = 0;
        }
        if (axis >= desc.rank) return;
    }
}

int64_t highest_base(const TensorMapDesc& desc, uint32_t axis) {
    return static_cast<int64_t>(desc.size[axis]) - 1 + desc.upper_corner[axis - 1];
}

/// Walks the bounding box from the base: w by its stride, then h at the end of a row, then d, then n.
template <class Visit>
void visit_im2col(const TensorMapDesc& desc, const BoxPlace& place, const Visit& visit) {
    const uint32_t last = desc.rank - 1;
    Position base{};
    for (uint32_t axis = 0; axis < desc.rank; ++axis) base[axis] = place.coordinates[axis];
    for (uint32_t pixel = 0; pixel < desc.pixels_per_column; ++pixel) {
        Position at = base;
        for (uint32_t axis = 1; axis < last; ++axis) at[axis] += place.tap[axis - 1];
        visit_row(desc, at, desc.channels_per_pixel, visit);
        uint32_t axis = 1;
        for (; axis < last; ++axis) {
            base[axis] += desc.element_stride[axis];
            if (base[axis] <= highest_base(desc, axis)) break;
            base[axis] = desc.lower_corner[axis - 1];
        }
        if (axis == last) ++base[last];
    }
}

template <class Visit>
void visit_box(const TensorMapDesc& desc, const BoxPlace& place, const Visit& visit) {
    if (desc.mode == MapMode::Im2col) {
        visit_im2col(desc, place, visit);
    } else {
        visit_tiled(desc, place.coordinates, visit);
    }
}

}  // namespace

std::optional<std::string> illegal_place(const TensorMapDesc& desc, const BoxPlace& place) {
    if (desc.mode != MapMode::Im2col) return std::nullopt;
    constexpr const char* kAxes[] = {"c", "w", "h", "d"};
    const uint32_t widest = desc.rank == 3 ? 65535 : desc.rank == 4 ? 255 : 31;
    for (uint32_t axis = 1; axis < std::size(kAxes) && axis + 1 < desc.rank; ++axis) {
        const int64_t base = place.coordinates[axis];
        const int64_t low = desc.lower_corner[axis - 1];
        const int64_t high = highest_base(desc, axis);
        if (base < low || base > high) {
            return "base coordinate " + std::string(kAxes[axis]) + " = " + std::to_string(base) +
                   " lies outside the bounding box [" + std::to_string(low) + ", " + std::to_string(high) +
                   "]: illegal instruction on the chip";
        }
        if (place.tap[axis - 1] > widest) {
            return "im2col offset " + std::string(kAxes[axis]) + " = " + std::to_string(place.tap[axis - 1]) +
                   " exceeds " + std::to_string(widest) + ", the range of rank " + std::to_string(desc.rank);
        }
    }
    return std::nullopt;
}

std::vector<uint8_t> gather_box(const TensorMapDesc& desc, const BoxPlace& place) {
    std::vector<uint8_t> bytes(isa::box_bytes(desc), 0);
    uint8_t* row = bytes.data();
    visit_box(desc, place, [&](const uint8_t* source, size_t before, size_t count) {
        if (count != 0) std::memcpy(row + before, source, count);
        row += isa::box_row_bytes(desc);
    });
    return bytes;
}

void scatter_box(const TensorMapDesc& desc, const BoxPlace& place, const std::vector<uint8_t>& bytes) {
    const uint8_t* row = bytes.data();
    visit_box(desc, place, [&](uint8_t* destination, size_t before, size_t count) {
        if (count != 0) std::memcpy(destination, row + before, count);
        row += isa::box_row_bytes(desc);
    });
}

}  // namespace kinetograph::host_model
