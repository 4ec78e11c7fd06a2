// What a gfx code object says about itself: its target and its kernels, from the metadata note of the ELF file.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::accel::hip {

struct CodeObjectKernel {
    std::string name;
    std::uint32_t argument_bytes = 0;  ///< of the parameters that the source declares, without hidden ones
    std::uint32_t max_threads = 0;     ///< per block
    std::uint32_t shared_bytes = 0;    ///< static, per block
    std::uint32_t scratch_bytes = 0;   ///< per thread
    std::uint32_t vgprs = 0;           ///< per thread, including agprs where the two share one file
    std::uint32_t agprs = 0;
    std::uint32_t spilled_vgprs = 0, spilled_sgprs = 0;
};

struct CodeObject {
    std::string target;        ///< "amdgcn-amd-amdhsa--gfx950"
    std::string architecture;  ///< "gfx950"
    std::vector<CodeObjectKernel> kernels;

    const CodeObjectKernel* find(std::string_view name) const;
};

/// Reads an ELF code object. Empty where `image` is something else (a bundle of several, another API's image).
/// Errors: Corrupt (an ELF file for the amdgcn machine that contradicts itself).
/// Source: LLVM, User Guide for AMDGPU Backend, "Code Object" and "Code Object V3 and above Metadata".
Result<std::optional<CodeObject>> read_code_object(std::span<const std::byte> image);

}  // namespace kinetograph::accel::hip
