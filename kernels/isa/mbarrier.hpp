#pragma once

#include <kinetograph/kernels/isa/shared_memory.hpp>

/// Barriers in shared memory. PTX ISA, mbarrier.
///
/// A phase completes when all its expected arrivals and bytes have arrived. The low bit of its number is the parity
/// that waiters name. On a fresh barrier, parity 1 counts as complete, so that a producer finds its first stages empty:
///
///   current phase      0        1        2
///   wait(0)        waits  returns    waits
///   wait(1)      returns    waits  returns
namespace kinetograph::isa::mbarrier {

struct alignas(8) Barrier {
    uint64_t bits;
};

/// Before any other use, by one thread; then fence_barrier_init and a barrier of threads. `count` is 1..2^20-1.
KG_DEVICE void init(Barrier& barrier, uint32_t count KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_init(&barrier, count, KG_AT("mbarrier.init"));
#else
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(count) : "memory");
#endif
}

/// Ends the barrier's life: its bytes may be reused.
KG_DEVICE void invalidate(Barrier& barrier KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_invalidate(&barrier, KG_AT("mbarrier.inval"));
#else
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
#endif
}

/// One arrival of this thread.
KG_DEVICE void arrive(Barrier& barrier KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_arrive(&barrier, 0, KG_AT("mbarrier.arrive"));
#else
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
#endif
}

/// One arrival that also announces `bytes`, which asynchronous copies will deliver in this phase.
KG_DEVICE void arrive_expect(Barrier& barrier, uint32_t bytes KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_arrive(&barrier, bytes, KG_AT("mbarrier.arrive.expect_tx"));
#else
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
                 : "memory");
#endif
}

/// One arrival at a barrier of any CTA of the cluster. The default form, because `.release.cluster` halves the speed of
/// a mainloop on SM90.
KG_DEVICE void arrive(ClusterAddress barrier KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_arrive_remote(barrier.value, 0, KG_AT("mbarrier.arrive.shared::cluster"));
#else
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier.value) : "memory");
#endif
}
KG_DEVICE void arrive_expect(ClusterAddress barrier, uint32_t bytes KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_arrive_remote(barrier.value, bytes, KG_AT("mbarrier.arrive.expect_tx.shared::cluster"));
#else
    asm volatile("mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value), "r"(bytes)
                 : "memory");
#endif
}

/// One arrival at a barrier of any CTA of the cluster, for data stored in its shared memory: by this thread, or by
/// others before a barrier that this thread has passed since. The other side waits with wait_acquire.
KG_DEVICE void arrive_release(ClusterAddress barrier KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_arrive_release(barrier.value, KG_AT("mbarrier.arrive.release.cluster"));
#else
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier.value) : "memory");
#endif
}

/// Announces `bytes` without arriving.
KG_DEVICE void expect(Barrier& barrier, uint32_t bytes KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_expect(&barrier, bytes, KG_AT("mbarrier.expect_tx"));
#else
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
                 : "memory");
#endif
}

/// Waits until the phase of this parity is complete. Every waiting thread polls: one lane polling for its warp is
/// slower.
KG_DEVICE void wait(Barrier& barrier, uint32_t parity KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_wait(&barrier, parity, KG_AT("mbarrier.try_wait.parity"));
#else
    asm volatile(
        "{\n.reg .pred done;\n"
        "kg_wait:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra kg_done;\n"
        "bra kg_wait;\n"
        "kg_done:\n}" ::"r"(shared_address(&barrier)),
        "r"(parity)
        : "memory");
#endif
}

/// The same; afterwards the thread may read what threads of the cluster stored before arrive_release.
KG_DEVICE void wait_acquire(Barrier& barrier, uint32_t parity KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_wait(&barrier, parity, KG_AT("mbarrier.try_wait.parity.acquire.cluster"));
#else
    asm volatile(
        "{\n.reg .pred done;\n"
        "kg_wait:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@done bra kg_done;\n"
        "bra kg_wait;\n"
        "kg_done:\n}" ::"r"(shared_address(&barrier)),
        "r"(parity)
        : "memory");
#endif
}

/// Whether the phase of this parity is complete, without waiting. PTX ISA, mbarrier.test_wait.
KG_DEVICE bool test(Barrier& barrier, uint32_t parity KG_SITE) {
#if KG_HOST_MODEL
    return host_model::mbarrier_test(&barrier, parity, KG_AT("mbarrier.test_wait.parity"));
#else
    uint32_t over = 0;
    asm volatile(
        "{\n.reg .pred over;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 over, [%1], %2;\n"
        "selp.b32 %0, 1, 0, over;\n}"
        : "=r"(over)
        : "r"(shared_address(&barrier)), "r"(parity)
        : "memory");
    return over != 0;
#endif
}

/// Asserts that the phase of this parity is complete here, where no result of the kernel would show that it is not.
/// The host model checks it; on the chip it costs nothing.
KG_DEVICE void promise_over([[maybe_unused]] const Barrier& barrier, [[maybe_unused]] uint32_t parity,
                            [[maybe_unused]] const char* promise KG_SITE) {
#if KG_HOST_MODEL
    host_model::mbarrier_promise(&barrier, parity, {promise, site});
#endif
}

}  // namespace kinetograph::isa::mbarrier
