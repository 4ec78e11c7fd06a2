#pragma once

#include <kinetograph/kernels/isa/target.hpp>

/// Barriers of threads inside one CTA; warps arrive converged. PTX ISA, bar / barrier (.aligned).
namespace kinetograph::isa {

/// Waits for every thread of the CTA.
KG_DEVICE void sync_cta(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::named_barrier(0, 0, true, KG_AT("bar.sync 0"));
#else
    __syncthreads();
#endif
}

/// Waits at barrier `id` (1..15; 0 is sync_cta's) until `threads` threads, a multiple of 32, have arrived.
KG_DEVICE void sync_named(uint32_t id, uint32_t threads KG_SITE) {
#if KG_HOST_MODEL
    host_model::named_barrier(id, threads, true, KG_AT("bar.sync"));
#else
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

/// Counts at barrier `id` without waiting.
KG_DEVICE void arrive_named(uint32_t id, uint32_t threads KG_SITE) {
#if KG_HOST_MODEL
    host_model::named_barrier(id, threads, false, KG_AT("bar.arrive"));
#else
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

}  // namespace kinetograph::isa
