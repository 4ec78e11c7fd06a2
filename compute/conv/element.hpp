// One element of a frame in its storage type, for code that is plain rather than fast.
#pragma once

#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>

#include <cstring>

namespace kinetograph::conv {

/// Element `index` of a packed F32 or BF16 frame.
inline double load_element(const std::byte* frame, std::int64_t index, tensor::DType dtype) {
    if (dtype == tensor::DType::F32) {
        float value = 0;
        std::memcpy(&value, frame + index * 4, 4);
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, frame + index * 2, 2);
    return tensor::from_bf16(bits);
}

/// Rounds `value` to float32 and, for BF16, once more.
inline void store_element(std::byte* frame, std::int64_t index, tensor::DType dtype, double value) {
    const auto rounded = static_cast<float>(value);
    if (dtype == tensor::DType::F32) {
        std::memcpy(frame + index * 4, &rounded, 4);
    } else {
        const std::uint16_t bits = tensor::to_bf16(rounded);
        std::memcpy(frame + index * 2, &bits, 2);
    }
}

}  // namespace kinetograph::conv
