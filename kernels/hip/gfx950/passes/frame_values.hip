#include <kinetograph/kernels/hip/gfx950/passes/frame_values.hpp>

using namespace kinetograph::gfx950;
using kinetograph::Element;

// A 16-byte unit per lane; kernels whose names end in _any take one element per lane.
#define KG_FRAME_VALUES(type, storage)                                                                                \
    KG_KERNEL(kinetograph_unpack_latent_##type, UnpackLatentParams, 256, 8) {                                         \
        unpack_latent<Element::storage, kPerUnit<Element::storage>>(params);                                          \
    }                                                                                                                 \
    KG_KERNEL(kinetograph_unpack_latent_##type##_any, UnpackLatentParams, 256, 8) {                                   \
        unpack_latent<Element::storage, 1>(params);                                                                   \
    }                                                                                                                 \
    KG_KERNEL(kinetograph_join_sums_##type, JoinSumsParams, 256, 4) { join_sums<Element::storage>(params); }          \
    KG_KERNEL(kinetograph_store_float_##type, StoreFloatParams, 256, 8) { store_float<Element::storage, 4>(params); } \
    KG_KERNEL(kinetograph_store_float_##type##_any, StoreFloatParams, 256, 8) {                                       \
        store_float<Element::storage, 1>(params);                                                                     \
    }                                                                                                                 \
    KG_KERNEL(kinetograph_store_rgba8_##type, StorePictureParams, 256, 8) { store_rgba8<Element::storage>(params); } 

KG_FRAME_VALUES(bf16, BF16)
KG_FRAME_VALUES(f16, F16)
KG_FRAME_VALUES(f32, F32)
