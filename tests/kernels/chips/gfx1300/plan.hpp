#pragma once

#include <kinetograph/kernels/conv/chips.hpp>

/// What a folder of kernels gives, without kernels.
namespace kinetograph::gfx1300 {

/// implicit-gemm-gfx1300.
std::span<const conv::ConvMethod> methods();
/// tiles-gfx1300.
std::span<const conv::AttentionMethod> attention_methods();
std::span<const conv::KnownDevice> devices();

}  // namespace kinetograph::gfx1300
