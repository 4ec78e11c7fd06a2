#pragma once

#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>
#include <kinetograph/kernels/isa/wgmma.hpp>
#include <kinetograph/tests/kernels/conformance/gemm_sm90.hpp>

/// The smallest kernels that show what one instruction does, for sm_90a and the host model alike. Each leaves words in
/// `out` that depend only on the instruction.
namespace kinetograph::gpu_tests {

inline constexpr uint32_t kTileBytes = 65536;

/// Copies `bytes` of shared memory to global memory, with all threads of the block.
KG_DEVICE void dump(const uint8_t* tile, uint32_t bytes, uint32_t* out, uint32_t threads) {
    const auto* words = reinterpret_cast<const uint32_t*>(tile);
    for (uint32_t i = isa::thread_index(); i < bytes / 4; i += threads) out[i] = isa::load_shared(words + i);
}

/// Fills shared memory with words that identify their position, visible to the async proxy after the block's next
/// barrier.
KG_DEVICE void fill(uint8_t* tile, uint32_t bytes, uint32_t threads) {
    auto* words = reinterpret_cast<uint32_t*>(tile);
    for (uint32_t i = isa::thread_index(); i < bytes / 4; i += threads) isa::store_shared(words + i, i * 2654435761u);
    isa::fence_async_shared();
}

/// The result of one TMA load, swizzle included. `kIm2col` takes tap offsets.
template <int kRank, bool kIm2col>
struct LoadKernel {
    static constexpr uint32_t kThreads = 32;
    struct Params {
        isa::TensorMap map;
        isa::tma::Coordinates<kRank> at;
        isa::tma::TapOffsets<(kRank > 2 ? kRank : 3)> tap;
        uint32_t bytes;
        uint32_t* out;
    };
    struct Shared {
        alignas(1024) uint8_t tile[kTileBytes];
        isa::mbarrier::Barrier full;
    };
    KG_DEVICE static void run(const Params& params) {
        auto& shared = isa::shared_as<Shared>();
        if (isa::lane_index() == 0) {
            isa::mbarrier::init(shared.full, 1);
            isa::fence_barrier_init();
        }
        isa::sync_cta();
        if (isa::lane_index() == 0) {
            isa::tma::prefetch(params.map);
            isa::mbarrier::arrive_expect(shared.full, params.bytes);
            if constexpr (kIm2col) {
                isa::tma::load_im2col<kRank>(shared.tile, params.map, params.at, params.tap, shared.full);
            } else {
                isa::tma::load_tiled<kRank>(shared.tile, params.map, params.at, shared.full);
            }
        }
        isa::mbarrier::wait(shared.full, 0);
        dump(shared.tile, params.bytes, params.out, kThreads);
    }
};

/// One TMA store of an identifiable tile: shows what it clips and where it stores the rest.
template <int kRank>
struct StoreKernel {
    static constexpr uint32_t kThreads = 32;
    struct Params {
        isa::TensorMap map;
        isa::tma::Coordinates<kRank> at;
        uint32_t bytes;
    };
    struct Shared {
        alignas(1024) uint8_t tile[kTileBytes];
    };
    KG_DEVICE static void run(const Params& params) {
        auto& shared = isa::shared_as<Shared>();
        fill(shared.tile, params.bytes, kThreads);
        isa::sync_cta();
        if (isa::lane_index() != 0) return;
        isa::tma::store_tiled<kRank>(params.map, params.at, shared.tile);
        isa::tma::commit_stores();
        isa::tma::wait_stores<0>();
    }
};

/// Each CTA loads a slice into every CTA of `ranks`; the other CTAs keep their contents.
template <int kRank>
struct MulticastKernel {
    static constexpr uint32_t kThreads = 32;
    struct Params {
        isa::TensorMap map;
        isa::tma::Coordinates<kRank> at;  ///< of rank 0's slice; each next rank's is `step` further along axis 1
        isa::tma::TapOffsets<(kRank > 2 ? kRank : 3)> tap;
        int32_t step;
        uint32_t bytes;  ///< of one slice
        uint32_t ranks;
        uint32_t* out;  ///< [CTA][slices of all]
    };
    struct Shared {
        alignas(1024) uint8_t tile[kTileBytes];
        isa::mbarrier::Barrier full;
    };
    KG_DEVICE static void run(const Params& params) {
        auto& shared = isa::shared_as<Shared>();
        const uint32_t rank = isa::cluster_rank(), size = isa::cluster_size(), all = size * params.bytes;
        fill(shared.tile, all, kThreads);
        if (isa::lane_index() == 0) {
            isa::mbarrier::init(shared.full, 1);
            isa::fence_barrier_init();
        }
        isa::sync_cluster();
        const bool receives = (params.ranks >> rank & 1) != 0;
        if (isa::lane_index() == 0) {
            if (receives) isa::mbarrier::arrive_expect(shared.full, all);
            auto at = params.at;
            at.at[1] += static_cast<int32_t>(rank) * params.step;
            uint8_t* slice = shared.tile + rank * params.bytes;
            const auto ranks = static_cast<uint16_t>(params.ranks);
            if constexpr (kRank == 2) {
                isa::tma::load_tiled_multicast<2>(slice, params.map, at, shared.full, ranks);
            } else {
                isa::tma::load_im2col_multicast<kRank>(slice, params.map, at, params.tap, shared.full, ranks);
            }
        }
        if (receives) isa::mbarrier::wait(shared.full, 0);
        isa::sync_cluster();
        dump(shared.tile, all, params.out + isa::block_index().x * all / 4, kThreads);
    }
};

/// mbarrier: phases, parities, arrival counts, announced bytes, arrivals from the other CTA. One word per question.
struct BarrierKernel {
    static constexpr uint32_t kThreads = 32;
    struct Params {
        uint32_t* out;  ///< [CTA][16]
    };
    struct Shared {
        isa::mbarrier::Barrier counted, remote, reused;
    };
    KG_DEVICE static void run(const Params& params) {
        auto& shared = isa::shared_as<Shared>();
        if (isa::lane_index() == 0) {
            isa::mbarrier::init(shared.counted, 3);
            isa::mbarrier::init(shared.remote, 2);
            isa::mbarrier::init(shared.reused, 1);
            isa::fence_barrier_init();
        }
        isa::sync_cluster();
        uint32_t* out = params.out + isa::block_index().x * 16;
        if (isa::lane_index() == 0) {
            out[0] = isa::mbarrier::test(shared.counted, 0);
            out[1] = isa::mbarrier::test(shared.counted, 1);
            isa::mbarrier::arrive(shared.counted);
            isa::mbarrier::arrive(shared.counted);
            out[2] = isa::mbarrier::test(shared.counted, 0);
            isa::mbarrier::arrive(shared.counted);
            out[3] = isa::mbarrier::test(shared.counted, 0);
            out[4] = isa::mbarrier::test(shared.counted, 1);
            isa::mbarrier::wait(shared.counted, 0);
            for (uint32_t i = 0; i < 3; ++i) isa::mbarrier::arrive(shared.counted);
            out[5] = isa::mbarrier::test(shared.counted, 0);
            out[6] = isa::mbarrier::test(shared.counted, 1);
            isa::mbarrier::wait(shared.counted, 1);
            isa::mbarrier::arrive(shared.remote);
            isa::mbarrier::arrive(isa::map_to_rank(&shared.remote, isa::cluster_rank() ^ 1));
            isa::mbarrier::wait(shared.remote, 0);
            out[7] = isa::mbarrier::test(shared.remote, 0);
            isa::mbarrier::arrive(shared.reused);
            isa::mbarrier::wait(shared.reused, 0);
            isa::mbarrier::invalidate(shared.reused);
            isa::mbarrier::init(shared.reused, 2);
            out[8] = isa::mbarrier::test(shared.reused, 1);
            isa::mbarrier::arrive(shared.reused);
            out[9] = isa::mbarrier::test(shared.reused, 0);
        }
        isa::sync_cluster();
    }
};

/// Ranks, sizes, distributed shared memory and the cluster's barrier, whole and split.
struct ClusterKernel {
    static constexpr uint32_t kThreads = 64;
    struct Params {
        uint32_t* out;  ///< [CTA][8]
    };
    struct Shared {
        uint32_t words[4];
    };
    KG_DEVICE static void run(const Params& params) {
        auto& shared = isa::shared_as<Shared>();
        const isa::Index3 block = isa::block_index(), grid = isa::grid_size();
        const uint32_t rank = isa::cluster_rank(), size = isa::cluster_size();
        const uint32_t index = (block.z * grid.y + block.y) * grid.x + block.x;
        uint32_t* out = params.out + index * 8;
        if (isa::thread_index() == 0) isa::store_shared(&shared.words[0], 100 + index);
        isa::arrive_cluster();
        if (isa::thread_index() == 0) {
            out[0] = rank;
            out[1] = size;
            out[2] = index;
        }
        isa::wait_cluster();
        if (isa::thread_index() == 0) {
            isa::store_cluster(isa::map_to_rank(&shared.words[1], (rank + 1) % size), 1000 + rank);
            out[3] = isa::load_cluster(isa::map_to_rank(&shared.words[0], (rank + size - 1) % size));
        }
        isa::sync_cluster();
        if (isa::thread_index() == 33) out[4] = isa::load_shared(&shared.words[1]);
        isa::sync_cluster();
    }
};

/// In every turn, two CTAs exchange a number per thread: a thread stores it in the other CTA's shared memory, one lane
/// of each warp arrives with release, and all threads wait with acquire. Two slots need no barrier that frees them: a
/// thread that stores turn t + 2 has seen all arrivals of turn t + 1, which the other CTA's warps made after reading
/// turn t. Launched with the cluster's size both in the code and as an attribute.
struct ExchangeKernel {
    static constexpr uint32_t kThreads = 128, kCluster = 2, kTurns = 50;
    struct Params {
        uint32_t* out;  ///< [CTA][thread]: a digest of what came
    };
    struct Shared {
        uint32_t numbers[2][kThreads];
        isa::mbarrier::Barrier full[2];
    };
    KG_DEVICE static void run(const Params& params) {
        auto& shared = isa::shared_as<Shared>();
        const uint32_t thread = isa::thread_index(), other = isa::cluster_rank() ^ 1;
        if (thread == 0) {
            for (auto& barrier : shared.full) isa::mbarrier::init(barrier, kThreads / 32);
            isa::fence_barrier_init();
        }
        isa::sync_cluster();
        uint32_t digest = 0;
        for (uint32_t turn = 0; turn < kTurns; ++turn) {
            const uint32_t slot = turn % 2, parity = turn / 2 % 2;
            isa::store_cluster(isa::map_to_rank(&shared.numbers[slot][thread], other),
                               (turn * 1000 + thread) * 2 + isa::cluster_rank());
            isa::sync_warp();
            if (isa::lane_index() == 0) isa::mbarrier::arrive_release(isa::map_to_rank(&shared.full[slot], other));
            isa::mbarrier::wait_acquire(shared.full[slot], parity);
            digest = digest * 31 + isa::load_shared(&shared.numbers[slot][thread]);
        }
        params.out[isa::block_index().x * kThreads + thread] = digest;
        isa::sync_cluster();
    }
};

/// elect.sync: one lane per warp, the same every time; shfl; named barriers between warps, arrived at and waited for.
struct WarpsKernel {
    static constexpr uint32_t kThreads = 128;
    struct Params {
        uint32_t* out;  ///< [4 warps][4]
    };
    struct Shared {
        uint32_t elected[4], again[4], handed[4];
    };
    KG_DEVICE static void run(const Params& params) {
        auto& shared = isa::shared_as<Shared>();
        const uint32_t warp = isa::warp_index(), lane = isa::lane_index();
        if (lane == 0) {
            isa::store_shared(&shared.elected[warp], 0u);
            isa::store_shared(&shared.again[warp], 99u);
        }
        isa::sync_warp();
        const bool first = isa::elect_one();
        if (first) isa::store_shared(&shared.elected[warp], isa::load_shared(&shared.elected[warp]) + 1);
        isa::sync_warp();
        if (isa::elect_one() && first) isa::store_shared(&shared.again[warp], 1u);
        isa::sync_warp();
        const uint32_t broadcast = isa::broadcast(lane * 3 + warp, 7);
        // Warps 0 and 1 pass a word to 2 and 3 and do not wait for them.
        const uint32_t pair = warp % 2, barrier = 1 + pair;
        if (warp < 2) {
            if (lane == 5) isa::store_shared(&shared.handed[pair], 500 + pair);
            isa::arrive_named(barrier, 64);
        } else {
            isa::sync_named(barrier, 64);
        }
        if (lane == 9) {
            uint32_t* out = params.out + warp * 4;
            out[0] = isa::load_shared(&shared.elected[warp]);
            out[1] = isa::load_shared(&shared.again[warp]);
            out[2] = broadcast;
            out[3] = warp < 2 ? 0u : isa::load_shared(&shared.handed[pair]);
        }
    }
};

/// setmaxnreg moves registers between warpgroups and changes no value in them.
struct RegistersKernel {
    static constexpr uint32_t kThreads = 384;
    struct Params {
        uint32_t* out;  ///< [thread]
    };
    struct Shared {
        uint32_t unused;
    };
    KG_DEVICE static void run(const Params& params) {
        uint32_t values[8];
        KG_UNROLL
        for (uint32_t i = 0; i < 8; ++i) values[i] = (isa::thread_index() + i) * 2246822519u;
        if (isa::thread_index() < 128) {
            isa::lower_registers<40>();
        } else {
            isa::raise_registers<232>();
        }
        uint32_t sum = 0;
        KG_UNROLL
        for (uint32_t i = 0; i < 8; ++i) sum = sum * 31 + values[i];
        params.out[isa::thread_index()] = sum;
    }
};

/// Small integers by position, exact in every element and every order of summation.
KG_DEVICE uint32_t operand_word(Element element, uint32_t row, uint32_t pair, uint32_t salt) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < 2; ++i) {
        const auto value = static_cast<int32_t>((row * 7 + (pair * 2 + i) * 5 + salt) % 9) - 4;
        // -4..4 in bf16 and fp16: sign, exponent and mantissa from the leading one.
        const uint32_t size = static_cast<uint32_t>(value < 0 ? -value : value);
        const uint32_t power = size >= 4 ? 2 : size >= 2 ? 1 : 0;
        const uint32_t fraction = size == 3 ? 1u : 0u;  // 3 = 2 * 1.5
        uint32_t bits =
            element == Element::BF16 ? (127 + power) << 7 | fraction << 6 : (15 + power) << 10 | fraction << 9;
        if (size == 0) bits = 0;
        if (value < 0) bits |= 0x8000u;
        word |= bits << (16 * i);
    }
    return word;
}

/// D = A * B^T of 64 x kN over one span of K; A from shared memory or registers. Both starts are shifted by `shift`
/// rows; groups of 8 rows are `pitch` rows apart.
template <int kN, Element kElement, bool kARegisters, isa::Swizzle kSwizzle>
struct WgmmaKernel {
    static constexpr uint32_t kThreads = 128, kSpan = isa::span_bytes(kSwizzle);
    struct Params {
        uint32_t pitch, shift;
        uint32_t* out;  ///< [thread][kN / 2]
    };
    struct Shared {
        alignas(1024) uint8_t a[32768];
        alignas(1024) uint8_t b[65536];
    };
    KG_DEVICE static void write(uint8_t* tile, uint32_t rows, const Params& params, uint32_t salt) {
        for (uint32_t i = isa::thread_index(); i < rows * kSpan / 4; i += kThreads) {
            const uint32_t row = i / (kSpan / 4), word = i % (kSpan / 4);
            const uint32_t place = (row / 8 * params.pitch + row % 8 + params.shift) * kSpan + word * 4;
            isa::store_shared(reinterpret_cast<uint32_t*>(tile + isa::swizzled(kSwizzle, place)),
                              operand_word(kElement, row, word, salt));
        }
    }
    /// Clears the whole area, so that rows between groups are defined.
    KG_DEVICE static void clear(uint8_t* tile, uint32_t bytes) {
        for (uint32_t i = isa::thread_index(); i < bytes / 4; i += kThreads)
            isa::store_shared(reinterpret_cast<uint32_t*>(tile) + i, 0u);
    }
    KG_DEVICE static void run(const Params& params) {
        auto& shared = isa::shared_as<Shared>();
        clear(shared.a, sizeof(shared.a));
        clear(shared.b, sizeof(shared.b));
        isa::sync_cta();
        write(shared.a, 64, params, 1);
        write(shared.b, kN, params, 2);
        isa::fence_async_shared();
        isa::sync_cta();
        const auto operand = [&](const uint8_t* tile, uint32_t k) {
            return isa::wgmma_descriptor({.address = isa::shared_address(tile) + params.shift * kSpan + k,
                                          .group_stride = params.pitch * kSpan,
                                          .swizzle = kSwizzle});
        };
        float d[kN / 2];
        isa::wgmma::pin(d);
        isa::wgmma::fence();
        if constexpr (kARegisters) {
            const uint32_t warp = isa::warp_index() % 4, lane = isa::lane_index();
            uint32_t a[4];
            KG_UNROLL
            for (uint32_t j = 0; j < 4; ++j) {
                a[j] = operand_word(kElement, 16 * warp + lane / 4 + 8 * (j % 2), lane % 4 + 4 * (j / 2), 1);
            }
            isa::wgmma::mma<kN, kElement>(d, a, operand(shared.b, 0), false);
        } else {
            KG_UNROLL
            for (uint32_t k = 0; k < kSpan; k += 32) {
                isa::wgmma::mma<kN, kElement>(d, operand(shared.a, k), operand(shared.b, k), k != 0);
            }
        }
        isa::wgmma::commit();
        isa::wgmma::pin(d);
        isa::wgmma::wait<0>();
        isa::wgmma::take(d);
        KG_UNROLL
        for (uint32_t i = 0; i < kN / 2; ++i) {
            uint32_t bits = 0;
            memcpy(&bits, &d[i], sizeof(bits));
            params.out[isa::thread_index() * (kN / 2) + i] = bits;
        }
    }
};

/// The conformance GEMM, all of the above at once.
template <class Gemm>
struct GemmKernel {
    static constexpr uint32_t kThreads = Gemm::kThreads;
    struct Params : conformance::GemmSm90Params {};
    using Shared = typename Gemm::Shared;
    KG_DEVICE static void run(const Params& params) { Gemm::run(params); }
};

}  // namespace kinetograph::gpu_tests
