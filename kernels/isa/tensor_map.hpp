#pragma once

#include <array>
#include <cstdint>
#include <kinetograph/kernels/isa/element.hpp>
#include <kinetograph/kernels/isa/swizzle.hpp>
#include <optional>
#include <string>

/// The host's description of a tensor map, from which both the arguments of cuTensorMapEncodeTiled /
/// cuTensorMapEncodeIm2col and the host model's map are made. Source: CUDA driver API, Tensor Map Object Management.
namespace kinetograph::isa {

/// The kernel's form: 128 bytes, `const __grid_constant__ TensorMap` on the device.
struct alignas(64) TensorMap {
    uint64_t words[16];
};

enum class MapMode : uint8_t { Tiled, Im2col };

/// Axes are innermost first: {c, w, h, n} or {c, w, h, d, n}. Entries beyond `rank` are not read.
struct TensorMapDesc {
    MapMode mode = MapMode::Tiled;
    Element element = Element::BF16;  ///< U16, F16, BF16, F32, or any of one byte
    Swizzle swizzle = Swizzle::None;
    /// Without a swizzle: how the tensor's bytes in memory are swizzled already; nullopt where that is not known. The
    /// driver does not need it; the host model checks it against the descriptors of the products.
    std::optional<Swizzle> stored_swizzle = Swizzle::None;
    uint32_t rank = 0;                                      ///< tiled 1..5, im2col 3..5
    void* address = nullptr;                                ///< 16-byte aligned
    std::array<uint64_t, 5> size{};                         ///< elements, 1..2^32
    std::array<uint64_t, 4> stride_bytes{};                 ///< of axes 1..rank-1: multiples of 16 below 2^40
    std::array<uint32_t, 5> element_stride{1, 1, 1, 1, 1};  ///< 1..8; im2col: the convolution's stride on w, h, d
    std::array<uint32_t, 5> box{};                          ///< tiled: 1..256 elements an axis
    std::array<int32_t, 3> lower_corner{};  ///< im2col, in w, h, d order (cuda.h's comment has it reversed)
    std::array<int32_t, 3> upper_corner{};  ///< im2col, measured from the last element
    uint32_t channels_per_pixel = 0;        ///< im2col, at most 256
    uint32_t pixels_per_column = 0;         ///< im2col, at most 1024
};

/// Dense tiled map of a tensor whose innermost axis is packed; strides follow from sizes.
TensorMapDesc dense_map(MapMode mode, Element element, void* address, uint32_t rank,
                        const std::array<uint64_t, 5>& size);

/// The first limit of the encode calls that `desc` breaks, as a sentence; none if they would accept it.
std::optional<std::string> broken_limit(const TensorMapDesc& desc);

/// Bytes from the tensor's first element to the end of its last.
uint64_t spanned_bytes(const TensorMapDesc& desc);

/// Bytes that one load or store of this map moves, and that an mbarrier must expect: always the full box.
uint32_t box_bytes(const TensorMapDesc& desc);

/// Bytes from one row (pixel) of the box to the next in shared memory.
uint32_t box_row_bytes(const TensorMapDesc& desc);

/// Arguments of the driver's encode calls; enumerators as numbers, so that cuda.h is not needed.
struct EncodeArguments {
    uint32_t data_type;  ///< CUtensorMapDataType
    uint32_t rank;
    void* address;
    std::array<uint64_t, 5> size;
    std::array<uint64_t, 4> stride_bytes;
    std::array<uint32_t, 5> box;
    std::array<int32_t, 3> lower_corner;
    std::array<int32_t, 3> upper_corner;
    uint32_t channels_per_pixel;
    uint32_t pixels_per_column;
    std::array<uint32_t, 5> element_stride;
    uint32_t interleave;    ///< CUtensorMapInterleave: none
    uint32_t swizzle;       ///< CUtensorMapSwizzle
    uint32_t l2_promotion;  ///< CUtensorMapL2promotion: 256 bytes
    uint32_t oob_fill;      ///< CUtensorMapFloatOOBfill: zeros
};
EncodeArguments encode_arguments(const TensorMapDesc& desc);

}  // namespace kinetograph::isa
