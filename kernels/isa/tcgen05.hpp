#pragma once

#include <kinetograph/kernels/isa/descriptors.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>
#include <kinetograph/kernels/isa/register_lists.hpp>

/// Fifth-generation tensor cores and their tensor memory, sm_100f. PTX ISA, tcgen05.
///
/// Tensor memory is 128 lanes x 512 columns of 32 bits; an address is lane << 16 | column. `kGroup` is 1 or 2 CTAs and
/// the same in every instruction of a kernel. One thread issues mma and commit; alloc, dealloc, load and waits take a
/// whole warp.
namespace kinetograph::isa::tcgen05 {

/// One warp (of each CTA of the group) reserves `columns` (32..512, a power of two). The address is written to `*slot`,
/// which other warps read after a barrier and fence_after_sync. PTX ISA, tcgen05.alloc.
template <int kGroup>
KG_DEVICE void alloc(uint32_t* slot, uint32_t columns KG_SITE) {
    static_assert(kGroup == 1 || kGroup == 2);
#if KG_HOST_MODEL
    host_model::tensor_alloc(slot, columns, kGroup, KG_AT("tcgen05.alloc"));
#else
    if constexpr (kGroup == 1)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(slot)),
                     "r"(columns)
                     : "memory");
    else
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(slot)),
                     "r"(columns)
                     : "memory");
#endif
}

/// Frees the columns; every load and product on them must be complete. PTX ISA, tcgen05.dealloc.
template <int kGroup>
KG_DEVICE void dealloc(uint32_t address, uint32_t columns KG_SITE) {
    static_assert(kGroup == 1 || kGroup == 2);
#if KG_HOST_MODEL
    host_model::tensor_dealloc(address, columns, kGroup, KG_AT("tcgen05.dealloc"));
#else
    if constexpr (kGroup == 1)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns));
    else
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns));
#endif
}

/// This CTA allocates no more, so that another CTA may. PTX ISA, tcgen05.relinquish_alloc_permit.
template <int kGroup>
KG_DEVICE void relinquish(KG_SITE_ONLY) {
    static_assert(kGroup == 1 || kGroup == 2);
#if KG_HOST_MODEL
    host_model::tensor_relinquish(kGroup, KG_AT("tcgen05.relinquish_alloc_permit"));
#else
    if constexpr (kGroup == 1)
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    else
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
#endif
}

/// D (+)= A * B^T over one k step of 32 bytes; `accumulate` false overwrites D. 8-bit elements take kind::f8f6f4.
/// a, b: tcgen05_descriptor; instruction: tcgen05_instruction. With kGroup 2 only the even CTA's thread issues; each
/// CTA holds its half of A's and of B's rows at the same shared-memory offsets. PTX ISA, tcgen05.mma.
template <int kGroup, Element kElement>
KG_DEVICE void mma(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate KG_SITE) {
    static_assert(kGroup == 1 || kGroup == 2);
#if KG_HOST_MODEL
    host_model::tcgen05_mma({.d = d,
                             .a = a,
                             .b = b,
                             .instruction = instruction,
                             .accumulate = accumulate,
                             .group = kGroup,
                             .element_bytes = element_bytes(kElement)},
                            KG_AT("tcgen05.mma"));
#else
#define KG_TCGEN05_MMA(group, kind)                                                                    \
    asm volatile(                                                                                      \
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %4, 0;\n"                                  \
        "tcgen05.mma.cta_group::" #group ".kind::" #kind " [%0], %1, %2, %3, accumulate;\n}" ::"r"(d), \
        "l"(a), "l"(b), "r"(instruction), "r"(static_cast<uint32_t>(accumulate))                       \
        : "memory")
    if constexpr (element_bytes(kElement) == 2) {
        if constexpr (kGroup == 1)
            KG_TCGEN05_MMA(1, f16);
        else
            KG_TCGEN05_MMA(2, f16);
    } else {
        if constexpr (kGroup == 1)
            KG_TCGEN05_MMA(1, f8f6f4);
        else
            KG_TCGEN05_MMA(2, f8f6f4);
    }
#undef KG_TCGEN05_MMA
#endif
}

/// `done` gets one arrival when everything issued by this thread so far is complete. PTX ISA, tcgen05.commit.
template <int kGroup>
KG_DEVICE void commit(mbarrier::Barrier& done KG_SITE) {
    static_assert(kGroup == 1 || kGroup == 2);
#if KG_HOST_MODEL
    host_model::tcgen05_commit(&done, 0, kGroup, KG_AT("tcgen05.commit"));
#else
    if constexpr (kGroup == 1)
        asm volatile(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(&done))
            : "memory");
    else
        asm volatile(
            "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(&done))
            : "memory");
#endif
}

/// The same, arriving at `done`'s place in every CTA of `ranks` (bit = rank).
template <int kGroup>
KG_DEVICE void commit_multicast(mbarrier::Barrier& done, uint16_t ranks KG_SITE) {
    static_assert(kGroup == 1 || kGroup == 2);
#if KG_HOST_MODEL
    host_model::tcgen05_commit(&done, ranks, kGroup, KG_AT("tcgen05.commit.multicast"));
#else
    if constexpr (kGroup == 1)
        asm volatile(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                shared_address(&done)),
            "h"(ranks)
            : "memory");
    else
        asm volatile(
            "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                shared_address(&done)),
            "h"(ranks)
            : "memory");
#endif
}

/// Shape 32x32b: register r of a lane is column r of that lane's row. Warp w reaches only lanes 32*(w%4)..+31, and the
/// address names them. Waits for the registers and for this warp's other loads, so that the columns may be reused: one
/// statement with the load, so that no compiler can move a use of the registers between the two. kWaits false is for
/// tests, which plant the fault in the host model. PTX ISA, tcgen05.ld, tcgen05.wait::ld.
template <bool kWaits = true, int kColumns>
KG_DEVICE void read(uint32_t (&values)[kColumns], uint32_t address KG_SITE) {
    static_assert(kColumns == 8 || kColumns == 16 || kColumns == 32 || kColumns == 64 || kColumns == 128);
#if KG_HOST_MODEL
    host_model::tensor_load(values, kColumns, address, KG_AT("tcgen05.ld"));
    if constexpr (kWaits) host_model::tensor_wait_load(KG_AT("tcgen05.wait::ld"));
#else
    static_assert(kWaits, "a chip's code waits");
#define KG_TCGEN05_LD(columns, blocks, at)                                                  \
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x" #columns ".b32 {" KG_REGISTERS_##blocks \
                 "}, [%" #at                                                                \
                 "];"                                                                       \
                 "\ntcgen05.wait::ld.sync.aligned;"                                         \
                 : KG_OPERANDS_##blocks(KG_WORD_OUT, values)                                \
                 : "r"(address)                                                             \
                 : "memory")
    if constexpr (kColumns == 8) KG_TCGEN05_LD(8, 1, 8);
    if constexpr (kColumns == 16) KG_TCGEN05_LD(16, 2, 16);
    if constexpr (kColumns == 32) KG_TCGEN05_LD(32, 4, 32);
    if constexpr (kColumns == 64) KG_TCGEN05_LD(64, 8, 64);
    if constexpr (kColumns == 128) KG_TCGEN05_LD(128, 16, 128);
#undef KG_TCGEN05_LD
#endif
}

#if KG_HOST_MODEL
/// The two halves of read(), for the model's own tests.
template <int kColumns>
KG_DEVICE void load(uint32_t (&values)[kColumns], uint32_t address KG_SITE) {
    host_model::tensor_load(values, kColumns, address, KG_AT("tcgen05.ld"));
}
KG_DEVICE void wait_load(KG_SITE_ONLY) { host_model::tensor_wait_load(KG_AT("tcgen05.wait::ld")); }
#endif

/// Both are needed around every synchronisation that passes tensor memory from one thread to another. PTX ISA,
/// tcgen05.fence.
KG_DEVICE void fence_before_sync(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::tcgen05_fence(true, KG_AT("tcgen05.fence::before_thread_sync"));
#else
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
#endif
}
KG_DEVICE void fence_after_sync(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::tcgen05_fence(false, KG_AT("tcgen05.fence::after_thread_sync"));
#else
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
#endif
}

}  // namespace kinetograph::isa::tcgen05
