// The rule that generates the golden data's inputs and parameters (tests/golden/README.md), rounded to bf16.
#pragma once

#include <kinetograph/compute/tensor/float_formats.hpp>

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kinetograph::golden {

inline std::uint64_t fnv1a(std::string_view name) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return hash;
}

/// A multiple of 2^-23 in [-1, 1).
inline float unit_value(std::uint64_t hash, std::uint64_t index) {
    std::uint64_t z = hash + index * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    z ^= z >> 31U;
    return static_cast<float>(z >> 40U) * 0x1p-23F - 1;
}

inline float weight_gain(std::int64_t fan_in) {
    return static_cast<float>(std::sqrt(3.0 / static_cast<double>(fan_in)));
}

/// bf16(gain * u) for `count` elements of tensor `name`.
inline std::vector<float> bf16_values(std::string_view name, std::int64_t count, float gain) {
    const std::uint64_t hash = fnv1a(name);
    std::vector<float> values(count);
    for (std::int64_t i = 0; i < count; ++i) {
        values[i] = tensor::from_bf16(tensor::to_bf16(unit_value(hash, i) * gain));
    }
    return values;
}

}  // namespace kinetograph::golden
