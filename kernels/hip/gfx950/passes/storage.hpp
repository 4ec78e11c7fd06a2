#pragma once

#include <cstdint>

namespace kinetograph::gfx950 {

/// How a pass's activations lie in memory. Every pass computes in float32 and rounds once, to nearest even.
enum class Storage : uint8_t { F32, Bf16, F16 };

constexpr uint32_t bytes_of(Storage storage) { return storage == Storage::F32 ? 4 : 2; }
/// As kernels are named: "bf16".
constexpr const char* name_of(Storage storage) {
    return storage == Storage::F32 ? "f32" : storage == Storage::Bf16 ? "bf16" : "f16";
}

}  // namespace kinetograph::gfx950
