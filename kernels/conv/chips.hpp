#pragma once

#include <kinetograph/kernels/conv/operator.hpp>

/// The chips that have kernels: kernels/chips.cmake lists their folders.
namespace kinetograph::conv {

/// A GPU as its vendor's data sheet and programming guide describe it.
struct KnownDevice {
    std::string_view kind;          ///< its driver: "cuda", "hip"
    std::string_view architecture;  ///< "sm_100"
    std::string_view name;          ///< "NVIDIA B200"
    std::uint64_t memory_bytes;
    std::uint32_t compute_units;
    std::uint32_t shared_bytes_per_block;
    double clocks_per_second;        ///< sustained by its matrix units
    double memory_bytes_per_second;  ///< from the data sheet
};

/// What a chip's folder gives, by the functions of these names in its plan.hpp.
struct ChipKernels {
    std::span<const ConvMethod> (*methods)();   ///< that have kernels, best first
    std::span<const ConvModel> (*models)();     ///< that have none
    std::span<const OpMethod> (*operators)();   ///< of one problem best first
    std::span<const KnownDevice> (*devices)();  ///< one for each architecture that the folder's cost model covers
};

/// In the order of kernels/chips.cmake.
std::span<const ChipKernels> chips();

}  // namespace kinetograph::conv
