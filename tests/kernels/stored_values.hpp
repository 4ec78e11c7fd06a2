// Numbers as kernels store them, for references: rounded to nearest even, one at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <kinetograph/kernels/isa/amd/small_floats.hpp>
#include <kinetograph/kernels/isa/element.hpp>

namespace kinetograph::test {

/// Of F32, U32, BF16, F16, F8E4M3 or F8E5M2; 0 for other elements.
inline double number_of(Element element, uint32_t bits) {
    switch (element) {
        case Element::F32:
            return std::bit_cast<float>(bits);
        case Element::U32:
            return bits;
        case Element::BF16:
            return isa::amd::from_bf16(bits);
        case Element::F16:
            return isa::amd::from_f16(bits);
        case Element::F8E4M3:
            return isa::amd::from_f8e4m3(bits);
        case Element::F8E5M2:
            return isa::amd::from_f8e5m2(bits);
        default:
            return 0;
    }
}
inline uint32_t bits_of(Element element, double number) {
    const auto single = static_cast<float>(number);
    switch (element) {
        case Element::F32:
            return std::bit_cast<uint32_t>(single);
        case Element::U32:
            return static_cast<uint32_t>(number);
        case Element::BF16:
            return isa::amd::to_bf16(single);
        case Element::F16:
            return isa::amd::to_f16(single);
        case Element::F8E4M3:
            return isa::amd::to_f8e4m3(single);
        case Element::F8E5M2:
            return isa::amd::to_f8e5m2(single);
        default:
            return 0;
    }
}
inline double rounded(Element element, double number) { return number_of(element, bits_of(element, number)); }

/// Element `index` of a frame of that type.
inline double load_value(Element element, const void* frame, size_t index) {
    uint32_t bits = 0;
    const size_t bytes = std::min<size_t>(element_bytes(element), sizeof bits);
    std::memcpy(&bits, static_cast<const std::byte*>(frame) + index * bytes, bytes);
    return number_of(element, bits);
}
inline void store_value(Element element, void* frame, size_t index, double number) {
    const uint32_t bits = bits_of(element, number);
    const size_t bytes = std::min<size_t>(element_bytes(element), sizeof bits);
    std::memcpy(static_cast<std::byte*>(frame) + index * bytes, &bits, bytes);
}

/// Largest relative error of one rounding: 8, 11 and 24 significant bits.
inline double half_step(Element element) {
    return std::ldexp(1.0, element == Element::BF16 ? -8 : element == Element::F16 ? -11 : -24);
}

inline double silu(double x) { return x / (1 + std::exp(-x)); }

}  // namespace kinetograph::test
