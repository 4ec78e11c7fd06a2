// What a SPIR-V image says about its one kernel. Source: SPIR-V Specification 1.6, Universal (Khronos),
// sections 2.3, 3.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::accel::vulkan {

struct SpirvKernel {
    std::string entry_point;                    ///< "main"
    std::array<std::uint32_t, 3> local_size{};  ///< threads of a workgroup, as long as no constant is specialized
    /// The specialization constants that give the three sizes.
    std::array<std::optional<std::uint32_t>, 3> local_size_ids{};
    std::vector<std::uint32_t> capabilities;  ///< that it declares
};

/// Errors: Corrupt (no SPIR-V, or an instruction that ends after the image; no compute entry point or several).
Result<SpirvKernel> read_spirv(std::span<const std::uint32_t> words);

}  // namespace kinetograph::accel::vulkan
