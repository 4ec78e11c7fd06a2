#include <kinetograph/kernels/hip/gfx950/passes/frame_values.hpp>

using namespace kinetograph::gfx950;

// A 16-byte unit a lane, and, ending in _any, one element a lane.
#define KG_FRAME_VALUES(type, storage)                                                                                \
    KG_KERNEL(kinetograph_unpack_latent_##type, UnpackLatentParams, 256, 8) {                                         \
        unpack_latent<Storage::storage, kPerUnit<Storage::storage>>(params);                                          \
    }                                                                                                                 \
    KG_KERNEL(kinetograph_unpack_latent_##type##_any, UnpackLatentParams, 256, 8) {                                   \
        unpack_latent<Storage::storage, 1>(params);                                                                   \
    }                                                                                                                 \
    KG_KERNEL(kinetograph_add_frames_##type, AddFramesParams, 256, 8) {                                               \
        add_frames<Storage::storage, kPerUnit<Storage::storage>>(params);                                             \
    }                                                                                                                 \
    KG_KERNEL(kinetograph_add_frames_##type##_any, AddFramesParams, 256, 8) {                                         \
        add_frames<Storage::storage, 1>(params);                                                                      \
    }                                                                                                                 \
    KG_KERNEL(kinetograph_store_f32_##type, StoreF32Params, 256, 8) { store_f32<Storage::storage, 4>(params); }       \
    KG_KERNEL(kinetograph_store_f32_##type##_any, StoreF32Params, 256, 8) { store_f32<Storage::storage, 1>(params); } \
    KG_KERNEL(kinetograph_store_rgba8_##type, StorePictureParams, 256, 8) { store_rgba8<Storage::storage>(params); }  \
    KG_KERNEL(kinetograph_store_rgba16f_##type, StorePictureParams, 256, 8) { store_rgba16f<Storage::storage>(params); }

KG_FRAME_VALUES(bf16, Bf16)
KG_FRAME_VALUES(f16, F16)
KG_FRAME_VALUES(f32, F32)
