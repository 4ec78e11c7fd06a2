// ProductParams in float32 products, tiles as in conv_tiles.comp. gl_WorkGroupID: (column tile, row tile, 1).
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
#include "product_params.glsl"
#include "tile_product.glsl"
layout(constant_id = 5) const bool kRightByColumn = true;  // right[column][depth], not right[depth][column]

void main() {
    const uint thread = gl_LocalInvocationID.x, depth = thread % kBk, step_ = kThreads / kBk;
    const uint rows = params.rows, columns = params.columns, all_depth = params.depth;
    const uint left_pitch = params.left_pitch, right_pitch = params.right_pitch;
    const uint n0 = gl_WorkGroupID.x * kBn, m0 = gl_WorkGroupID.y * kBm;
    Elements left = Elements(params.left);
    Elements right = Elements(params.right);
    [[unroll]] for (uint i = 0; i < kTm * kTn; ++i) sums[i] = 0;
    for (uint d0 = 0; d0 < all_depth; d0 += kBk) {
        barrier();
        for (uint m = thread / kBk; m < kBm; m += step_)
            rows_[depth * kRowPitch + m] = m0 + m < rows && d0 + depth < all_depth
                                               ? load(left, (m0 + m) * left_pitch + d0 + depth)
                                               : 0.0;
        for (uint i = thread; i < kBn * kBk; i += kThreads) {
            const uint n = kRightByColumn ? i / kBk : i % kBn, d = kRightByColumn ? i % kBk : i / kBn;
            const uint place = kRightByColumn ? (n0 + n) * right_pitch + d0 + d
                                              : (d0 + d) * right_pitch + n0 + n;
            columns_[d * kColumnPitch + n] =
                n0 + n < columns && d0 + d < all_depth ? load(right, place) : 0.0;
        }
        barrier();
        add_products();
    }
    [[unroll]] for (uint i = 0; i < kTm; ++i)
        [[unroll]] for (uint j = 0; j < kTn; ++j) {
            const uint row = m0 + first_row() + i, column = n0 + first_column() + j;
            if (row >= rows || column >= columns) continue;
            put_product(row, column, params.factor * sums[i * kTn + j]);
        }
}
