#include <kinetograph/kernels/cuda/sm80/frame_passes.hpp>
#include <kinetograph/kernels/cuda/sm80/group_norm.hpp>
#include <kinetograph/kernels/cuda/sm80/im2col.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

using namespace kinetograph;
using namespace kinetograph::sm80;

#define KG_PASS(name, Kernel, Params) \
    KG_CUDA_KERNEL(sm80_##name, Params, kinetograph::cuda::kPassThreads) { Kernel::run(params); }
#define KG_PASS_OF(name, Kernel, Params)                \
    KG_PASS(name##_bf16, Kernel<Element::BF16>, Params) \
    KG_PASS(name##_f16, Kernel<Element::F16>, Params)   \
    KG_PASS(name##_f32, Kernel<Element::F32>, Params)

KG_PASS_OF(rms_norm, RmsNormKernel, kinetograph::cuda::RmsNormParams)
#define KG_TO_BYTES RmsNormKernel<Element::BF16, Element::U8>
KG_PASS(rms_norm_bf16_u8, KG_TO_BYTES, kinetograph::cuda::RmsNormParams)
#undef KG_TO_BYTES
KG_PASS_OF(group_moments, GroupMomentsKernel, kinetograph::conv::GroupNormParams)
KG_PASS(group_factors, GroupFactorsKernel, kinetograph::conv::GroupNormParams)
KG_PASS_OF(group_norm, GroupNormKernel, kinetograph::conv::GroupNormParams)
KG_PASS_OF(unpack_latent, UnpackLatentKernel, UnpackLatentParams)
KG_PASS_OF(store_float, StoreFloatKernel, StoreFloatParams)
KG_PASS_OF(store_picture, StorePictureKernel, StorePictureParams)
KG_PASS_OF(finish_slices, FinishSlicesKernel, FinishSlicesParams)
KG_PASS(add_slice_bf16, AddSliceKernel<Element::BF16>, AddSliceParams)
KG_PASS(add_slice_f16, AddSliceKernel<Element::F16>, AddSliceParams)
KG_PASS(keep_frames, KeepFramesKernel, KeepFramesParams)
KG_PASS(upsample_16, UpsampleKernel<isa::Words<4>>, kinetograph::cuda::UpsampleParams)
KG_PASS(upsample_4, UpsampleKernel<uint32_t>, kinetograph::cuda::UpsampleParams)
KG_PASS(upsample_2, UpsampleKernel<uint16_t>, kinetograph::cuda::UpsampleParams)
KG_PASS(depth_to_space_4, DepthToSpaceKernel<uint32_t>, DepthToSpaceParams)
KG_PASS(depth_to_space_2, DepthToSpaceKernel<uint16_t>, DepthToSpaceParams)
KG_PASS(im2col_16, Im2colKernel, Im2colParams)
KG_PASS(im2col_4, Im2colRowKernel<uint32_t>, Im2colParams)
KG_PASS(im2col_2, Im2colRowKernel<uint16_t>, Im2colParams)
