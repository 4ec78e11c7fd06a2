#include <kinetograph/kernels/isa/tma.hpp>
#include <kinetograph/kernels/isa/wgmma.hpp>

#include "matrix_fixture.hpp"
#include "model_run.hpp"

namespace kinetograph::isa {
namespace {

struct Shared {
    alignas(1024) uint8_t a[32768];
    alignas(1024) uint8_t b[65536];
    mbarrier::Barrier full;
};
const Launch kWarpgroup{.threads = 128, .shared_bytes = sizeof(Shared)};

/// Accumulator i of this thread must be D[row][column]; PTX ISA, wgmma, D fragment.
template <int kN>
void judge(const float (&d)[kN / 2], const Matrix& a, const Matrix& b, uint32_t columns) {
    const uint32_t w = thread_index() / 32 % 4, l = lane_index();
    for (uint32_t i = 0; i < kN / 2; ++i) {
        const uint32_t row = 16 * w + l / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (l % 4) + i % 2;
        ASSERT_EQ(d[i], static_cast<float>(dot(a, row, b, column, 0, columns)))
            << "row " << row << " column " << column;
    }
}

/// K of one tile: a row of the swizzle's span, or two 16-byte columns.
uint32_t columns_of(Swizzle swizzle) { return swizzle == Swizzle::None ? 16 : span_bytes(swizzle) / 2; }

/// One tile of K from shared memory in k steps of 16; groups of 8 rows are `pitch` rows apart.
template <int kN, Element kElement>
void multiply_tile(Swizzle swizzle, uint32_t pitch) {
    const Matrix a(64, columns_of(swizzle), 1), b(kN, columns_of(swizzle), 2);
    const uint32_t group = swizzle == Swizzle::None ? 256 : pitch * span_bytes(swizzle);
    expect_runs(kWarpgroup, [&] {
        auto& shared = shared_as<Shared>();
        write_tile(shared.a, a, 0, 64, kElement, swizzle, group, 128);
        write_tile(shared.b, b, 0, kN, kElement, swizzle, group, 128);
        fence_async_shared();
        sync_cta();
        float d[kN / 2];
        wgmma::fence();
        for (uint32_t k = 0; k < a.columns; k += 16) {
            const auto tile = [&](const uint8_t* at) {
                return wgmma_descriptor({.address = shared_address(at) + k * 2,
                                         .group_stride = group,
                                         .swizzle = swizzle,
                                         .chunk_stride = 128});
            };
            wgmma::mma<kN, kElement>(d, tile(shared.a), tile(shared.b), k != 0);
        }
        wgmma::commit();
        wgmma::wait<0>();
        wgmma::take(d);
        judge<kN>(d, a, b, a.columns);
    });
}

/// Numbers over the whole ranges of u8 and s8, of row `row` and k.
uint8_t byte_a(uint32_t row, uint32_t k) { return static_cast<uint8_t>(row * 37 + k * 101 + 200); }
int8_t byte_b(uint32_t row, uint32_t k) { return static_cast<int8_t>(row * 53 + k * 29 + 128); }

TEST(Wgmma, AddsProductsOfBytesToIntegers) {
    for (const Swizzle swizzle : {Swizzle::Span32, Swizzle::Span64, Swizzle::Span128}) {
        const uint32_t span = span_bytes(swizzle), group = 8 * span;
        expect_runs(kWarpgroup, [&] {
            auto& shared = shared_as<Shared>();
            const uint32_t t = thread_index();
            for (uint32_t i = t; i < 64 * span; i += 128)
                store_shared(shared.a + swizzled(swizzle, i), byte_a(i / span, i % span));
            for (uint32_t i = t; i < 96 * span; i += 128)
                store_shared(shared.b + swizzled(swizzle, i), static_cast<uint8_t>(byte_b(i / span, i % span)));
            fence_async_shared();
            sync_cta();
            int32_t d[48];
            for (int32_t& sum : d) sum = -1000;
            wgmma::pin(d);
            wgmma::fence();
            for (uint32_t k = 0; k < span; k += 32) {
                const auto tile = [&](const uint8_t* at) {
                    return wgmma_descriptor(
                        {.address = shared_address(at) + k, .group_stride = group, .swizzle = swizzle});
                };
                wgmma::multiply_bytes<96>(d, tile(shared.a), tile(shared.b), true);
            }
            wgmma::commit();
            wgmma::wait<0>();
            wgmma::take(d);
            for (uint32_t i = 0; i < 48; ++i) {
                const uint32_t row = t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2),
                               column = 8 * (i / 4) + 2 * (t % 4) + i % 2;
                int32_t wanted = -1000;
                for (uint32_t k = 0; k < span; ++k) wanted += int32_t{byte_a(row, k)} * byte_b(column, k);
                ASSERT_EQ(d[i], wanted) << "row " << row << " column " << column;
            }
        });
    }
}

TEST(Wgmma, MultipliesTilesOfEverySwizzle) {
    multiply_tile<64, Element::BF16>(Swizzle::Span128, 8);
    multiply_tile<64, Element::BF16>(Swizzle::Span64, 8);
    multiply_tile<64, Element::BF16>(Swizzle::Span32, 8);
    multiply_tile<64, Element::BF16>(Swizzle::None, 8);
}

TEST(Wgmma, MultipliesHalfPrecisionAndManyWidths) {
    multiply_tile<16, Element::F16>(Swizzle::Span128, 8);
    multiply_tile<96, Element::BF16>(Swizzle::Span64, 8);
    multiply_tile<256, Element::F16>(Swizzle::Span128, 8);
}

TEST(Wgmma, GroupsOfRowsMayLieAHalosPitchApart) {
    multiply_tile<32, Element::BF16>(Swizzle::Span128, 10);
    multiply_tile<32, Element::BF16>(Swizzle::Span64, 9);
    multiply_tile<32, Element::BF16>(Swizzle::Span32, 12);
}

TEST(Wgmma, AStartShiftedByWholeRowsReadsTheShiftedTileWithoutBaseOffset) {
    const Matrix halo(80, 64, 3), b(16, 64, 4);
    for (uint32_t shift : {1u, 2u, 3u, 5u, 7u, 8u, 9u}) {
        Launch launch = kWarpgroup;
        launch.seed = shift;
        const auto outcome = host_model::run(launch, [&] {
            auto& shared = shared_as<Shared>();
            write_tile(shared.a, halo, 0, 80, Element::BF16, Swizzle::Span128, 1024, 128);
            write_tile(shared.b, b, 0, 16, Element::BF16, Swizzle::Span128, 1024, 128);
            fence_async_shared();
            sync_cta();
            float d[8];
            wgmma::fence();
            for (uint32_t k = 0; k < 4; ++k) {
                const auto tile = [k](uint32_t address) {
                    return wgmma_descriptor(
                        {.address = address + k * 32, .group_stride = 1024, .swizzle = Swizzle::Span128});
                };
                wgmma::mma<16, Element::BF16>(d, tile(shared_address(shared.a) + shift * 128),
                                              tile(shared_address(shared.b)), k != 0);
            }
            wgmma::commit();
            wgmma::wait<0>();
            wgmma::take(d);
            for (uint32_t i = 0; i < 8; ++i) {
                const uint32_t row = 16 * warp_index() + lane_index() / 4 + 8 * (i / 2 % 2);
                const uint32_t column = 8 * (i / 4) + 2 * (lane_index() % 4) + i % 2;
                ASSERT_EQ(d[i], static_cast<float>(dot(halo, row + shift, b, column, 0, 64)));
            }
        });
        ASSERT_EQ(outcome.fault.value_or(""), "") << "shift " << shift;
    }
}

TEST(Wgmma, TakesAFromRegisters) {
    const Matrix a(64, 16, 5), b(32, 64, 6);
    expect_runs(kWarpgroup, [&] {
        auto& shared = shared_as<Shared>();
        write_tile(shared.b, b, 0, 32, Element::BF16, Swizzle::Span128, 1024, 128);
        fence_async_shared();
        sync_cta();
        uint32_t fragment[4];
        for (uint32_t j = 0; j < 4; ++j) {
            const uint32_t row = 16 * warp_index() + lane_index() / 4 + 8 * (j % 2),
                           k = 2 * (lane_index() % 4) + 8 * (j / 2);
            fragment[j] = encode(Element::BF16, a.at(row, k)) | encode(Element::BF16, a.at(row, k + 1)) << 16;
        }
        float d[16];
        wgmma::fence();
        const uint64_t tile =
            wgmma_descriptor({.address = shared_address(shared.b), .group_stride = 1024, .swizzle = Swizzle::Span128});
        wgmma::mma<32, Element::BF16>(d, fragment, tile, false);
        wgmma::commit();
        wgmma::wait<0>();
        wgmma::take(d);
        judge<32>(d, a, b, 16);
    });
}

/// B in rows of K: 64 of them, in chunks of one span of N each, `chunk` bytes apart.
template <int kN, Element kElement>
void multiply_rows_of_k(Swizzle swizzle, uint32_t chunk) {
    const uint32_t columns = span_bytes(swizzle) / 2, group = 8 * span_bytes(swizzle);
    const Matrix a(64, 64, 7);
    std::vector<Matrix> spans;
    for (uint32_t i = 0; i * columns < kN; ++i) spans.emplace_back(64, columns, static_cast<int>(i));
    expect_runs(kWarpgroup, [&] {
        auto& shared = shared_as<Shared>();
        write_tile(shared.a, a, 0, 64, kElement, Swizzle::Span128, 1024, 128);
        for (size_t i = 0; i < spans.size(); ++i)
            write_tile(shared.b + i * chunk, spans[i], 0, 64, kElement, swizzle, group, 128);
        fence_async_shared();
        sync_cta();
        float d[kN / 2];
        wgmma::fence();
        for (uint32_t k = 0; k < 64; k += 16) {
            const uint64_t left = wgmma_descriptor(
                {.address = shared_address(shared.a) + k * 2, .group_stride = 1024, .swizzle = Swizzle::Span128});
            const uint64_t right = wgmma_descriptor({.address = shared_address(shared.b) + k / 8 * group,
                                                     .group_stride = group,
                                                     .swizzle = swizzle,
                                                     .chunk_stride = chunk});
            wgmma::mma<kN, kElement, Major::MN>(d, left, right, k != 0);
        }
        wgmma::commit();
        wgmma::wait<0>();
        wgmma::take(d);
        for (uint32_t i = 0; i < kN / 2; ++i) {
            const uint32_t row = 16 * (thread_index() / 32) + lane_index() / 4 + 8 * (i / 2 % 2);
            const uint32_t column = 8 * (i / 4) + 2 * (lane_index() % 4) + i % 2;
            int sum = 0;
            for (uint32_t k = 0; k < 64; ++k) sum += a.at(row, k) * spans[column / columns].at(k, column % columns);
            ASSERT_EQ(d[i], static_cast<float>(sum)) << "row " << row << " column " << column;
        }
    });
}

TEST(Wgmma, TakesBInRowsOfK) {
    multiply_rows_of_k<64, Element::BF16>(Swizzle::Span128, 8192);
    multiply_rows_of_k<128, Element::F16>(Swizzle::Span128, 8192);
    multiply_rows_of_k<192, Element::BF16>(Swizzle::Span128, 9216);
    multiply_rows_of_k<96, Element::BF16>(Swizzle::Span128, 8192);
    multiply_rows_of_k<96, Element::BF16>(Swizzle::Span64, 4096);
    multiply_rows_of_k<32, Element::F16>(Swizzle::Span32, 2048);
}

/// The operands of a correct product, for kernels with one fault.
struct WgmmaFaults : testing::Test {
    void expect(const std::string& sentence, const std::function<void(Shared&, uint64_t, uint64_t)>& kernel) const {
        expect_fault(kWarpgroup, sentence, [&] {
            auto& shared = shared_as<Shared>();
            write_tile(shared.a, a, 0, 64, Element::BF16, Swizzle::Span128, 1024, 128);
            write_tile(shared.b, b, 0, 16, Element::BF16, Swizzle::Span128, 1024, 128);
            fence_async_shared();
            sync_cta();
            const auto tile = [](const uint8_t* at) {
                return wgmma_descriptor(
                    {.address = shared_address(at), .group_stride = 1024, .swizzle = Swizzle::Span128});
            };
            kernel(shared, tile(shared.a), tile(shared.b));
        });
    }
    Matrix a{64, 64, 1}, b{16, 64, 2};
};

TEST_F(WgmmaFaults, AccumulatorsReadBeforeTheirGroupWasWaitedForAreCaught) {
    expect("reads accumulators of wgmma.mma_async at wgmma_test.cpp", [](Shared&, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::fence();
        wgmma::mma<16, Element::BF16>(d, a, b, false);
        wgmma::commit();
        wgmma::take(d);
        wgmma::wait<0>();
    });
}

TEST_F(WgmmaFaults, WaitingForTheWrongNumberOfGroupsIsCaught) {
    expect("before wgmma.wait_group has waited for their group", [](Shared&, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::fence();
        wgmma::mma<16, Element::BF16>(d, a, b, false);
        wgmma::commit();
        wgmma::wait<1>();
        wgmma::take(d);
    });
}

TEST_F(WgmmaFaults, AccumulatorsInFlightHoldPoison) {
    bool poisoned = false;
    const Outcome outcome = host_model::run(kWarpgroup, [&] {
        auto& shared = shared_as<Shared>();
        write_tile(shared.a, a, 0, 64, Element::BF16, Swizzle::Span128, 1024, 128);
        fence_async_shared();
        sync_cta();
        const uint64_t tile =
            wgmma_descriptor({.address = shared_address(shared.a), .group_stride = 1024, .swizzle = Swizzle::Span128});
        float d[8] = {};
        wgmma::fence();
        wgmma::mma<16, Element::BF16>(d, tile, tile, true);
        wgmma::commit();
        if (thread_index() == 0) poisoned = d[3] != d[3];
        wgmma::wait<0>();
    });
    EXPECT_EQ(outcome.fault.value_or(""), "");
    EXPECT_TRUE(poisoned);
}

TEST_F(WgmmaFaults, AMissingFenceIsCaught) {
    expect("without a wgmma.fence", [](Shared&, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::mma<16, Element::BF16>(d, a, b, false);
    });
}

TEST_F(WgmmaFaults, AMissingCommitIsCaught) {
    expect("is in no committed group", [](Shared&, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::fence();
        wgmma::mma<16, Element::BF16>(d, a, b, false);
        wgmma::wait<0>();
    });
}

TEST_F(WgmmaFaults, ABaseOffsetIsCaught) {
    expect("A: the descriptor's base_offset is 3", [](Shared&, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::fence();
        wgmma::mma<16, Element::BF16>(d, a | 3ull << 49, b, false);
    });
}

TEST_F(WgmmaFaults, ATcgen05DescriptorIsCaught) {
    expect("B: the descriptor sets bits that a wgmma descriptor does not have", [](Shared& shared, uint64_t a,
                                                                                   uint64_t) {
        float d[8];
        wgmma::fence();
        const OperandTile tile{.address = shared_address(shared.b), .group_stride = 1024, .swizzle = Swizzle::Span128};
        wgmma::mma<16, Element::BF16>(d, a, tcgen05_descriptor(tile), false);
    });
}

TEST_F(WgmmaFaults, SwappedStridesAreCaught) {
    expect("group stride (SBO) 16 makes groups of 8 rows of 128 bytes overlap", [](Shared& shared, uint64_t,
                                                                                   uint64_t b) {
        float d[8];
        wgmma::fence();
        const OperandTile tile{
            .address = shared_address(shared.a), .group_stride = 16, .swizzle = Swizzle::Span128, .chunk_stride = 1024};
        wgmma::mma<16, Element::BF16>(d, wgmma_descriptor(tile), b, false);
    });
}

TEST_F(WgmmaFaults, AStepOverTheEndOfTheSwizzledRowIsCaught) {
    expect("a k step that starts at byte 112 of a row of 128 bytes runs over its end",
           [](Shared&, uint64_t a, uint64_t b) {
               float d[8];
               wgmma::fence();
               wgmma::mma<16, Element::BF16>(d, a + 7, b, false);
           });
}

TEST_F(WgmmaFaults, RowsOfKThatStartInsideAGroupAreCaught) {
    expect("an operand in rows of M or N starts 128 bytes into a group of 8 rows", [](Shared&, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::fence();
        wgmma::mma<16, Element::BF16, Major::MN>(d, a, b + (128 >> 4), false);
    });
}

TEST_F(WgmmaFaults, RowsOfKWithoutTheStrideOfTheirSpansAreCaught) {
    expect("chunk stride (LBO) 16 is no multiple of 8 rows of 128 bytes", [](Shared&, uint64_t a, uint64_t b) {
        float d[48];
        wgmma::fence();
        wgmma::mma<96, Element::BF16, Major::MN>(d, a, b, false);
    });
}

TEST_F(WgmmaFaults, AnOperandThatWasNeverWrittenIsCaught) {
    expect("which neither TMA nor store_shared has written", [](Shared&, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::fence();
        wgmma::mma<16, Element::BF16>(d, a, b + (8192 >> 4), false);
    });
}

TEST_F(WgmmaFaults, AnOperandOutsideSharedMemoryIsCaught) {
    expect("outside the CTA's", [](Shared&, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::fence();
        wgmma::mma<16, Element::BF16>(d, a, (b & ~0x3fffull) | 0x3fc0, false);
    });
}

TEST_F(WgmmaFaults, OverwritingATileThatAProductStillReadsIsCaught) {
    expect("writes shared memory", [](Shared& shared, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::fence();
        wgmma::mma<16, Element::BF16>(d, a, b, false);
        wgmma::commit();
        if (thread_index() == 0) store_shared(shared.a + 64, uint8_t{0});
        wgmma::wait<0>();
    });
}

TEST_F(WgmmaFaults, ThreadsMustPassTheSameDescriptors) {
    expect("threads of one warpgroup pass different operands", [](Shared&, uint64_t a, uint64_t b) {
        float d[8];
        wgmma::fence();
        wgmma::mma<16, Element::BF16>(d, a + (warp_index() == 2 ? 2 : 0), b, false);
    });
}

/// A product whose descriptor says 64, of a tile that was loaded as a map of 128-byte rows says.
void expect_another_swizzle(Swizzle by_the_load, Swizzle stored, const std::string& told) {
    CodedTensor tensor(2, {64, 64});
    TensorMapDesc desc = tensor.map(MapMode::Tiled, by_the_load);
    desc.box = {64, 64};
    desc.stored_swizzle = stored;
    const TensorMap map = host_model::model_map(desc);
    expect_fault(kWarpgroup, "the descriptor says swizzle 64, shared+0 was written by TMA with swizzle " + told, [&] {
        auto& shared = shared_as<Shared>();
        if (thread_index() == 0) {
            mbarrier::init(shared.full, 1);
            fence_barrier_init();
            mbarrier::arrive_expect(shared.full, 8192);
            tma::load_tiled<2>(shared.a, map, {{0, 0}}, shared.full);
        }
        sync_cta();
        mbarrier::wait(shared.full, 0);
        float d[8];
        wgmma::fence();
        const uint64_t tile =
            wgmma_descriptor({.address = shared_address(shared.a), .group_stride = 512, .swizzle = Swizzle::Span64});
        wgmma::mma<16, Element::BF16>(d, tile, tile, false);
    });
}
TEST(WgmmaSwizzleFault, ADescriptorOfAnotherSwizzleThanTheLoadsIsCaught) {
    expect_another_swizzle(Swizzle::Span128, Swizzle::None, "128");
}
TEST(WgmmaSwizzleFault, ADescriptorOfAnotherSwizzleThanThatOfTheStoredRowsIsCaught) {
    expect_another_swizzle(Swizzle::None, Swizzle::Span128, "128");
}
TEST(WgmmaSwizzleFault, ADescriptorWithASwizzleOfRowsWithoutOneIsCaught) {
    expect_another_swizzle(Swizzle::None, Swizzle::None, "16 (16 means none)");
}

}  // namespace
}  // namespace kinetograph::isa
