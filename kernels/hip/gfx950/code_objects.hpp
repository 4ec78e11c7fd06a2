#pragma once

/// The compiled kernels for gfx950 (MI355X) in this build: ELF code objects for hipModuleLoadData. A build without a
/// compiler for the chip has none; every function below still works.

#include <cstddef>
#include <span>
#include <string_view>

namespace kinetograph::gfx950 {

struct CodeObject {
    std::string_view name;             ///< of its source without the ending: "four_wave_conv_bf16"
    std::span<const std::byte> image;  ///< a whole ELF file, aligned to 64 bytes, alive as long as the program
};

/// Every code object of this build, in the order of kernels/hip/gfx950/CMakeLists.txt.
std::span<const CodeObject> code_objects();

/// The image of that name; empty if this build has no such code object.
std::span<const std::byte> code_object(std::string_view name);

/// The compiler ("Debian clang version 21.1.8 (14)"), or why there are no objects ("built without a compiler for
/// gfx950").
std::string_view code_object_compiler();

}  // namespace kinetograph::gfx950
