#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

#include "model_run.hpp"
#include "tensor_fixture.hpp"

namespace kinetograph::isa {
namespace {

constexpr uint32_t kTileBytes = 16384;

struct Shared {
    alignas(1024) uint8_t tile[kTileBytes];
    alignas(1024) uint8_t second[kTileBytes];
    mbarrier::Barrier full;
};

void set_up(Shared& shared) {
    if (thread_index() == 0) {
        mbarrier::init(shared.full, 1);
        fence_barrier_init();
    }
    sync_cluster();
}

const Launch kOneWarp{.threads = 32, .shared_bytes = sizeof(Shared)};

/// Loads one box and passes the tile to `judge` in every lane.
template <int kRank, class Judge>
void load_and_judge(const TensorMapDesc& desc, const tma::Coordinates<kRank>& corner, const Judge& judge) {
    const TensorMap map = host_model::model_map(desc);
    expect_runs(kOneWarp, [&] {
        auto& shared = shared_as<Shared>();
        set_up(shared);
        if (elect_one()) {
            tma::prefetch(map);
            mbarrier::arrive_expect(shared.full, box_bytes(desc));
            tma::load_tiled(shared.tile, map, corner, shared.full);
        }
        mbarrier::wait(shared.full, 0);
        if (lane_index() == 0) judge(shared.tile);
    });
}

class EverySwizzle : public testing::TestWithParam<Swizzle> {};
INSTANTIATE_TEST_SUITE_P(Tma, EverySwizzle,
                         testing::Values(Swizzle::None, Swizzle::Span32, Swizzle::Span64, Swizzle::Span128),
                         [](const auto& test) { return "Span" + std::to_string(span_bytes(test.param)); });

TEST_P(EverySwizzle, TheFormulaIsTheDocumentedPattern) {
    for (uint32_t byte = 0; byte < 4096; ++byte)
        EXPECT_EQ(swizzled(GetParam(), byte), documented_place(GetParam(), byte));
}

TEST_P(EverySwizzle, ABoxInsideTheTensorArrivesInThatPattern) {
    CodedTensor tensor(3, {128, 20, 6});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, GetParam());
    const uint32_t width = span_bytes(GetParam()) / 2;
    desc.box = {width, 9, 3};
    load_and_judge<3>(desc, {{16, 4, 2}}, [&](const uint8_t* tile) {
        for (uint32_t i = 0; i < width * 27; ++i) {
            EXPECT_EQ(element_of(tile, GetParam(), i),
                      tensor.at({16 + i % width, 4 + i / width % 9, 2 + i / width / 9}));
        }
    });
}

TEST(TmaTiled, WhatHangsOverAnyEdgeIsZero) {
    CodedTensor tensor(4, {40, 7, 5, 3});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, Swizzle::None);
    desc.box = {16, 5, 4, 2};
    for (const auto& corner : {std::array{-8, -2, -1, -1}, std::array{32, 5, 3, 2}, std::array{40, 0, 0, 0}}) {
        load_and_judge<4>(desc, {{corner[0], corner[1], corner[2], corner[3]}}, [&](const uint8_t* tile) {
            for (int64_t i = 0; i < 16 * 5 * 4 * 2; ++i) {
                EXPECT_EQ(element_of(tile, Swizzle::None, static_cast<uint32_t>(i)),
                          tensor.at({corner[0] + i % 16, corner[1] + i / 16 % 5, corner[2] + i / 80 % 4,
                                     corner[3] + i / 320}));
            }
        });
    }
}

TEST(TmaTiled, ElementStridesThinTheBoxOut) {
    CodedTensor tensor(5, {16, 9, 8, 4, 2});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, Swizzle::None);
    desc.box = {8, 7, 4, 3, 2};
    desc.element_stride = {1, 2, 3, 1, 1};  // 4 and 2 elements of the box's 7 and 4
    EXPECT_EQ(box_bytes(desc), 8u * 4 * 2 * 3 * 2 * 2);
    load_and_judge<5>(desc, {{8, 1, 0, 1, 0}}, [&](const uint8_t* tile) {
        for (int64_t i = 0; i < 8 * 4 * 2 * 3 * 2; ++i) {
            EXPECT_EQ(element_of(tile, Swizzle::None, static_cast<uint32_t>(i)),
                      tensor.at({8 + i % 8, 1 + i / 8 % 4 * 2, i / 32 % 2 * 3, 1 + i / 64 % 3, i / 192}));
        }
    });
}

TEST(TmaTiled, AViewWithWiderStridesLeavesOutWhatLiesBetween) {
    CodedTensor tensor(2, {32, 24});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, Swizzle::None);
    desc.size = {32, 12};
    desc.stride_bytes[0] = 2 * 64;  // every second row
    desc.box = {32, 12};
    load_and_judge<2>(desc, {{0, 0}}, [&](const uint8_t* tile) {
        for (uint32_t i = 0; i < 32 * 12; ++i)
            EXPECT_EQ(element_of(tile, Swizzle::None, i), tensor.at({i % 32, i / 32 * 2}));
    });
}

TEST(TmaTiled, ATileOffThePatternIsSwizzledByItsAbsoluteAddress) {
    CodedTensor tensor(2, {64, 32});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, Swizzle::Span128);
    desc.box = {64, 8};
    const TensorMap map = host_model::model_map(desc);
    expect_runs(kOneWarp, [&] {
        auto& shared = shared_as<Shared>();
        set_up(shared);
        if (lane_index() == 0) {
            mbarrier::arrive_expect(shared.full, 1024);
            tma::load_tiled<2>(shared.tile + 3 * 128, map, {{0, 5}}, shared.full);
        }
        mbarrier::wait(shared.full, 0);
        for (uint32_t i = 0; i < 512; ++i) {
            EXPECT_EQ(element_of(shared.tile, Swizzle::Span128, 3 * 64 + i), tensor.at({i % 64, 5 + i / 64}));
        }
    });
}

TEST(TmaTiled, MulticastFillsTheSamePlaceOfEveryChosenCta) {
    CodedTensor tensor(2, {64, 64});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, Swizzle::Span128);
    desc.box = {64, 16};
    const TensorMap map = host_model::model_map(desc);
    const Launch launch{.grid = {8}, .cluster = {4}, .threads = 32, .shared_bytes = sizeof(Shared)};
    expect_runs(launch, [&] {
        auto& shared = shared_as<Shared>();
        set_up(shared);
        if (lane_index() == 0) {
            mbarrier::arrive_expect(shared.full, 4 * 2048);
            // Each CTA loads a quarter of the rows for all four.
            const uint32_t rank = cluster_rank();
            tma::load_tiled_multicast<2>(shared.tile + rank * 2048, map, {{0, static_cast<int32_t>(rank) * 16}},
                                         shared.full, 0xf);
        }
        mbarrier::wait(shared.full, 0);
        for (uint32_t i = 0; i < 4096; i += 31) {
            EXPECT_EQ(element_of(shared.tile, Swizzle::Span128, i), tensor.at({i % 64, i / 64}));
        }
        sync_cluster();
    });
}

TEST(TmaTiled, APairsLoadsSignalTheLeadersBarrier) {
    CodedTensor tensor(2, {64, 64});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, Swizzle::Span128);
    desc.box = {64, 16};
    const TensorMap map = host_model::model_map(desc);
    const Launch launch{.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Shared)};
    expect_runs(launch, [&] {
        auto& shared = shared_as<Shared>();
        set_up(shared);
        const uint32_t rank = cluster_rank();
        if (lane_index() == 0) {
            if (rank == 0) mbarrier::arrive_expect(shared.full, 2 * 2048);
            tma::load_tiled_pair<2>(shared.tile, map, {{0, static_cast<int32_t>(rank) * 16}}, shared.full);
        }
        if (rank == 0) mbarrier::wait(shared.full, 0);
        sync_cluster();
        EXPECT_EQ(element_of(shared.tile, Swizzle::Span128, 70), tensor.at({6, rank * 16 + 1}));
    });
}

TEST(TmaTiled, MulticastByPairsSignalsTheLeaderOfEveryDestinationsPair) {
    CodedTensor tensor(2, {64, 64});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, Swizzle::Span128);
    desc.box = {64, 16};
    const TensorMap map = host_model::model_map(desc);
    const Launch launch{.grid = {8}, .cluster = {4}, .threads = 32, .shared_bytes = sizeof(Shared)};
    expect_runs(launch, [&] {
        auto& shared = shared_as<Shared>();
        set_up(shared);
        // Ranks 0 and 2 share one half of the rows, 1 and 3 the other; each of the two loads a part of it for both.
        const uint32_t rank = cluster_rank(), half = rank % 2, part = rank / 2;
        if (lane_index() == 0) {
            if (half == 0) mbarrier::arrive_expect(shared.full, 2 * 2 * 2048);  // two CTAs, two parts
            tma::load_tiled_pair_multicast<2>(shared.tile + part * 2048, map,
                                              {{0, static_cast<int32_t>(half * 32 + part * 16)}}, shared.full,
                                              static_cast<uint16_t>(0b0101 << half));
        }
        if (half == 0) mbarrier::wait(shared.full, 0);
        sync_cluster();
        for (uint32_t i = 0; i < 64 * 32; i += 29) {
            EXPECT_EQ(element_of(shared.tile, Swizzle::Span128, i), tensor.at({i % 64, half * 32 + i / 64}));
        }
        sync_cluster();
    });
}

TEST(TmaStore, ATileIsWrittenBackAndClippedAtTheTensorsEdges) {
    CodedTensor tensor(3, {64, 9, 4});
    const auto before = tensor.elements;
    TensorMapDesc desc = tensor.map(MapMode::Tiled, Swizzle::Span128);
    desc.box = {64, 6, 2};
    const TensorMap map = host_model::model_map(desc);
    const auto stored = [](uint32_t index) { return static_cast<uint16_t>(40000 + index); };
    expect_runs(
        {.threads = 128, .shared_bytes = sizeof(Shared)},
        [&] {
            auto& shared = shared_as<Shared>();
            for (uint32_t i = thread_index(); i < 64 * 12; i += 128) {
                store_shared(reinterpret_cast<uint16_t*>(shared.tile + documented_place(Swizzle::Span128, i * 2)),
                             stored(i));
            }
            fence_async_shared();
            sync_cta();
            if (warp_index() == 0 && elect_one()) {
                tma::store_tiled<3>(map, {{0, 5, 3}}, shared.tile);
                tma::commit_stores();
                tma::wait_stores<0>();
            }
        },
        [&] {
            for (uint32_t i = 0; i < 64 * 9 * 4; ++i) {
                const uint32_t w = i / 64 % 9, h = i / 64 / 9;
                const bool written = w >= 5 && h == 3;
                EXPECT_EQ(tensor.elements[i], written ? stored(i % 64 + (w - 5) * 64) : before[i]);
            }
            tensor.elements = before;
            desc.address = tensor.elements.data();
        });
}

TEST(TmaStore, StagingMayBeReusedOnceItsGroupHasBeenRead) {
    CodedTensor tensor(2, {64, 32});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, Swizzle::None);
    desc.box = {64, 1};
    const TensorMap map = host_model::model_map(desc);
    expect_runs(
        kOneWarp,
        [&] {
            auto& shared = shared_as<Shared>();
            for (uint32_t row = 0; row < 32; ++row) {
                auto* staging = reinterpret_cast<uint32_t*>(row % 2 == 0 ? shared.tile : shared.second);
                if (lane_index() == 0) tma::wait_stores_read<1>();
                sync_warp();
                store_shared(staging + lane_index(), row * 0x10001u);
                fence_async_shared();
                sync_warp();
                if (lane_index() == 0) {
                    tma::store_tiled<2>(map, {{0, static_cast<int32_t>(row)}}, staging);
                    tma::commit_stores();
                }
            }
            if (lane_index() == 0) tma::wait_stores_read<0>();
        },
        [&] {
            for (uint32_t i = 0; i < 64 * 32; ++i) EXPECT_EQ(tensor.elements[i], i / 64);
        });
}

}  // namespace
}  // namespace kinetograph::isa
