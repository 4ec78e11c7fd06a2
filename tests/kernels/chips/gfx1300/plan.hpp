#pragma once

#include <kinetograph/kernels/conv/chips.hpp>

/// The interface of a chip's folder of kernels, here without kernels.
namespace kinetograph::gfx1300 {

/// One method: implicit-gemm-gfx1300.
std::span<const conv::ConvMethod> methods();
std::span<const conv::ConvModel> models();
/// One method, of attention: tiles-gfx1300.
std::span<const conv::OpMethod> operators();
std::span<const conv::KnownDevice> devices();

}  // namespace kinetograph::gfx1300
