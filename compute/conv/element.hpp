// One element of a frame in its storage type, for code that need not be fast.
#pragma once

#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kinetograph::conv {

/// Element `index` of a packed frame of a dtype that ConvProblem allows.
inline double load_element(const std::byte* frame, std::int64_t index, tensor::DType dtype) {
    if (dtype == tensor::DType::F32) {
        float value = 0;
        std::memcpy(&value, frame + index * 4, 4);
        return value;
    }
    if (dtype == tensor::DType::F8E4M3) return tensor::from_f8e4m3(std::to_integer<std::uint8_t>(frame[index]));
    if (dtype == tensor::DType::F8E5M2) return tensor::from_f8e5m2(std::to_integer<std::uint8_t>(frame[index]));
    if (dtype == tensor::DType::U8) return std::to_integer<std::uint8_t>(frame[index]);
    if (dtype == tensor::DType::I8) return std::to_integer<std::int8_t>(frame[index]);
    std::uint16_t bits = 0;
    std::memcpy(&bits, frame + index * 2, 2);
    return dtype == tensor::DType::BF16 ? tensor::from_bf16(bits) : tensor::from_f16(bits);
}

/// Rounds `value` to float32 and, for other dtypes, once more; integers are limited to 0 ... 255 and -127 ... 127.
inline void store_element(std::byte* frame, std::int64_t index, tensor::DType dtype, double value) {
    const auto rounded = static_cast<float>(value);
    if (dtype == tensor::DType::F32) {
        std::memcpy(frame + index * 4, &rounded, 4);
    } else if (dtype == tensor::DType::F8E4M3) {
        frame[index] = std::byte{tensor::to_f8e4m3(rounded)};
    } else if (dtype == tensor::DType::F8E5M2) {
        frame[index] = std::byte{tensor::to_f8e5m2(rounded)};
    } else if (dtype == tensor::DType::U8) {
        frame[index] = static_cast<std::byte>(std::lrint(std::clamp(rounded, 0.0F, 255.0F)));
    } else if (dtype == tensor::DType::I8) {
        frame[index] = static_cast<std::byte>(std::lrint(std::clamp(rounded, -127.0F, 127.0F)));
    } else {
        const std::uint16_t bits = dtype == tensor::DType::BF16 ? tensor::to_bf16(rounded) : tensor::to_f16(rounded);
        std::memcpy(frame + index * 2, &bits, 2);
    }
}

/// `value` rounded to that dtype.
inline double rounded_element(double value, tensor::DType dtype) {
    std::byte storage[4];
    store_element(storage, 0, dtype, value);
    return load_element(storage, 0, dtype);
}

}  // namespace kinetograph::conv
