#include <kinetograph/kernels/hip/gfx950/passes/rms_norm.hpp>

using namespace kinetograph::gfx950;
using kinetograph::Element;

// Rows of whole 16-byte units, and rows of any length.
#define KG_RMS_NORM(type, storage)                                                                              \
    KG_KERNEL(kinetograph_rms_norm_##type, RmsNormParams, 256, 4) { rms_norm_units<Element::storage>(params); } \
    KG_KERNEL(kinetograph_rms_norm_##type##_any, RmsNormParams, 256, 4) { rms_norm_elements<Element::storage>(params); }

KG_RMS_NORM(bf16, BF16)
KG_RMS_NORM(f16, F16)
KG_RMS_NORM(f32, F32)
