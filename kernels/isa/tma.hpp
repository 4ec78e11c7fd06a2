#pragma once

#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/mbarrier.hpp>
#include <kinetograph/kernels/isa/tensor_map.hpp>

/// Asynchronous copies of boxes between global and shared memory. PTX ISA, cp.async.bulk.tensor.
///
/// Coordinates are innermost first, {c, w, h, (d,) n}. The destination is 128-byte aligned. The barrier receives the
/// full box's bytes even if part of the box is outside the tensor (filled with zeros). One elected thread issues.
namespace kinetograph::isa::tma {

template <int kRank>
struct Coordinates {
    int32_t at[kRank];
};
/// im2col: the filter tap {w, h, (d)}, an offset added to every pixel of the walk.
template <int kRank>
struct TapOffsets {
    uint16_t at[kRank - 2];
};

#if !KG_HOST_MODEL
// The PTX of each rank: the map and its coordinates, then their operands. %0 is the destination, %1 the map, %2 the
// barrier.
#define KG_TMA_C2 "[%1, {%3, %4}]"
#define KG_TMA_C3 "[%1, {%3, %4, %5}]"
#define KG_TMA_C4 "[%1, {%3, %4, %5, %6}]"
#define KG_TMA_C5 "[%1, {%3, %4, %5, %6, %7}]"
#define KG_TMA_AT2 "r"(c.at[0]), "r"(c.at[1])
#define KG_TMA_AT3 KG_TMA_AT2, "r"(c.at[2])
#define KG_TMA_AT4 KG_TMA_AT3, "r"(c.at[3])
#define KG_TMA_AT5 KG_TMA_AT4, "r"(c.at[4])
#define KG_TMA_LOAD(rank, form, tail, ...)                                                               \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global." form " [%0], " KG_TMA_C##rank \
                 ", [%2]" tail ";" ::"r"(shared_address(destination)),                                   \
                 "l"(&map), "r"(signal), KG_TMA_AT##rank __VA_OPT__(, ) __VA_ARGS__                      \
                 : "memory")
#define KG_TMA_STORE(rank, form)                                                                          \
    asm volatile("cp.async.bulk.tensor." #rank "d.global.shared::cta." form ".bulk_group " KG_TMA_C##rank \
                 ", [%0];" ::"r"(shared_address(source)),                                                 \
                 "l"(&map), "r"(0), KG_TMA_AT##rank                                                       \
                 : "memory")
#endif

/// Prefetches the map itself. PTX ISA, prefetch.tensormap.
KG_DEVICE void prefetch(const TensorMap& map KG_SITE) {
#if KG_HOST_MODEL
    host_model::tma_prefetch(&map, KG_AT("prefetch.tensormap"));
#else
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

/// Loads a tiled box; `full` receives box_bytes.
template <int kRank>
KG_DEVICE void load_tiled(void* destination, const TensorMap& map, const Coordinates<kRank>& c,
                          mbarrier::Barrier& full KG_SITE) {
    static_assert(kRank >= 2 && kRank <= 5);
#if KG_HOST_MODEL
    const auto at = KG_AT("cp.async.bulk.tensor load");
    host_model::tma_load({destination, &map, c.at, kRank, nullptr}, host_model::shared_address(&full, at), {}, at);
#else
    const uint32_t signal = shared_address(&full);
    if constexpr (kRank == 2) KG_TMA_LOAD(2, "tile.mbarrier::complete_tx::bytes", "");
    if constexpr (kRank == 3) KG_TMA_LOAD(3, "tile.mbarrier::complete_tx::bytes", "");
    if constexpr (kRank == 4) KG_TMA_LOAD(4, "tile.mbarrier::complete_tx::bytes", "");
    if constexpr (kRank == 5) KG_TMA_LOAD(5, "tile.mbarrier::complete_tx::bytes", "");
#endif
}

/// Loads a tiled box to the same offset in every CTA in `ranks` (bit = rank); each CTA's barrier at `full`'s offset
/// receives box_bytes.
template <int kRank>
KG_DEVICE void load_tiled_multicast(void* destination, const TensorMap& map, const Coordinates<kRank>& c,
                                    mbarrier::Barrier& full, uint16_t ranks KG_SITE) {
    static_assert(kRank >= 2 && kRank <= 5);
#if KG_HOST_MODEL
    const auto at = KG_AT("cp.async.bulk.tensor load multicast");
    host_model::tma_load({destination, &map, c.at, kRank, nullptr}, host_model::shared_address(&full, at),
                         {.multicast = true, .ranks = ranks}, at);
#else
    const uint32_t signal = shared_address(&full);
    if constexpr (kRank == 2)
        KG_TMA_LOAD(2, "tile.mbarrier::complete_tx::bytes.multicast::cluster", ", %5", "h"(ranks));
    if constexpr (kRank == 3)
        KG_TMA_LOAD(3, "tile.mbarrier::complete_tx::bytes.multicast::cluster", ", %6", "h"(ranks));
    if constexpr (kRank == 4)
        KG_TMA_LOAD(4, "tile.mbarrier::complete_tx::bytes.multicast::cluster", ", %7", "h"(ranks));
    if constexpr (kRank == 5)
        KG_TMA_LOAD(5, "tile.mbarrier::complete_tx::bytes.multicast::cluster", ", %8", "h"(ranks));
#endif
}

/// Loads a column of pixels that walks the map's bounding box from base `c`, each read at base + tap. The base must lie
/// in the bounding box in w, h and d (else: illegal instruction); n and c may be outside (zeros). PTX ISA, im2col mode.
template <int kRank>
KG_DEVICE void load_im2col(void* destination, const TensorMap& map, const Coordinates<kRank>& c,
                           const TapOffsets<kRank>& tap, mbarrier::Barrier& full KG_SITE) {
    static_assert(kRank >= 3 && kRank <= 5);
#if KG_HOST_MODEL
    const auto at = KG_AT("cp.async.bulk.tensor im2col load");
    host_model::tma_load({destination, &map, c.at, kRank, tap.at}, host_model::shared_address(&full, at), {}, at);
#else
    const uint32_t signal = shared_address(&full);
    if constexpr (kRank == 3) KG_TMA_LOAD(3, "im2col.mbarrier::complete_tx::bytes", ", {%6}", "h"(tap.at[0]));
    if constexpr (kRank == 4)
        KG_TMA_LOAD(4, "im2col.mbarrier::complete_tx::bytes", ", {%7, %8}", "h"(tap.at[0]), "h"(tap.at[1]));
    if constexpr (kRank == 5)
        KG_TMA_LOAD(5, "im2col.mbarrier::complete_tx::bytes", ", {%8, %9, %10}", "h"(tap.at[0]), "h"(tap.at[1]),
                    "h"(tap.at[2]));
#endif
}

template <int kRank>
KG_DEVICE void load_im2col_multicast(void* destination, const TensorMap& map, const Coordinates<kRank>& c,
                                     const TapOffsets<kRank>& tap, mbarrier::Barrier& full, uint16_t ranks KG_SITE) {
    static_assert(kRank == 4 || kRank == 5);
#if KG_HOST_MODEL
    const auto at = KG_AT("cp.async.bulk.tensor im2col load multicast");
    host_model::tma_load({destination, &map, c.at, kRank, tap.at}, host_model::shared_address(&full, at),
                         {.multicast = true, .ranks = ranks}, at);
#else
    const uint32_t signal = shared_address(&full);
    if constexpr (kRank == 4)
        KG_TMA_LOAD(4, "im2col.mbarrier::complete_tx::bytes.multicast::cluster", ", {%7, %8}, %9", "h"(tap.at[0]),
                    "h"(tap.at[1]), "h"(ranks));
    if constexpr (kRank == 5)
        KG_TMA_LOAD(5, "im2col.mbarrier::complete_tx::bytes.multicast::cluster", ", {%8, %9, %10}, %11", "h"(tap.at[0]),
                    "h"(tap.at[1]), "h"(tap.at[2]), "h"(ranks));
#endif
}

/// Loads into this CTA and signals the barrier of the pair's leader, from either CTA of the pair (sm_100: the
/// cta_group::2 form; bit 24 of a cluster address is the low bit of the rank).
template <int kRank>
KG_DEVICE void load_tiled_pair(void* destination, const TensorMap& map, const Coordinates<kRank>& c,
                               mbarrier::Barrier& leaders_full KG_SITE) {
    static_assert(kRank >= 2 && kRank <= 5);
#if KG_HOST_MODEL
    const auto at = KG_AT("cp.async.bulk.tensor load cta_group::2");
    host_model::tma_load({destination, &map, c.at, kRank, nullptr},
                         host_model::shared_address(&leaders_full, at) & 0xfeffffffu, {.pair = true}, at);
#else
    const uint32_t signal = shared_address(&leaders_full) & 0xfeffffffu;
    if constexpr (kRank == 2) KG_TMA_LOAD(2, "tile.mbarrier::complete_tx::bytes.cta_group::2", "");
    if constexpr (kRank == 3) KG_TMA_LOAD(3, "tile.mbarrier::complete_tx::bytes.cta_group::2", "");
    if constexpr (kRank == 4) KG_TMA_LOAD(4, "tile.mbarrier::complete_tx::bytes.cta_group::2", "");
    if constexpr (kRank == 5) KG_TMA_LOAD(5, "tile.mbarrier::complete_tx::bytes.cta_group::2", "");
#endif
}
template <int kRank>
KG_DEVICE void load_im2col_pair(void* destination, const TensorMap& map, const Coordinates<kRank>& c,
                                const TapOffsets<kRank>& tap, mbarrier::Barrier& leaders_full KG_SITE) {
    static_assert(kRank == 4 || kRank == 5);
#if KG_HOST_MODEL
    const auto at = KG_AT("cp.async.bulk.tensor im2col load cta_group::2");
    host_model::tma_load({destination, &map, c.at, kRank, tap.at},
                         host_model::shared_address(&leaders_full, at) & 0xfeffffffu, {.pair = true}, at);
#else
    const uint32_t signal = shared_address(&leaders_full) & 0xfeffffffu;
    if constexpr (kRank == 4)
        KG_TMA_LOAD(4, "im2col.mbarrier::complete_tx::bytes.cta_group::2", ", {%7, %8}", "h"(tap.at[0]),
                    "h"(tap.at[1]));
    if constexpr (kRank == 5)
        KG_TMA_LOAD(5, "im2col.mbarrier::complete_tx::bytes.cta_group::2", ", {%8, %9, %10}", "h"(tap.at[0]),
                    "h"(tap.at[1]), "h"(tap.at[2]));
#endif
}

/// Multicast and pair in one: loads the box to the same offset in every CTA in `ranks` and signals, in each
/// destination's pair, the CTA whose rank has the leader's parity. PTX ISA, cp.async.bulk.tensor,
/// .multicast::cluster.cta_group::2.
template <int kRank>
KG_DEVICE void load_tiled_pair_multicast(void* destination, const TensorMap& map, const Coordinates<kRank>& c,
                                         mbarrier::Barrier& leaders_full, uint16_t ranks KG_SITE) {
    static_assert(kRank >= 2 && kRank <= 5);
#if KG_HOST_MODEL
    const auto at = KG_AT("cp.async.bulk.tensor load multicast cta_group::2");
    host_model::tma_load({destination, &map, c.at, kRank, nullptr},
                         host_model::shared_address(&leaders_full, at) & 0xfeffffffu,
                         {.multicast = true, .ranks = ranks, .pair = true}, at);
#else
    const uint32_t signal = shared_address(&leaders_full) & 0xfeffffffu;
    if constexpr (kRank == 2)
        KG_TMA_LOAD(2, "tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2", ", %5", "h"(ranks));
    if constexpr (kRank == 3)
        KG_TMA_LOAD(3, "tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2", ", %6", "h"(ranks));
    if constexpr (kRank == 4)
        KG_TMA_LOAD(4, "tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2", ", %7", "h"(ranks));
    if constexpr (kRank == 5)
        KG_TMA_LOAD(5, "tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2", ", %8", "h"(ranks));
#endif
}
template <int kRank>
KG_DEVICE void load_im2col_pair_multicast(void* destination, const TensorMap& map, const Coordinates<kRank>& c,
                                          const TapOffsets<kRank>& tap, mbarrier::Barrier& leaders_full,
                                          uint16_t ranks KG_SITE) {
    static_assert(kRank == 4 || kRank == 5);
#if KG_HOST_MODEL
    const auto at = KG_AT("cp.async.bulk.tensor im2col load multicast cta_group::2");
    host_model::tma_load({destination, &map, c.at, kRank, tap.at},
                         host_model::shared_address(&leaders_full, at) & 0xfeffffffu,
                         {.multicast = true, .ranks = ranks, .pair = true}, at);
#else
    const uint32_t signal = shared_address(&leaders_full) & 0xfeffffffu;
    if constexpr (kRank == 4)
        KG_TMA_LOAD(4, "im2col.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2", ", {%7, %8}, %9",
                    "h"(tap.at[0]), "h"(tap.at[1]), "h"(ranks));
    if constexpr (kRank == 5)
        KG_TMA_LOAD(5, "im2col.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2", ", {%8, %9, %10}, %11",
                    "h"(tap.at[0]), "h"(tap.at[1]), "h"(tap.at[2]), "h"(ranks));
#endif
}

/// Stores a tiled box; elements past the tensor's ends are dropped. Coordinates must not be negative: a load may begin
/// before the tensor, but such a store is an illegal instruction (seen on an H200 in ranks 2, 4 and 5, on every axis).
/// Belongs to this thread's next bulk group.
template <int kRank>
KG_DEVICE void store_tiled(const TensorMap& map, const Coordinates<kRank>& c, const void* source KG_SITE) {
    static_assert(kRank >= 2 && kRank <= 5);
#if KG_HOST_MODEL
    host_model::tma_store({const_cast<void*>(source), &map, c.at, kRank, nullptr}, KG_AT("cp.async.bulk.tensor store"));
#else
    if constexpr (kRank == 2) KG_TMA_STORE(2, "tile");
    if constexpr (kRank == 3) KG_TMA_STORE(3, "tile");
    if constexpr (kRank == 4) KG_TMA_STORE(4, "tile");
    if constexpr (kRank == 5) KG_TMA_STORE(5, "tile");
#endif
}

/// Closes this thread's bulk group. PTX ISA, cp.async.bulk.commit_group.
KG_DEVICE void commit_stores(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::bulk_commit(KG_AT("cp.async.bulk.commit_group"));
#else
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

/// Waits until at most `kPending` of this thread's groups have yet to read their shared memory: the sources of older
/// groups may be reused.
template <uint32_t kPending>
KG_DEVICE void wait_stores_read(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::bulk_wait(kPending, true, KG_AT("cp.async.bulk.wait_group.read"));
#else
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
#endif
}
/// Waits until at most `kPending` of this thread's groups have yet to reach global memory.
template <uint32_t kPending>
KG_DEVICE void wait_stores(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::bulk_wait(kPending, false, KG_AT("cp.async.bulk.wait_group"));
#else
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace kinetograph::isa::tma
