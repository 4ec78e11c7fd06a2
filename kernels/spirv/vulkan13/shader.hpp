#pragma once

#include <array>
#include <initializer_list>
#include <kinetograph/kernels/conv/plan.hpp>

/// The shaders of this folder and the names of their pipelines.
namespace kinetograph::vulkan13 {

/// The names of a shader's modules for F32, F16 and BF16, indexed by Element.
using Shader = std::array<std::string_view, 3>;
/// For F16 and BF16 alone.
inline constexpr Shader kConvSlab{"", "conv_slab_f16", "conv_slab_bf16"};
inline constexpr Shader kProductMatrix{"", "product_matrix_f16", "product_matrix_bf16"};
inline constexpr Shader kConvTiles{"conv_tiles_f32", "conv_tiles_f16", "conv_tiles_bf16"};
inline constexpr Shader kDepthToSpace{"depth_to_space_f32", "depth_to_space_f16", "depth_to_space_bf16"};
inline constexpr Shader kGroupNorm{"group_norm_f32", "group_norm_f16", "group_norm_bf16"};
inline constexpr Shader kProduct{"product_f32", "product_f16", "product_bf16"};
inline constexpr Shader kRmsNorm{"rms_norm_f32", "rms_norm_f16", "rms_norm_bf16"};
inline constexpr Shader kSoftmax{"softmax_f32", "softmax_f16", "softmax_bf16"};
inline constexpr Shader kStoreFloat{"store_float_f32", "store_float_f16", "store_float_bf16"};
inline constexpr Shader kStorePicture{"store_picture_f32", "store_picture_f16", "store_picture_bf16"};
inline constexpr Shader kUnpackLatent{"unpack_latent_f32", "unpack_latent_f16", "unpack_latent_bf16"};
inline constexpr Shader kUpsample{"upsample_f32", "upsample_f16", "upsample_bf16"};

/// The shader's pipeline with those specialization constants, of which the first is its threads:
/// "conv_tiles_bf16:256,64,64,4,4".
conv::KernelName pipeline(const Shader& shader, Element element, std::initializer_list<std::uint32_t> constants);

/// An address as shaders have it.
inline std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace kinetograph::vulkan13
