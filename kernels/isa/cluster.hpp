#pragma once

#include <kinetograph/kernels/isa/shared_memory.hpp>

/// The CTAs of one cluster: ranks, the cluster's barrier, access to each other's shared memory.
namespace kinetograph::isa {

/// PTX ISA, Special registers: %cluster_ctarank.
KG_DEVICE uint32_t cluster_rank() {
#if KG_HOST_MODEL
    return host_model::cluster_rank();
#else
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
#endif
}

/// CTAs in the cluster. PTX ISA, Special registers: %cluster_nctarank.
KG_DEVICE uint32_t cluster_size() {
#if KG_HOST_MODEL
    return host_model::cluster_size();
#else
    uint32_t size;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
#endif
}

/// Counts this thread at the cluster's barrier; its writes are visible to those that wait. PTX ISA,
/// barrier.cluster.arrive.
KG_DEVICE void arrive_cluster(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::cluster_arrive(KG_AT("barrier.cluster.arrive"));
#else
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

/// Waits until every thread of the cluster has arrived. PTX ISA, barrier.cluster.wait.
KG_DEVICE void wait_cluster(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::cluster_wait(KG_AT("barrier.cluster.wait"));
#else
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

KG_DEVICE void sync_cluster(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    arrive_cluster(site);
    wait_cluster(site);
#else
    arrive_cluster();
    wait_cluster();
#endif
}

/// The address in CTA `rank` that corresponds to `pointer` in this CTA. PTX ISA, mapa.
KG_DEVICE ClusterAddress map_to_rank(const void* pointer, uint32_t rank KG_SITE) {
#if KG_HOST_MODEL
    return {host_model::map_to_rank(pointer, rank, KG_AT("mapa.shared::cluster"))};
#else
    uint32_t address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(pointer)), "r"(rank));
    return {address};
#endif
}

/// Reads and writes 32 bits of any CTA of the cluster. PTX ISA, ld / st .shared::cluster.
KG_DEVICE uint32_t load_cluster(ClusterAddress source KG_SITE) {
#if KG_HOST_MODEL
    return host_model::cluster_load(source.value, KG_AT("ld.shared::cluster"));
#else
    uint32_t value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(source.value) : "memory");
    return value;
#endif
}
KG_DEVICE void store_cluster(ClusterAddress destination, uint32_t value KG_SITE) {
#if KG_HOST_MODEL
    host_model::cluster_store(destination.value, value, KG_AT("st.shared::cluster"));
#else
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(destination.value), "r"(value) : "memory");
#endif
}

}  // namespace kinetograph::isa
