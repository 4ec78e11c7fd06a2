#include <kinetograph/kernels/hip/gfx950/passes/frame_moves.hpp>

using namespace kinetograph::gfx950;

#define KG_FRAME_MOVES(bytes)                                                                                        \
    KG_KERNEL(kinetograph_upsample_nearest2x_##bytes, UpsampleParams, 256, 8) { upsample_nearest2x<bytes>(params); } \
    KG_KERNEL(kinetograph_im2col_##bytes, Im2colParams, 256, 8) { Im2colKernel<bytes>(params).run(); }

KG_FRAME_MOVES(16)
KG_FRAME_MOVES(4)
KG_FRAME_MOVES(2)
KG_KERNEL(kinetograph_im2col_1, Im2colParams, 256, 8) { Im2colKernel<1>(params).run(); }
KG_KERNEL(kinetograph_depth_to_space_4, DepthToSpaceParams, 256, 8) { depth_to_space<4>(params); }
KG_KERNEL(kinetograph_depth_to_space_2, DepthToSpaceParams, 256, 8) { depth_to_space<2>(params); }
