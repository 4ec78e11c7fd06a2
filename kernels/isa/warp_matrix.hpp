#pragma once

#include <kinetograph/kernels/isa/descriptors.hpp>
#include <kinetograph/kernels/isa/target.hpp>

/// Matrix products of one warp with operands in registers, sm_80 and later. PTX ISA, mma.sync, ldmatrix.
///
/// Lane l = 4 g + t of the warp holds, of a product D[16, 8] += A[16, 16] * B[8, 16]^T:
///   a[0..3]  two elements each: (row g, k 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8)
///   b[0..1]  (column g, k 2t), (g, 2t + 8)
///   d[0..3]  (row g, columns 2t and 2t + 1), (row g + 8, the same)
namespace kinetograph::isa {

/// Reads four 8 x 8 matrices of 16-bit elements. Lane l supplies the shared-memory address of row l % 8 of matrix l / 8
/// (16 bytes, 16-byte aligned). words[i] is word l % 4 of row l / 4 of matrix i; transposed, elements 2 (l % 4) and 2
/// (l % 4) + 1 of column l / 4.
template <bool kTransposed = false>
KG_DEVICE void load_matrices(uint32_t (&words)[4], uint32_t row KG_SITE) {
#if KG_HOST_MODEL
    host_model::ldmatrix({.words = words, .row = row, .matrices = 4, .transposed = kTransposed}, KG_AT("ldmatrix.x4"));
#else
    if constexpr (kTransposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(row)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(row)
                     : "memory");
    }
#endif
}

/// Two matrices: lanes 0 to 15 supply the addresses, those of the other lanes are ignored.
template <bool kTransposed = false>
KG_DEVICE void load_matrices(uint32_t (&words)[2], uint32_t row KG_SITE) {
#if KG_HOST_MODEL
    host_model::ldmatrix({.words = words, .row = row, .matrices = 2, .transposed = kTransposed}, KG_AT("ldmatrix.x2"));
#else
    if constexpr (kTransposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(words[0]), "=r"(words[1])
                     : "r"(row)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(words[0]), "=r"(words[1])
                     : "r"(row)
                     : "memory");
    }
#endif
}

/// Writes four 8 x 8 matrices of 16-bit elements: load_matrices backwards. sm_90 and later. PTX ISA, stmatrix.
KG_DEVICE void store_matrices(uint32_t row, const uint32_t (&words)[4] KG_SITE) {
#if KG_HOST_MODEL
    host_model::stmatrix(words, row, KG_AT("stmatrix.x4"));
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(words[0]),
                 "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
#endif
}

/// Fragments of kCount operands of 16 rows each, `stride` bytes apart.
template <uint32_t kCount>
KG_DEVICE void load_matrices(uint32_t (&a)[kCount][4], uint32_t row, uint32_t stride KG_SITE) {
#if KG_HOST_MODEL
    host_model::ldmatrix({.words = a[0], .row = row, .matrices = 4, .loads = kCount, .stride = stride},
                         KG_AT("ldmatrix.x4"));
#else
    KG_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) load_matrices(a[i], row + i * stride);
#endif
}

/// Fragments of kCount operands of 8 columns each, two at a time, pairs `stride` bytes apart.
template <uint32_t kCount>
KG_DEVICE void load_matrices(uint32_t (&b)[kCount][2], uint32_t row, uint32_t stride KG_SITE) {
    static_assert(kCount % 2 == 0, "one instruction loads two");
#if KG_HOST_MODEL
    host_model::ldmatrix({.words = b[0], .row = row, .matrices = 4, .loads = kCount / 2, .stride = stride},
                         KG_AT("ldmatrix.x4"));
#else
    KG_UNROLL
    for (uint32_t j = 0; j < kCount; j += 2) {
        uint32_t pair[4];
        load_matrices(pair, row + j / 2 * stride);
        b[j][0] = pair[0];
        b[j][1] = pair[1];
        b[j + 1][0] = pair[2];
        b[j + 1][1] = pair[3];
    }
#endif
}

/// d += a * b^T in fp32; elements are Element::BF16 or F16.
template <Element kElement>
KG_DEVICE void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2] KG_SITE) {
    static_assert(kElement == Element::BF16 || kElement == Element::F16, "m16n8k16 takes 16-bit elements");
#if KG_HOST_MODEL
    host_model::mma_sync({.d = d, .a = a, .b = b, .bfloat16 = kElement == Element::BF16}, KG_AT("mma.sync.m16n8k16"));
#else
    if constexpr (kElement == Element::BF16) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
#endif
}

/// Every d[i][j] += a[i] * b[j]^T, row by row.
template <Element kElement, uint32_t kM, uint32_t kN>
KG_DEVICE void multiply_add(float (&d)[kM][kN][4], const uint32_t (&a)[kM][4], const uint32_t (&b)[kN][2] KG_SITE) {
#if KG_HOST_MODEL
    static_assert(kElement == Element::BF16 || kElement == Element::F16, "m16n8k16 takes 16-bit elements");
    host_model::mma_sync({.d = d[0][0], .a = a[0], .b = b[0], .m = kM, .n = kN, .bfloat16 = kElement == Element::BF16},
                         KG_AT("mma.sync.m16n8k16"));
#else
    KG_UNROLL
    for (uint32_t i = 0; i < kM; ++i) {
        KG_UNROLL
        for (uint32_t j = 0; j < kN; ++j) multiply_add<kElement>(d[i][j], a[i], b[j]);
    }
#endif
}

}  // namespace kinetograph::isa
