#pragma once

#include <kinetograph/kernels/isa/amd/buffer.hpp>
#include <kinetograph/kernels/isa/amd/math.hpp>
#include <kinetograph/kernels/isa/element.hpp>

/// Conversion of stored elements to float32 and back, in kernels: one at a time or sixteen bytes (a unit) at a time.
namespace kinetograph::gfx950 {

namespace amd = isa::amd;
using amd::Lanes;
using isa::amd::Packed16;
using isa::amd::Packed8;

/// Elements of a unit.
template <Element kElement>
inline constexpr uint32_t kPerUnit = 16 / element_bytes(kElement);

/// Two floats as one register: bf16 and fp16 pairs, the first in the low bits.
template <Element kElement>
KG_DEVICE Lanes<uint32_t> pack_pair(const Lanes<float>& first, const Lanes<float>& second) {
    static_assert(kElement != Element::F32);
    if constexpr (kElement == Element::BF16) {
        return amd::pack_bf16(first, second);
    } else {
        return amd::pack_f16(first, second);
    }
}

/// The value in the low bits of a register.
template <Element kElement>
KG_DEVICE Lanes<float> widen(const Lanes<uint32_t>& bits) {
    if constexpr (kElement == Element::F32) {
        return amd::bits_as<float>(bits);
    } else if constexpr (kElement == Element::BF16) {
        return amd::low_bf16(bits);
    } else {
        return amd::low_f16(bits);
    }
}
template <Element kElement>
KG_DEVICE Lanes<uint32_t> narrow(const Lanes<float>& value) {
    if constexpr (kElement == Element::F32) {
        return amd::bits_as<uint32_t>(value);
    } else {
        return pack_pair<kElement>(value, Lanes<float>(0.0f));
    }
}

template <Element kElement>
KG_DEVICE void widen_unit(const Packed16& unit, Lanes<float> (&values)[kPerUnit<kElement>]) {
    KG_UNROLL for (uint32_t i = 0; i < 4; ++i) {
        if constexpr (kElement == Element::F32) {
            values[i] = amd::bits_as<float>(Lanes<uint32_t>(unit[i]));
        } else if constexpr (kElement == Element::BF16) {
            values[2 * i] = amd::low_bf16(unit[i]);
            values[2 * i + 1] = amd::high_bf16(unit[i]);
        } else {
            values[2 * i] = amd::low_f16(unit[i]);
            values[2 * i + 1] = amd::high_f16(unit[i]);
        }
    }
}
template <Element kElement>
KG_DEVICE Packed16 narrow_unit(const Lanes<float> (&values)[kPerUnit<kElement>]) {
    Packed16 unit;
    KG_UNROLL for (uint32_t i = 0; i < 4; ++i) {
        if constexpr (kElement == Element::F32) {
            unit[i] = amd::bits_as<uint32_t>(values[i]);
        } else {
            unit[i] = pack_pair<kElement>(values[2 * i], values[2 * i + 1]);
        }
    }
    return unit;
}

/// One element a lane.
template <Element kElement>
KG_DEVICE Lanes<float> load_element(amd::Buffer buffer, const Lanes<uint32_t>& offset) {
    if constexpr (kElement == Element::F32) {
        return widen<kElement>(amd::load_4(buffer, offset));
    } else {
        return widen<kElement>(amd::load_2(buffer, offset));
    }
}
template <Element kElement>
KG_DEVICE void store_element(amd::Buffer buffer, const Lanes<uint32_t>& offset, const Lanes<float>& value) {
    if constexpr (kElement == Element::F32) {
        amd::store_4(buffer, offset, narrow<kElement>(value));
    } else {
        amd::store_2(buffer, offset, narrow<kElement>(value));
    }
}

}  // namespace kinetograph::gfx950
