#include <kinetograph/kernels/isa/tensor_map.hpp>

namespace kinetograph::isa {
namespace {

std::string number(int64_t value) { return std::to_string(value); }

std::optional<std::string> broken_box(const TensorMapDesc& desc) {
    for (uint32_t axis = 0; axis < desc.rank; ++axis) {
        if (desc.box[axis] < 1 || desc.box[axis] > 256) {
            return "box of axis " + number(axis) + " is " + number(desc.box[axis]) + " elements; 1..256 are allowed";
        }
    }
    return std::nullopt;
}

/// Corner ranges shrink with the rank: 16, 8 and 5 bits an axis.
std::optional<std::string> broken_column(const TensorMapDesc& desc) {
    if (desc.channels_per_pixel < 1 || desc.channels_per_pixel > 256) {
        return "channels per pixel are " + number(desc.channels_per_pixel) + "; 1..256 are allowed";
    }
    if (desc.pixels_per_column < 1 || desc.pixels_per_column > 1024) {
        return "pixels per column are " + number(desc.pixels_per_column) + "; 1..1024 are allowed";
    }
    const int32_t reach = desc.rank == 3 ? 32768 : desc.rank == 4 ? 128 : 16;
    for (uint32_t axis = 0; axis + 2 < desc.rank; ++axis) {
        for (const int32_t corner : {desc.lower_corner[axis], desc.upper_corner[axis]}) {
            if (corner < -reach || corner >= reach) {
                return "corner " + number(corner) + " of spatial axis " + number(axis) + " is outside [" +
                       number(-reach) + ", " + number(reach - 1) + "], the range of rank " + number(desc.rank);
            }
        }
        const int64_t extent =
            static_cast<int64_t>(desc.size[axis + 1]) + desc.upper_corner[axis] - desc.lower_corner[axis];
        if (extent < 1) return "the bounding box of spatial axis " + number(axis) + " is empty";
    }
    return std::nullopt;
}

std::optional<std::string> broken_tensor(const TensorMapDesc& desc) {
    const uint32_t least = desc.mode == MapMode::Im2col ? 3 : 1;
    if (desc.rank < least || desc.rank > 5) {
        return "rank is " + number(desc.rank) + "; " + number(least) + "..5 are allowed";
    }
    if (reinterpret_cast<uintptr_t>(desc.address) % 16 != 0) return "the tensor's address is not 16-byte aligned";
    for (uint32_t axis = 0; axis < desc.rank; ++axis) {
        if (desc.size[axis] < 1 || desc.size[axis] > (uint64_t{1} << 32)) {
            return "size of axis " + number(axis) + " is outside 1..2^32";
        }
        if (desc.element_stride[axis] < 1 || desc.element_stride[axis] > 8) {
            return "element stride of axis " + number(axis) + " is " + number(desc.element_stride[axis]) +
                   "; 1..8 are allowed";
        }
        if (axis > 0 && (desc.stride_bytes[axis - 1] % 16 != 0 || desc.stride_bytes[axis - 1] >= (uint64_t{1} << 40))) {
            return "stride of axis " + number(axis) + " is " +
                   number(static_cast<int64_t>(desc.stride_bytes[axis - 1])) +
                   " bytes; a multiple of 16 below 2^40 is needed";
        }
    }
    return std::nullopt;
}

/// CUtensorMapDataType. There are no fp8 maps: such elements are bytes.
uint32_t data_type(Element element) {
    switch (element) {
        case Element::U16:
            return 1;
        case Element::F16:
            return 6;
        case Element::F32:
            return 7;
        case Element::BF16:
            return 9;
        default:
            return 0;
    }
}

uint32_t stepped(uint32_t box, uint32_t stride) { return (box + stride - 1) / stride; }

}  // namespace

TensorMapDesc dense_map(MapMode mode, Element element, void* address, uint32_t rank,
                        const std::array<uint64_t, 5>& size) {
    TensorMapDesc desc;
    desc.mode = mode;
    desc.element = element;
    desc.address = address;
    desc.rank = rank;
    desc.size = size;
    uint64_t stride = element_bytes(element);
    for (uint32_t axis = 0; axis + 1 < rank; ++axis) desc.stride_bytes[axis] = stride *= size[axis];
    return desc;
}

std::optional<std::string> broken_limit(const TensorMapDesc& desc) {
    if (auto limit = broken_tensor(desc)) return limit;
    if (auto limit = desc.mode == MapMode::Im2col ? broken_column(desc) : broken_box(desc)) return limit;
    const uint32_t row = box_row_bytes(desc);
    if (row % 16 != 0) return "the box's innermost row is " + number(row) + " bytes; a multiple of 16 is needed";
    if (desc.swizzle != Swizzle::None && row > span_bytes(desc.swizzle)) {
        return "the box's innermost row of " + number(row) + " bytes exceeds the " + number(span_bytes(desc.swizzle)) +
               " bytes that the swizzle spans";
    }
    return std::nullopt;
}

uint64_t spanned_bytes(const TensorMapDesc& desc) {
    uint64_t bytes = desc.size[0] * element_bytes(desc.element);
    for (uint32_t axis = 1; axis < desc.rank; ++axis) bytes += (desc.size[axis] - 1) * desc.stride_bytes[axis - 1];
    return bytes;
}

uint32_t box_row_bytes(const TensorMapDesc& desc) {
    return (desc.mode == MapMode::Im2col ? desc.channels_per_pixel : desc.box[0]) * element_bytes(desc.element);
}

uint32_t box_bytes(const TensorMapDesc& desc) {
    uint32_t bytes = box_row_bytes(desc);
    if (desc.mode == MapMode::Im2col) return bytes * desc.pixels_per_column;
    for (uint32_t axis = 1; axis < desc.rank; ++axis) bytes *= stepped(desc.box[axis], desc.element_stride[axis]);
    return bytes;
}

EncodeArguments encode_arguments(const TensorMapDesc& desc) {
    constexpr uint32_t kPromote256 = 3;
    return {.data_type = data_type(desc.element),
            .rank = desc.rank,
            .address = desc.address,
            .size = desc.size,
            .stride_bytes = desc.stride_bytes,
            .box = desc.box,
            .lower_corner = desc.lower_corner,
            .upper_corner = desc.upper_corner,
            .channels_per_pixel = desc.channels_per_pixel,
            .pixels_per_column = desc.pixels_per_column,
            .element_stride = desc.element_stride,
            .interleave = 0,
            .swizzle = static_cast<uint32_t>(desc.swizzle),
            .l2_promotion = kPromote256,
            .oob_fill = 0};
}

}  // namespace kinetograph::isa
