#pragma once

#include <kinetograph/kernels/isa/descriptors.hpp>
#include <kinetograph/kernels/isa/register_lists.hpp>
#include <kinetograph/kernels/isa/target.hpp>

/// Asynchronous matrix products of a warpgroup, sm_90a: D[64, N] (+)= A[64, 16] * B[N, 16]^T of 16-bit operands with
/// fp32 sums, and of 32 u8 and s8 with int32 sums. PTX ISA, Asynchronous Warpgroup Level Matrix Multiply-Accumulate.
///
/// Accumulator i of thread t (w = t / 32 % 4, l = t % 32) is row 16w + l/4 + 8*((i/2)%2), column 8*(i/4) + 2*(l%4) +
/// i%2. The order around a batch: pin, fence, mma..., commit, pin, wait, take.
namespace kinetograph::isa::wgmma {

/// Keeps the compiler from moving accumulators across this point: without it ptxas serializes the products (C7514).
template <int kRegisters>
KG_DEVICE void pin(float (&accumulators)[kRegisters]) {
#if KG_HOST_MODEL
    (void)accumulators;
#else
    KG_UNROLL
    for (int i = 0; i < kRegisters; ++i) asm volatile("" : "+f"(accumulators[i])::"memory");
#endif
}
template <int kRegisters>
KG_DEVICE void pin(int32_t (&accumulators)[kRegisters]) {
#if KG_HOST_MODEL
    (void)accumulators;
#else
    KG_UNROLL
    for (int i = 0; i < kRegisters; ++i) asm volatile("" : "+r"(accumulators[i])::"memory");
#endif
}

/// `pin` after the last wait: from here on the thread reads the accumulators. The host model stops a kernel that has
/// not waited. Sum: float or int32_t.
template <class Sum, int kRegisters>
KG_DEVICE void take(Sum (&accumulators)[kRegisters] KG_SITE) {
#if KG_HOST_MODEL
    host_model::wgmma_take(accumulators, kRegisters, KG_AT("accumulator read"));
#else
    pin(accumulators);
#endif
}

/// Needed before the first product, and after other writes to registers that products use. PTX ISA, wgmma.fence.
KG_DEVICE void fence(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::wgmma_fence(KG_AT("wgmma.fence"));
#else
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/// Closes a batch. PTX ISA, wgmma.commit_group.
KG_DEVICE void commit(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::wgmma_commit(KG_AT("wgmma.commit_group"));
#else
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/// Waits until at most `kPending` batches are unfinished. PTX ISA, wgmma.wait_group.
template <int kPending>
KG_DEVICE void wait(KG_SITE_ONLY) {
    static_assert(kPending >= 0 && kPending <= 7);
#if KG_HOST_MODEL
    host_model::wgmma_wait(kPending, KG_AT("wgmma.wait_group"));
#else
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#endif
}

#if !KG_HOST_MODEL
// n: N, b: blocks of 8 accumulators, then the positions of the operands that follow them.
#define KG_WGMMA_SS(type, transposed_b, n, b, a_at, b_at, d_at)                                        \
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %" #d_at                          \
                 ", 0;\n"                                                                              \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" KG_REGISTERS_##b \
                 "}, %" #a_at ", %" #b_at ", accumulate, 1, 1, 0, " transposed_b ";\n}"                \
                 : KG_OPERANDS_##b(KG_FLOAT_INOUT, d)                                                  \
                 : "l"(a), "l"(b_descriptor), "r"(static_cast<int>(accumulate)))
#define KG_WGMMA_RS(type, n, b, a0, a1, a2, a3, b_at, d_at)                                            \
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %" #d_at                          \
                 ", 0;\n"                                                                              \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" KG_REGISTERS_##b \
                 "}, {%" #a0 ",%" #a1 ",%" #a2 ",%" #a3 "}, %" #b_at ", accumulate, 1, 1, 0;\n}"       \
                 : KG_OPERANDS_##b(KG_FLOAT_INOUT, d)                                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b_descriptor), "r"(static_cast<int>(accumulate)))
#define KG_WGMMA_BYTES(n, b, a_at, b_at, d_at)                                                                      \
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %" #d_at                                       \
                 ", 0;\n"                                                                                           \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k32.s32.u8.s8 {" KG_REGISTERS_##b "}, %" #a_at ", %" #b_at \
                                                                                           ", accumulate;\n}"       \
                 : KG_OPERANDS_##b(KG_WORD_INOUT, d)                                                                \
                 : "l"(a), "l"(b_descriptor), "r"(static_cast<int>(accumulate)))
#define KG_WGMMA_EACH_SS(type, transposed_b)                                          \
    if constexpr (kN == 16) KG_WGMMA_SS(type, transposed_b, 16, 1, 8, 9, 10);         \
    if constexpr (kN == 32) KG_WGMMA_SS(type, transposed_b, 32, 2, 16, 17, 18);       \
    if constexpr (kN == 48) KG_WGMMA_SS(type, transposed_b, 48, 3, 24, 25, 26);       \
    if constexpr (kN == 64) KG_WGMMA_SS(type, transposed_b, 64, 4, 32, 33, 34);       \
    if constexpr (kN == 80) KG_WGMMA_SS(type, transposed_b, 80, 5, 40, 41, 42);       \
    if constexpr (kN == 96) KG_WGMMA_SS(type, transposed_b, 96, 6, 48, 49, 50);       \
    if constexpr (kN == 112) KG_WGMMA_SS(type, transposed_b, 112, 7, 56, 57, 58);     \
    if constexpr (kN == 128) KG_WGMMA_SS(type, transposed_b, 128, 8, 64, 65, 66);     \
    if constexpr (kN == 144) KG_WGMMA_SS(type, transposed_b, 144, 9, 72, 73, 74);     \
    if constexpr (kN == 160) KG_WGMMA_SS(type, transposed_b, 160, 10, 80, 81, 82);    \
    if constexpr (kN == 176) KG_WGMMA_SS(type, transposed_b, 176, 11, 88, 89, 90);    \
    if constexpr (kN == 192) KG_WGMMA_SS(type, transposed_b, 192, 12, 96, 97, 98);    \
    if constexpr (kN == 208) KG_WGMMA_SS(type, transposed_b, 208, 13, 104, 105, 106); \
    if constexpr (kN == 224) KG_WGMMA_SS(type, transposed_b, 224, 14, 112, 113, 114); \
    if constexpr (kN == 240) KG_WGMMA_SS(type, transposed_b, 240, 15, 120, 121, 122); \
    if constexpr (kN == 256) KG_WGMMA_SS(type, transposed_b, 256, 16, 128, 129, 130)
#define KG_WGMMA_EACH_RS(type)                                                         \
    if constexpr (kN == 16) KG_WGMMA_RS(type, 16, 1, 8, 9, 10, 11, 12, 13);            \
    if constexpr (kN == 32) KG_WGMMA_RS(type, 32, 2, 16, 17, 18, 19, 20, 21);          \
    if constexpr (kN == 48) KG_WGMMA_RS(type, 48, 3, 24, 25, 26, 27, 28, 29);          \
    if constexpr (kN == 64) KG_WGMMA_RS(type, 64, 4, 32, 33, 34, 35, 36, 37);          \
    if constexpr (kN == 80) KG_WGMMA_RS(type, 80, 5, 40, 41, 42, 43, 44, 45);          \
    if constexpr (kN == 96) KG_WGMMA_RS(type, 96, 6, 48, 49, 50, 51, 52, 53);          \
    if constexpr (kN == 112) KG_WGMMA_RS(type, 112, 7, 56, 57, 58, 59, 60, 61);        \
    if constexpr (kN == 128) KG_WGMMA_RS(type, 128, 8, 64, 65, 66, 67, 68, 69);        \
    if constexpr (kN == 144) KG_WGMMA_RS(type, 144, 9, 72, 73, 74, 75, 76, 77);        \
    if constexpr (kN == 160) KG_WGMMA_RS(type, 160, 10, 80, 81, 82, 83, 84, 85);       \
    if constexpr (kN == 176) KG_WGMMA_RS(type, 176, 11, 88, 89, 90, 91, 92, 93);       \
    if constexpr (kN == 192) KG_WGMMA_RS(type, 192, 12, 96, 97, 98, 99, 100, 101);     \
    if constexpr (kN == 208) KG_WGMMA_RS(type, 208, 13, 104, 105, 106, 107, 108, 109); \
    if constexpr (kN == 224) KG_WGMMA_RS(type, 224, 14, 112, 113, 114, 115, 116, 117); \
    if constexpr (kN == 240) KG_WGMMA_RS(type, 240, 15, 120, 121, 122, 123, 124, 125); \
    if constexpr (kN == 256) KG_WGMMA_RS(type, 256, 16, 128, 129, 130, 131, 132, 133)
#endif

/// Both operands in shared memory (wgmma_descriptor), A K-major, B as `kMajorB` says. `accumulate` false
/// overwrites D. All 128 threads, same arguments.
template <int kN, Element kElement, Major kMajorB = Major::K>
KG_DEVICE void mma(float (&d)[kN / 2], uint64_t a, uint64_t b_descriptor, bool accumulate KG_SITE) {
    static_assert(kN % 16 == 0 && kN >= 16 && kN <= 256, "these wrappers cover N = 16..256 in steps of 16");
    static_assert(kElement == Element::F16 || kElement == Element::BF16, "these wrappers cover 16-bit operands");
#if KG_HOST_MODEL
    host_model::wgmma_mma({.accumulators = d,
                           .n = kN,
                           .a = a,
                           .a_registers = nullptr,
                           .b = b_descriptor,
                           .b_mn_major = kMajorB == Major::MN,
                           .element = kElement,
                           .accumulate = accumulate},
                          KG_AT("wgmma.mma_async"));
#else
    if constexpr (kElement == Element::BF16 && kMajorB == Major::K) {
        KG_WGMMA_EACH_SS("bf16", "0");
    } else if constexpr (kElement == Element::BF16) {
        KG_WGMMA_EACH_SS("bf16", "1");
    } else if constexpr (kMajorB == Major::K) {
        KG_WGMMA_EACH_SS("f16", "0");
    } else {
        KG_WGMMA_EACH_SS("f16", "1");
    }
#endif
}

/// A from registers: word j of a thread holds row 16w + l/4 + 8*(j%2), k = 2*(l%4) + 8*(j/2) + {0, 1}.
template <int kN, Element kElement>
KG_DEVICE void mma(float (&d)[kN / 2], const uint32_t (&a)[4], uint64_t b_descriptor, bool accumulate KG_SITE) {
    static_assert(kN % 16 == 0 && kN >= 16 && kN <= 256, "these wrappers cover N = 16..256 in steps of 16");
    static_assert(kElement == Element::F16 || kElement == Element::BF16, "these wrappers cover 16-bit operands");
#if KG_HOST_MODEL
    host_model::wgmma_mma({.accumulators = d,
                           .n = kN,
                           .a = 0,
                           .a_registers = a,
                           .b = b_descriptor,
                           .b_mn_major = false,
                           .element = kElement,
                           .accumulate = accumulate},
                          KG_AT("wgmma.mma_async"));
#else
    if constexpr (kElement == Element::BF16) {
        KG_WGMMA_EACH_RS("bf16");
    } else {
        KG_WGMMA_EACH_RS("f16");
    }
#endif
}

/// D[64, N] (+)= A[64, 32] * B[N, 32]^T, A of u8 and B of s8, both K-major in shared memory, with int32 sums that wrap.
/// PTX ISA, wgmma.mma_async with .u8 and .s8.
template <int kN>
KG_DEVICE void multiply_bytes(int32_t (&d)[kN / 2], uint64_t a, uint64_t b_descriptor, bool accumulate KG_SITE) {
    static_assert(kN == 32 || kN == 64 || kN == 96 || kN == 128 || kN == 192, "the sizes that kernels use");
#if KG_HOST_MODEL
    host_model::wgmma_mma({.accumulators = d,
                           .n = kN,
                           .a = a,
                           .a_registers = nullptr,
                           .b = b_descriptor,
                           .b_mn_major = false,
                           .element = Element::U8,
                           .accumulate = accumulate},
                          KG_AT("wgmma.mma_async"));
#else
    if constexpr (kN == 32) KG_WGMMA_BYTES(32, 2, 16, 17, 18);
    if constexpr (kN == 64) KG_WGMMA_BYTES(64, 4, 32, 33, 34);
    if constexpr (kN == 96) KG_WGMMA_BYTES(96, 6, 48, 49, 50);
    if constexpr (kN == 128) KG_WGMMA_BYTES(128, 8, 64, 65, 66);
    if constexpr (kN == 192) KG_WGMMA_BYTES(192, 12, 96, 97, 98);
#endif
}

}  // namespace kinetograph::isa::wgmma
