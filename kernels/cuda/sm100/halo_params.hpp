#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>

namespace kinetograph::sm100 {

/// What one launch of HaloKernel reads: the Hopper kernel's parameters, made by its host code, and what stores of
/// HaloStore::Pixels need in addition.
struct HaloParams {
    sm90::ConvParams conv;
    std::byte* pixels[sm90::kMaxOutputs];  ///< of HaloStore::Pixels: output frames [h_out, w_out, c_out]
    uint32_t h_out, w_out, c_out;
};
static_assert(sizeof(HaloParams) <= 4096, "4 KiB of kernel parameters");

}  // namespace kinetograph::sm100
