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

/// Reads four 8 x 8 matrices of 16-bit elements: lane l gives the shared-memory address of row l % 8 of matrix l / 8
/// (16 bytes, 16-byte aligned); words[i] is the word l % 4 of row l / 4 of matrix i, or, transposed, the elements 2 (l
/// % 4) and 2 (l % 4) + 1 of column l / 4.
template <bool kTransposed = false>
KG_DEVICE void load_matrices(uint32_t (&words)[4], uint32_t row KG_SITE) {
#if KG_HOST_MODEL
    host_model::ldmatrix(words, 4, row, kTransposed, KG_AT("ldmatrix.x4"));
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

/// Two matrices: lanes 0 to 15 give the addresses, those of the others are ignored.
template <bool kTransposed = false>
KG_DEVICE void load_matrices(uint32_t (&words)[2], uint32_t row KG_SITE) {
#if KG_HOST_MODEL
    host_model::ldmatrix(words, 2, row, kTransposed, KG_AT("ldmatrix.x2"));
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

/// d += a * b^T in fp32; elements are BFloat16 or Float16.
template <Element kElement>
KG_DEVICE void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2] KG_SITE) {
    static_assert(kElement == Element::BFloat16 || kElement == Element::Float16, "m16n8k16 takes 16-bit elements");
#if KG_HOST_MODEL
    host_model::mma_sync(d, a, b, kElement == Element::BFloat16, KG_AT("mma.sync.m16n8k16"));
#else
    if constexpr (kElement == Element::BFloat16) {
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

}  // namespace kinetograph::isa
