#pragma once

#include <cstdint>
#include <kinetograph/kernels/isa/element.hpp>

namespace kinetograph::conv {

/// How a value between two primitives is stored: number = scale * (element - zero).
struct Storage {
    Element element = Element::BF16;
    float scale = 1;
    std::int32_t zero = 0;  ///< zero point, 0 to 255: of U8 alone

    constexpr Storage() = default;
    constexpr Storage(Element of, float times = 1, std::int32_t zero_point = 0)  // NOLINT(google-explicit-constructor)
        : element(of), scale(times), zero(zero_point) {}
    friend bool operator==(const Storage&, const Storage&) = default;
};

}  // namespace kinetograph::conv
