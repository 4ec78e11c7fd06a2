// Convolution of stride and dilation 1 by 16x16 matrices: a workgroup computes kTileHeight x kTileWidth pixels of a
// frame times kBn filters. For every temporal tap and kBk input channels, the pixels and their surroundings are staged
// once and multiplied by all kTapRows x kTapColumns taps; filters are staged a row of taps at a time. What is staged
// next is loaded during the products. gl_WorkGroupID: (filter tile, frame * parities + parity, pixel tile).
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#ifndef EMULATED
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#if ELEMENT == 1
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#else
#extension GL_EXT_bfloat16 : require
#endif
#endif
#include "elements.glsl"
#include "conv_params.glsl"

layout(constant_id = 1) const uint kBn = 64;
layout(constant_id = 2) const uint kBk = 16;
layout(constant_id = 3) const uint kSubgroupPixels = 64;
layout(constant_id = 4) const uint kSubgroupFilters = 64;
layout(constant_id = 5) const uint kTileHeight = 16;
layout(constant_id = 6) const uint kTileWidth = 16;
layout(constant_id = 7) const uint kChannelsIn = 16;
layout(constant_id = 8) const uint kFilters = 64;  // padded to whole pieces
layout(constant_id = 9) const uint kTapRows = 3;
layout(constant_id = 10) const uint kTapColumns = 3;
const uint kThreads = gl_WorkGroupSize.x;
const uint kSlabWidth = kTileWidth + kTapColumns - 1, kSlabPixels = (kTileHeight + kTapRows - 1) * kSlabWidth;
const uint kUnits = kBk / 8;          // of a pixel in the slab
const uint kPixelPitch = kUnits + 1;  // a unit more, so that rows of a piece lie in other banks
const uint kFilterUnits = kBn / 8, kFilterPitch = kFilterUnits + 1;
const uint kSlabSize = kSlabPixels * kPixelPitch, kTapSize = kBk * kFilterPitch;
const uint kPutPitch = kSubgroupFilters / 4 + 1, kPutSize = 16 * kPutPitch;  // 16 pixels of sums in float32
const uint kSubgroups = kTileHeight * kTileWidth / kSubgroupPixels * (kBn / kSubgroupFilters);
const uint kTilesSize = kSlabSize + kTapColumns * kTapSize, kSumsSize = kSubgroups * kPutSize;
const uint kStagedSize = kTilesSize > kSumsSize ? kTilesSize : kSumsSize;
shared uvec4 staged_[kStagedSize];
const bool kRightByColumn = false;
#include "matrices.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Units { uvec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Vectors { vec4 at[]; };

const uint kPieceRows = kSubgroupPixels / 16, kPieceColumns = kSubgroupFilters / 16;
const uint kPixelLoads = (kSlabPixels * kUnits + kThreads - 1) / kThreads;
const uint kFilterLoads = (kTapColumns * kBk * kFilterUnits + kThreads - 1) / kThreads;

uint height_out, width_out, channels_out;  // of the output frame

void read_channels(inout float values[8], Address from, uint channel) {
    const vec4 low = Vectors(from).at[channel / 4], high = Vectors(from).at[channel / 4 + 1];
    values = float[8](low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w);
}

// Eight channels of a pixel from sums in shared memory to the output.
void finish(uint put, uint pixel_y, uint pixel_x, uint channel, Address frame, Address residual) {
    if (pixel_y >= height_out || pixel_x >= width_out || channel >= channels_out) return;
    const uint place = (pixel_y * width_out + pixel_x) * channels_out + channel;
    const vec4 low = uintBitsToFloat(staged_[put]), high = uintBitsToFloat(staged_[put + 1]);
    const float sums[8] = float[8](low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w);
    if (channels_out % 8 != 0 || (epilogue.flags & kFloat32) != 0) {
        [[unroll]] for (uint i = 0; i < 8; ++i)
            if (channel + i < channels_out) store_finished(sums[i], channel + i, frame, residual, place + i);
        return;
    }
    float scales[8] = float[8](1, 1, 1, 1, 1, 1, 1, 1), biases[8] = float[8](0, 0, 0, 0, 0, 0, 0, 0);
    if (!is_null(epilogue.scales)) read_channels(scales, epilogue.scales, channel);
    if ((epilogue.flags & kBias) != 0) read_channels(biases, epilogue.bias, channel);
    uvec4 added = uvec4(0), word;
    if ((epilogue.flags & kResidual) != 0) added = Units(residual).at[place / 8];
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        const vec2 residuals = pair_of(added[i]);
        word[i] = word_of(vec2(finished(sums[2 * i], scales[2 * i], biases[2 * i], residuals.x),
                               finished(sums[2 * i + 1], scales[2 * i + 1], biases[2 * i + 1], residuals.y)));
    }
    Units(frame).at[place / 8] = word;
}

// The pixels of the tile from `first` on, 16 of them, whose sums are in shared memory.
void finish_row(uint put, uint first, uint y0, uint x0, uint channel, uint parity, bool sub_pixel, uint height,
                uint width, Address to, Address residual) {
    const uint kParts = kSubgroupFilters / 8;
    for (uint part = LANE; part < 16 * kParts; part += kLanes) {
        const uint pixel = first + part / kParts;
        uint y = y0 + pixel / kTileWidth, x = x0 + pixel % kTileWidth;
        if (sub_pixel) {
            if (y >= height || x >= width) continue;
            y = 2 * y + parity / 2, x = 2 * x + parity % 2;
        }
        finish(put + part / kParts * kPutPitch + part % kParts * 2, y, x, channel + part % kParts * 8, to, residual);
    }
}

void main() {
    load_epilogue();
    height_out = params.h_out, width_out = params.w_out, channels_out = params.k;
    const uint h = params.h, w = params.w;
    const uint thread = gl_LocalInvocationID.x;
    const uint n0 = gl_WorkGroupID.x * kBn;
    const uint parity = gl_WorkGroupID.y % params.parities, frame = gl_WorkGroupID.y / params.parities;
    const bool sub_pixel = params.parities == 4;
    const uint width = sub_pixel ? w : width_out;
    const uint across = (width + kTileWidth - 1) / kTileWidth;
    const uint x0 = gl_WorkGroupID.z % across * kTileWidth, y0 = gl_WorkGroupID.z / across * kTileHeight;
    const int top = sub_pixel ? 1 - int(parity / 2) : params.pad_top;
    const int left = sub_pixel ? 1 - int(parity % 2) : params.pad_left;

    uint first_q = 0, end_q = params.q;  // taps in the padding are before and after the others
    while (first_q < end_q && is_null(params.input_[frame * params.q + first_q])) ++first_q;
    while (end_q > first_q && is_null(params.input_[frame * params.q + end_q - 1])) --end_q;

    int sources[kPixelLoads];  // units of the frame; -1: outside
    [[unroll]] for (uint i = 0; i < kPixelLoads; ++i) {
        const uint unit = i * kThreads + thread, pixel = unit / kUnits;
        const int y = int(y0 + pixel / kSlabWidth) - top, x = int(x0 + pixel % kSlabWidth) - left;
        const bool inside = pixel < kSlabPixels && y >= 0 && y < int(h) && x >= 0 && x < int(w);
        sources[i] = inside ? (y * int(w) + x) * int(kChannelsIn / 8) + int(unit % kUnits) : -1;
    }
    uvec4 pixels[kPixelLoads], filters[kFilterLoads];
    Units image = Units(params.input_[frame * params.q + first_q]);
    Units weights = Units(params.filter_);
    const uint first_tap = (parity * params.q) * kTapRows;
#define LOAD_PIXELS(c)                                                              \
    [[unroll]] for (uint i = 0; i < kPixelLoads; ++i) {                             \
        pixels[i] = uvec4(0);                                                       \
        if (sources[i] >= 0) pixels[i] = image.at[sources[i] + int((c) * kUnits)];  \
    }
#define STAGE_PIXELS                                                                                        \
    [[unroll]] for (uint i = 0; i < kPixelLoads; ++i) {                                                     \
        const uint unit = i * kThreads + thread;                                                            \
        if (kSlabPixels * kUnits % kThreads == 0 || unit < kSlabPixels * kUnits)                            \
            staged_[unit / kUnits * kPixelPitch + unit % kUnits] = pixels[i];                               \
    }
#define LOAD_FILTERS(q, c, row)                                                                             \
    [[unroll]] for (uint i = 0; i < kFilterLoads; ++i) {                                                    \
        const uint unit = i * kThreads + thread;                                                            \
        const uint column = unit / (kBk * kFilterUnits), depth = unit / kFilterUnits % kBk;                 \
        const uint tap = (first_tap + (q) * kTapRows + (row)) * kTapColumns + column;                       \
        if (kTapColumns * kBk * kFilterUnits % kThreads == 0 || unit < kTapColumns * kBk * kFilterUnits)    \
            filters[i] = weights.at[((tap * kChannelsIn + (c) * kBk + depth) * kFilters + n0) / 8 +         \
                                    unit % kFilterUnits];                                                   \
    }
#define STAGE_FILTERS                                                                                       \
    [[unroll]] for (uint i = 0; i < kFilterLoads; ++i) {                                                    \
        const uint unit = i * kThreads + thread;                                                            \
        if (kTapColumns * kBk * kFilterUnits % kThreads == 0 || unit < kTapColumns * kBk * kFilterUnits)    \
            staged_[kSlabSize + unit / kFilterUnits * kFilterPitch + unit % kFilterUnits] = filters[i];     \
    }

    const uint columns = kBn / kSubgroupFilters;
    const uint pixel0 = SUBGROUP / columns * kSubgroupPixels, filter0 = SUBGROUP % columns * kSubgroupFilters;
    uint rows[kPieceRows];
    UNROLL_PIECES for (uint i = 0; i < kPieceRows; ++i) {
        const uint pixel = pixel0 + 16 * i;
        rows[i] = (pixel / kTileWidth * kSlabWidth + pixel % kTileWidth) * kPixelPitch;
    }
    Sums sums[kPieceRows * kPieceColumns];
    UNROLL_PIECES for (uint i = 0; i < kPieceRows * kPieceColumns; ++i) { CLEAR(sums[i]); }

    const uint chunks = kChannelsIn / kBk, slabs = (end_q - first_q) * chunks;
    uint q = first_q, chunk = 0;  // of the next slab
    if (slabs > 0) {
        LOAD_PIXELS(0)
        LOAD_FILTERS(first_q, 0, 0)
    }
    for (uint slab = 0; slab < slabs; ++slab) {
        const uint this_q = q, this_chunk = chunk;
        if (++chunk == chunks) chunk = 0, ++q;
        if (q == end_q) q = first_q;  // loaded once more after the last, so that no branch surrounds the loads
        image = Units(params.input_[frame * params.q + q]);
        [[unroll]] for (uint row = 0; row < kTapRows; ++row) {
            barrier();
            if (row == 0) { STAGE_PIXELS }
            STAGE_FILTERS
            barrier();
            if (row + 1 < kTapRows) {
                LOAD_FILTERS(this_q, this_chunk, row + 1)
            } else {
                LOAD_FILTERS(q, chunk, 0)
                LOAD_PIXELS(chunk)
            }
            UNROLL_PIECES for (uint column = 0; column < kTapColumns; ++column)
                UNROLL_PIECES for (uint depth = 0; depth < kUnits; depth += 2) {
                    Left lefts[kPieceRows];
                    UNROLL_PIECES for (uint i = 0; i < kPieceRows; ++i) {
                        LOAD_LEFT(lefts[i], rows[i] + (row * kSlabWidth + column) * kPixelPitch + depth, kPixelPitch);
                    }
                    UNROLL_PIECES for (uint j = 0; j < kPieceColumns; ++j) {
                        Right right;
                        LOAD_RIGHT(right,
                                   kSlabSize + column * kTapSize + depth * 8 * kFilterPitch + filter0 / 8 + 2 * j,
                                   kFilterPitch);
                        UNROLL_PIECES for (uint i = 0; i < kPieceRows; ++i) {
                            ADD_PRODUCT(lefts[i], right, sums[i * kPieceColumns + j]);
                        }
                    }
                }
        }
    }

    barrier();
    const Address to = params.output_[frame], residual = params.residual[frame];
    const uint put = SUBGROUP * kPutSize;
// A row of pieces. Not a loop: sums that are indexed by anything but constants lie in memory from the start.
#define FINISH(i)                                                                                           \
    if (i < kPieceRows) {                                                                                   \
        UNROLL_PIECES for (uint j = 0; j < kPieceColumns; ++j) {                                               \
            PUT_SUMS(sums[(i % kPieceRows) * kPieceColumns + j], put + 4 * j, kPutPitch);                   \
        }                                                                                                   \
        SUBGROUP_BARRIER;                                                                                   \
        finish_row(put, pixel0 + 16 * i, y0, x0, n0 + filter0, parity, sub_pixel, h, w, to, residual);                           \
        SUBGROUP_BARRIER;                                                                                   \
    }
    FINISH(0) FINISH(1) FINISH(2) FINISH(3)
}
