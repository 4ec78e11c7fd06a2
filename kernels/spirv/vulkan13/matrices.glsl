// Products of 16x16 pieces by a subgroup, both from shared memory `staged_`, in units of 16 bytes: left pieces by rows,
// right pieces by rows of the depth or, if kRightByColumn, by columns. Matrices of VK_KHR_cooperative_matrix or, with -DEMULATED, 32 threads that
// take their place, on devices without any.
const uint kUnit = 8;  // elements of 16 bytes
#ifdef EMULATED
#define SUBGROUP (gl_LocalInvocationID.x / 32)
#define LANE (gl_LocalInvocationID.x % 32)
const uint kLanes = 32;
struct Left { uint at, pitch; };
struct Right { uint at, pitch; };
struct Sums { float at[8]; };  // row LANE / 2, from column LANE % 2 * 8
#define LOAD_LEFT(m, place, row_pitch) m.at = (place), m.pitch = (row_pitch)
#define LOAD_RIGHT(m, place, row_pitch) m.at = (place), m.pitch = (row_pitch)
#define CLEAR(sums) [[unroll]] for (uint e = 0; e < 8; ++e) sums.at[e] = 0
float element_of(uint at, uint i) {
    const uint word = staged_[at + i / 8][i % 8 / 2];
    return pair_of(word)[i % 2];
}
// llvmpipe limits the rounds of a thread's loops, and takes long to compile what is unrolled.
#define UNROLL_PIECES
void add_product(Left left, Right right, inout Sums sums) {
    for (uint first = 0; first < 16; first += 4)
        [[unroll]] for (uint depth = first; depth < first + 4; ++depth) {
            const float value = element_of(left.at + LANE / 2 * left.pitch, depth);
            [[unroll]] for (uint e = 0; e < 8; ++e)
                sums.at[e] += value * (kRightByColumn ? element_of(right.at + (LANE % 2 * 8 + e) * right.pitch, depth)
                                                      : element_of(right.at + depth * right.pitch, LANE % 2 * 8 + e));
        }
}
#define ADD_PRODUCT(left, right, sums) add_product(left, right, sums)
#define PUT_SUMS(sums, place, row_pitch)                                                                    \
    [[unroll]] for (uint e = 0; e < 2; ++e)                                                                 \
        staged_[(place) + LANE / 2 * (row_pitch) + LANE % 2 * 2 + e] = floatBitsToUint(                     \
            vec4(sums.at[4 * e], sums.at[4 * e + 1], sums.at[4 * e + 2], sums.at[4 * e + 3]))
#define SUBGROUP_BARRIER barrier()
#else
#define UNROLL_PIECES [[unroll]]
#define SUBGROUP gl_SubgroupID
#define LANE gl_SubgroupInvocationID
#define kLanes gl_SubgroupSize
#if ELEMENT == 1
#define Factor float16_t
#else
#define Factor bfloat16_t
#endif
#define Left coopmat<Factor, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define Right coopmat<Factor, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
#define Sums coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define LOAD_LEFT(m, place, row_pitch) coopMatLoad(m, staged_, place, row_pitch, gl_CooperativeMatrixLayoutRowMajor)
const int kRightLayout =
    kRightByColumn ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor;
#define LOAD_RIGHT(m, place, row_pitch) coopMatLoad(m, staged_, place, row_pitch, kRightLayout)
#define CLEAR(sums) sums = Sums(0.0)
#define ADD_PRODUCT(left, right, sums) sums = coopMatMulAdd(left, right, sums)
#define PUT_SUMS(sums, place, row_pitch) coopMatStore(sums, staged_, place, row_pitch, gl_CooperativeMatrixLayoutRowMajor)
#define SUBGROUP_BARRIER subgroupMemoryBarrierShared(); subgroupBarrier()
#endif
