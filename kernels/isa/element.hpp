#pragma once

#include <cstdint>
#include <kinetograph/kernels/isa/host_device.hpp>

/// The element types of files, tensors, matrix operands, tensor maps and kernel parameters, in one enumeration.
namespace kinetograph {

/// The types that convolutions compute with come first.
enum class Element : std::uint8_t { F32, F16, BF16, F8E4M3, F8E5M2, F64, I64, I32, I16, I8, U64, U32, U16, U8, Bool };

KG_HOST_DEVICE std::uint32_t element_bytes(Element element) {
    switch (element) {
        case Element::F64:
        case Element::I64:
        case Element::U64:
            return 8;
        case Element::F32:
        case Element::I32:
        case Element::U32:
            return 4;
        case Element::F16:
        case Element::BF16:
        case Element::I16:
        case Element::U16:
            return 2;
        default:
            return 1;
    }
}

KG_HOST_DEVICE bool is_fp8(Element element) { return element == Element::F8E4M3 || element == Element::F8E5M2; }

/// The spelling in kernels' names and printed problems; "" for types that no convolution computes with.
constexpr const char* element_name(Element element) {
    switch (element) {
        case Element::F32:
            return "f32";
        case Element::F16:
            return "f16";
        case Element::BF16:
            return "bf16";
        case Element::F8E4M3:
            return "f8_e4m3";
        case Element::F8E5M2:
            return "f8_e5m2";
        default:
            return "";
    }
}

}  // namespace kinetograph
