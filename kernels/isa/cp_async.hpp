#pragma once

#include <kinetograph/kernels/isa/shared_memory.hpp>

/// Asynchronous copies from global to shared memory, one thread at a time, sm_80 and later. PTX ISA, cp.async.
///
/// Copies belong to the group that the thread's next commit() closes. wait<n>() returns when all but the newest n
/// groups of *this thread* have landed. Other threads see the data only after a barrier that follows that wait.
namespace kinetograph::isa::cp_async {

/// Whether a copy may hit (and fill) the L1.
enum class Cache : uint8_t { All, L2Only };

/// Copies kBytes (4, 8 or 16) to `destination`, a shared-memory address: the first `source_bytes` of them from
/// `source`, zeros for the rest. Both are aligned to kBytes; `source` must be a valid pointer even if source_bytes is 0
/// and nothing is read. L2Only: 16 bytes only.
template <uint32_t kBytes, Cache kCache = Cache::All>
KG_DEVICE void copy(uint32_t destination, const void* source, uint32_t source_bytes KG_SITE) {
    static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
    static_assert(kCache == Cache::All || kBytes == 16, "cp.async.cg copies 16 bytes");
#if KG_HOST_MODEL
    host_model::cp_async_copy(destination, source, kBytes, source_bytes, KG_AT("cp.async"));
#else
    if constexpr (kCache == Cache::L2Only) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(source_bytes)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(destination), "l"(source), "n"(kBytes),
                     "r"(source_bytes)
                     : "memory");
    }
#endif
}

/// Closes a group; a group without copies also counts.
KG_DEVICE void commit(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::cp_async_commit(KG_AT("cp.async.commit_group"));
#else
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most `kPending` of this thread's groups are in flight.
template <uint32_t kPending>
KG_DEVICE void wait(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::cp_async_wait(kPending, KG_AT("cp.async.wait_group"));
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace kinetograph::isa::cp_async
