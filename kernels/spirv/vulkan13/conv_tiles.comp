// Convolution of any shape, stride, dilation and number of groups in float32 products: implicit GEMM, a tile of kBm
// pixels by kBn filters of one group a workgroup. gl_WorkGroupID: (pixel tile * n_tiles * groups + filter tile of all
// groups, frame * parities + parity, 1).
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
#include "conv_params.glsl"
#include "tile_product.glsl"

const uint kStep = kThreads / kBk, kRows = kBm * kBk / kThreads;  // pixels that a thread stages: every kStep-th

void main() {
    load_epilogue();
    const uint h = params.h, w = params.w, w_stored = params.w_stored, upsample = params.upsample;
    const uint c_in = params.c_in, c_group = params.c_group, k = params.k, k_group = params.k_group;
    const uint s = params.s, taps = params.r * s, all_taps = params.q * taps, w_out = params.w_out;
    const int dilation_h = params.dilation_h, dilation_w = params.dilation_w;
    const uint thread = gl_LocalInvocationID.x, depth = thread % kBk;
    const uint groups = c_in / c_group, all_tiles = params.n_tiles * groups;
    const uint group = gl_WorkGroupID.x % all_tiles / params.n_tiles;
    const uint n0 = gl_WorkGroupID.x % params.n_tiles * kBn;  // of the group's filters
    const uint m0 = gl_WorkGroupID.x / all_tiles * kBm;
    const uint parity = gl_WorkGroupID.y % params.parities, frame = gl_WorkGroupID.y / params.parities;
    const bool sub_pixel = params.parities == 4;
    const uint height = sub_pixel ? params.h : params.h_out, width = sub_pixel ? params.w : params.w_out;
    // Sub-pixel filters reach one pixel up or left only for even positions.
    const int top = sub_pixel ? 1 - int(parity / 2) : params.pad_top;
    const int left = sub_pixel ? 1 - int(parity % 2) : params.pad_left;

    int y[kRows], x[kRows];
    [[unroll]] for (uint i = 0; i < kRows; ++i) {
        const uint pixel = m0 + thread / kBk + i * kStep;
        y[i] = pixel < height * width ? int(pixel / width) * params.stride_h - top : -(1 << 28);
        x[i] = int(pixel % width) * params.stride_w - left;
    }
    [[unroll]] for (uint i = 0; i < kTm * kTn; ++i) sums[i] = 0;

    Elements weights = Elements(params.filter_);
    for (uint q = 0; q < params.q; ++q) {
        const Address source = params.input_[frame * params.q + q];
        if (is_null(source)) continue;
        Elements image = Elements(source);
        for (uint tap = 0; tap < taps; ++tap) {
            const int down = int(tap / s) * dilation_h, right = int(tap % s) * dilation_w;
            for (uint c0 = 0; c0 < c_group; c0 += kBk) {
                const uint c = c0 + depth;
                const bool inside = c < c_group;
                barrier();
                [[unroll]] for (uint i = 0; i < kRows; ++i) {
                    const int row = y[i] + down, column = x[i] + right;
                    float value = 0;
                    if (inside && row >= 0 && row < int(h) && column >= 0 && column < int(w)) {
                        const uint pixel = (uint(row) >> upsample) * w_stored +
                                           (uint(column) >> upsample);
                        value = load(image, pixel * c_in + group * c_group + c);
                    }
                    rows_[depth * kRowPitch + thread / kBk + i * kStep] = value;
                }
                for (uint n = thread / kBk; n < kBn; n += kStep) {
                    const uint filter_ = parity * k + group * k_group + n0 + n;
                    columns_[depth * kColumnPitch + n] =
                        inside && n0 + n < k_group
                            ? load(weights, (filter_ * all_taps + q * taps + tap) * c_group + c)
                            : 0.0;
                }
                barrier();
                add_products();
            }
        }
    }

    const Address frame_out = params.output_[frame], residual = params.residual[frame];
    [[unroll]] for (uint i = 0; i < kTm; ++i) {
        const uint pixel = m0 + first_row() + i;
        if (pixel >= height * width) continue;
        const uint placed = sub_pixel ? (pixel / width * 2 + parity / 2) * w_out + pixel % width * 2 + parity % 2
                                      : pixel;
        [[unroll]] for (uint j = 0; j < kTn; ++j) {
            const uint n = n0 + first_column() + j;
            if (n >= k_group) continue;
            const uint channel = group * k_group + n, place = placed * k + channel;
            store_finished(sums[i * kTn + j], channel, frame_out, residual, place);
        }
    }
}
