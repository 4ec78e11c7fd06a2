#pragma once

#include <kinetograph/kernels/isa/element.hpp>

namespace kinetograph::conv {

/// How a value between two primitives is stored: number = scale * element.
struct Storage {
    Element element = Element::BF16;
    float scale = 1;

    constexpr Storage() = default;
    constexpr Storage(Element of, float times = 1)
        : element(of), scale(times) {}  // NOLINT(google-explicit-constructor)
    friend bool operator==(const Storage&, const Storage&) = default;
};

}  // namespace kinetograph::conv
