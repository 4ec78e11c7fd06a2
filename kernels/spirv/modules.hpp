#pragma once

/// The compiled shaders in this build, as SPIR-V.

#include <cstddef>
#include <span>
#include <string_view>

namespace kinetograph::spirv {

struct Module {
    std::string_view name;  ///< of its source, and of its element if there is one for each: "conv_tiles_bf16"
    std::span<const std::byte> words;  ///< aligned to 64 bytes, alive as long as the program
};

std::span<const Module> modules();
/// What compiled them, or why there are none.
std::string_view compiler();

}  // namespace kinetograph::spirv
