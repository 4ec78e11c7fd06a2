#pragma once

/// The compiled kernels for AMD's chips in this build: ELF code objects for hipModuleLoadData. A build without a
/// compiler for them has none; every function below still works.

#include <cstddef>
#include <span>
#include <string_view>

namespace kinetograph::hip {

struct CodeObject {
    std::string_view chip;             ///< "gfx950", the folder of its source in kernels/hip
    std::string_view name;             ///< of its source without the ending: "four_wave_conv_bf16"
    std::span<const std::byte> image;  ///< a whole ELF file, aligned to 64 bytes, alive as long as the program
};

/// Every code object of this build, in the order of the chips and of their CMakeLists.txt.
std::span<const CodeObject> code_objects();

/// The image of that name for a device whose architecture is "gfx950" or "gfx950:sramecc+:xnack-"; empty if this build
/// has no such code object.
std::span<const std::byte> code_object(std::string_view architecture, std::string_view name);

/// The compiler ("Debian clang version 21.1.8 (14)"), or why there are no objects ("built without a compiler for
/// gfx950").
std::string_view code_object_compiler();

}  // namespace kinetograph::hip
