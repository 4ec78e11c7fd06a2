#include <kinetograph/kernels/hip/gfx950/passes/filter_pack.hpp>

using namespace kinetograph::gfx950;
using kinetograph::Element;

#define KG_PACK_FILTER(to, To, from, From)                                       \
    KG_KERNEL(kinetograph_pack_filter_##to##_##from, FilterPackParams, 256, 8) { \
        FilterPackKernel<Element::From, Element::To>(params).run();              \
    }

KG_PACK_FILTER(bf16, BF16, f32, F32)
KG_PACK_FILTER(bf16, BF16, bf16, BF16)
KG_PACK_FILTER(f16, F16, f32, F32)
KG_PACK_FILTER(f16, F16, f16, F16)
KG_PACK_FILTER(f8_e4m3, F8E4M3, f32, F32)
