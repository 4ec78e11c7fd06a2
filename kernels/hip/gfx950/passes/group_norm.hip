#include <kinetograph/kernels/hip/gfx950/passes/group_norm.hpp>

using namespace kinetograph::gfx950;
using kinetograph::Element;
using kinetograph::conv::GroupNormParams;

#define KG_GROUP_NORM(type, storage)                                       \
    KG_KERNEL(kinetograph_group_moments_##type, GroupNormParams, 256, 4) { \
        GroupMomentsKernel<Element::storage>(params).run();                \
    }                                                                      \
    KG_KERNEL(kinetograph_group_norm_##type, GroupNormParams, 256, 4) { group_norm<Element::storage>(params); }

KG_GROUP_NORM(bf16, BF16)
KG_GROUP_NORM(f16, F16)
KG_GROUP_NORM(f32, F32)
KG_KERNEL(kinetograph_group_factors, GroupNormParams, 256, 4) { GroupFactorsKernel(params).run(); }
