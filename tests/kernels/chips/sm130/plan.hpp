#pragma once

#include <kinetograph/kernels/conv/chips.hpp>

/// What a folder of kernels gives, without kernels.
namespace kinetograph::sm130 {

/// implicit-gemm-sm130.
std::span<const conv::ConvMethod> methods();
/// tiles-sm130.
std::span<const conv::AttentionMethod> attention_methods();
std::span<const conv::KnownDevice> devices();

}  // namespace kinetograph::sm130
