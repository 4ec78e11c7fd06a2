// ProductParams by 16x16 matrices: kBm rows by kBn columns a workgroup, kBk deep in shared memory. Pitches are multiples
// of 8 elements; what lies beyond rows, columns and depth counts as 0. gl_WorkGroupID: (column tile, row tile, 1).
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
#include "product_params.glsl"

layout(constant_id = 1) const uint kBm = 128;
layout(constant_id = 2) const uint kBn = 128;
layout(constant_id = 3) const uint kBk = 32;
layout(constant_id = 4) const uint kSubgroupRows = 64;
layout(constant_id = 5) const uint kSubgroupColumns = 64;
layout(constant_id = 6) const bool kRightByColumn = true;  // right[column][depth], not right[depth][column]
const uint kThreads = gl_WorkGroupSize.x, kUnits = kBk / 8;
const uint kLeftPitch = kUnits + 1;
const uint kRightRows = kRightByColumn ? kBn : kBk, kRightUnits = kRightByColumn ? kUnits : kBn / 8;
const uint kRightPitch = kRightUnits + 1;
const uint kPutPitch = kSubgroupColumns / 4 + 1, kPutSize = 16 * kPutPitch;
const uint kSubgroups = kBm / kSubgroupRows * (kBn / kSubgroupColumns);
const uint kTilesSize = kBm * kLeftPitch + kRightRows * kRightPitch, kSumsSize = kSubgroups * kPutSize;
const uint kStagedSize = kTilesSize > kSumsSize ? kTilesSize : kSumsSize;
shared uvec4 staged_[kStagedSize];
#include "matrices.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Units { uvec4 at[]; };
const uint kPieceRows = kSubgroupRows / 16, kPieceColumns = kSubgroupColumns / 16;
const uint kLeftLoads = (kBm * kUnits + kThreads - 1) / kThreads;
const uint kRightLoads = (kRightRows * kRightUnits + kThreads - 1) / kThreads;

// Eight elements of a row, of which those from `end` on are 0.
uvec4 load_unit(Address from, uint row, uint pitch, uint first, uint end) {
    if (first >= end) return uvec4(0);
    uvec4 unit = Units(from).at[(row * pitch + first) / 8];
    if (first + 8 > end)
        [[unroll]] for (uint i = 0; i < 4; ++i) {
            if (first + 2 * i + 1 >= end) unit[i] &= 0xffffu;
            if (first + 2 * i >= end) unit[i] = 0;
        }
    return unit;
}

// 16 rows from `first` on, whose sums are in shared memory.
void finish_row(uint put, uint first, uint column0) {
    const uint kParts = kSubgroupColumns / 4, rows = params.rows, columns = params.columns, to_pitch = params.to_pitch;
    const float factor = params.factor;
    const bool float32 = params.float32 != 0;
    const Address to = params.to;
    for (uint part = LANE; part < 16 * kParts; part += kLanes) {
        const uint row = first + part / kParts, column = column0 + part % kParts * 4;
        if (row >= rows) continue;
        const vec4 values = factor * uintBitsToFloat(staged_[put + part / kParts * kPutPitch + part % kParts]);
        const uint place = row * to_pitch + column;
        if (column + 4 > columns || place % 4 != 0)
            for (uint e = 0; e < 4 && column + e < columns; ++e) put_product(row, column + e, values[e]);
        else if (float32)
            Vectors(to).at[place / 4] = values;
        else
            WordPairs(to).at[place / 4] = uvec2(word_of(values.xy), word_of(values.zw));
    }
}

void main() {
    const Address left_from = params.left, right_from = params.right;
    const uint rows = params.rows, columns = params.columns, all_depth = params.depth;
    const uint left_pitch = params.left_pitch, right_pitch = params.right_pitch;
    const uint thread = gl_LocalInvocationID.x, n0 = gl_WorkGroupID.x * kBn, m0 = gl_WorkGroupID.y * kBm;
    uvec4 lefts[kLeftLoads], rights[kRightLoads];
#define LOAD(d0)                                                                                            \
    [[unroll]] for (uint i = 0; i < kLeftLoads; ++i) {                                                      \
        const uint unit = i * kThreads + thread, row = m0 + unit / kUnits;                                  \
        lefts[i] = row < rows ? load_unit(left_from, row, left_pitch, (d0) + unit % kUnits * 8, all_depth)  \
                              : uvec4(0);                                                                   \
    }                                                                                                       \
    [[unroll]] for (uint i = 0; i < kRightLoads; ++i) {                                                     \
        const uint unit = i * kThreads + thread, row = (kRightByColumn ? n0 : (d0)) + unit / kRightUnits;   \
        const uint first = (kRightByColumn ? (d0) : n0) + unit % kRightUnits * 8;                           \
        rights[i] = row < (kRightByColumn ? columns : all_depth)                                            \
                        ? load_unit(right_from, row, right_pitch, first, kRightByColumn ? all_depth : columns) \
                        : uvec4(0);                                                                         \
    }
    const uint across = kBn / kSubgroupColumns;
    const uint row0 = SUBGROUP / across * kSubgroupRows, column0 = SUBGROUP % across * kSubgroupColumns;
    Sums sums[kPieceRows * kPieceColumns];
    UNROLL_PIECES for (uint i = 0; i < kPieceRows * kPieceColumns; ++i) { CLEAR(sums[i]); }
    LOAD(0)
    for (uint d0 = 0; d0 < all_depth; d0 += kBk) {
        barrier();
        [[unroll]] for (uint i = 0; i < kLeftLoads; ++i) {
            const uint unit = i * kThreads + thread;
            if (unit < kBm * kUnits) staged_[unit / kUnits * kLeftPitch + unit % kUnits] = lefts[i];
        }
        [[unroll]] for (uint i = 0; i < kRightLoads; ++i) {
            const uint unit = i * kThreads + thread;
            if (unit < kRightRows * kRightUnits)
                staged_[kBm * kLeftPitch + unit / kRightUnits * kRightPitch + unit % kRightUnits] = rights[i];
        }
        barrier();
        LOAD(d0 + kBk)
        UNROLL_PIECES for (uint depth = 0; depth < kUnits; depth += 2) {
            Left pieces[kPieceRows];
            UNROLL_PIECES for (uint i = 0; i < kPieceRows; ++i) {
                LOAD_LEFT(pieces[i], (row0 + 16 * i) * kLeftPitch + depth, kLeftPitch);
            }
            UNROLL_PIECES for (uint j = 0; j < kPieceColumns; ++j) {
                Right right;
                const uint column = column0 + 16 * j;
                const uint place = kRightByColumn ? column * kRightPitch + depth : depth * 8 * kRightPitch + column / 8;
                LOAD_RIGHT(right, kBm * kLeftPitch + place, kRightPitch);
                UNROLL_PIECES for (uint i = 0; i < kPieceRows; ++i) {
                    ADD_PRODUCT(pieces[i], right, sums[i * kPieceColumns + j]);
                }
            }
        }
    }

    barrier();
    const uint put = SUBGROUP * kPutSize;
#define FINISH(i)  /* as in conv_slab.comp */                                                               \
    if (i < kPieceRows) {                                                                                   \
        UNROLL_PIECES for (uint j = 0; j < kPieceColumns; ++j) {                                               \
            PUT_SUMS(sums[(i % kPieceRows) * kPieceColumns + j], put + 4 * j, kPutPitch);                   \
        }                                                                                                   \
        SUBGROUP_BARRIER;                                                                                   \
        finish_row(put, m0 + row0 + 16 * i, n0 + column0);                                                  \
        SUBGROUP_BARRIER;                                                                                   \
    }
    FINISH(0) FINISH(1) FINISH(2) FINISH(3)
}
