#pragma once

#include <kinetograph/kernels/isa/target.hpp>

/// Fences between the generic proxy (ld, st) and the async proxy (TMA, wgmma, tcgen05). PTX ISA, membar / fence.
namespace kinetograph::isa {

/// Makes this thread's earlier shared-memory accesses visible to the async proxy. The *writing* thread executes it
/// and then passes a barrier together with the thread that starts the asynchronous reader.
KG_DEVICE void fence_async_shared(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::fence_async_shared(KG_AT("fence.proxy.async.shared::cta"));
#else
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Makes this thread's mbarrier inits visible to the cluster and to the async proxy; a barrier of threads must follow.
KG_DEVICE void fence_barrier_init(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::fence_barrier_init(KG_AT("fence.mbarrier_init"));
#else
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

}  // namespace kinetograph::isa
