#pragma once

#include <cstdint>
#include <kinetograph/kernels/isa/tensor_map.hpp>
#include <optional>
#include <string>
#include <vector>

/// Which tensor elements the box of a tensor map covers; independent of the modelled machine. PTX ISA, Tensors: tiled
/// mode, im2col mode; details of im2col as measured on an H200.
namespace kinetograph::host_model {

/// Coordinates innermost first; `tap` null for a tiled map.
struct BoxPlace {
    const int32_t* coordinates;
    const uint16_t* tap;
};

/// Why the hardware would raise "illegal instruction": an im2col base outside the bounding box in w, h or d, or an
/// offset too large for its field.
std::optional<std::string> illegal_place(const isa::TensorMapDesc& desc, const BoxPlace& place);

/// The box's bytes in row order, unswizzled; zeros outside the tensor.
std::vector<uint8_t> gather_box(const isa::TensorMapDesc& desc, const BoxPlace& place);

/// Writes a tiled box back; elements outside the tensor are dropped.
void scatter_box(const isa::TensorMapDesc& desc, const BoxPlace& place, const std::vector<uint8_t>& bytes);

}  // namespace kinetograph::host_model
