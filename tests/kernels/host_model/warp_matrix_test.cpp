#include <algorithm>
#include <array>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/cp_async.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/warp_matrix.hpp>
#include <numeric>
#include <vector>

#include "model_run.hpp"

/// Instructions of sm_80, and stmatrix of sm_90: cp.async, ldmatrix, mma.sync, shuffles, and barriers that order plain
/// accesses.
namespace kinetograph::isa {
namespace {

struct Shared {
    alignas(16) uint32_t words[1024];
};

constexpr Launch kWarp{.threads = 32, .shared_bytes = sizeof(Shared)};
constexpr Launch kTwoWarps{.threads = 64, .shared_bytes = sizeof(Shared)};

Shared& shared() { return shared_as<Shared>(); }
uint32_t word_address(uint32_t index) { return shared_address(shared().words + index); }

/// Each of 64 threads copies 16 bytes; the numbers 0, 1, 2, ... arrive.
struct Source {
    alignas(16) std::array<uint32_t, 1024> words;
    Source() { std::iota(words.begin(), words.end(), 0u); }
};

TEST(CpAsync, BringsItsBytesAndZeroesTheRest) {
    const Source source;
    expect_runs(kTwoWarps, [&] {
        const uint32_t at = thread_index() * 8;
        cp_async::copy<16>(word_address(at), source.words.data() + at, 16);
        cp_async::copy<8>(word_address(at + 4), source.words.data() + at + 4, 4);
        cp_async::copy<4>(word_address(at + 6), source.words.data() + at, 0);
        cp_async::commit();
        cp_async::wait<0>();
        sync_cta();
        const uint32_t other = (at + 8) % 512;
        for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(load_shared(shared().words + other + i), other + i);
        EXPECT_EQ(load_shared(shared().words + other + 5), 0u);
        EXPECT_EQ(load_shared(shared().words + other + 6), 0u);
    });
}

TEST(CpAsync, WaitingForAllButOneGroupLeavesTheNewestUnderWay) {
    const Source source;
    const auto kernel = [&](bool newest) {
        const uint32_t at = thread_index() * 4;
        cp_async::copy<16>(word_address(at), source.words.data() + at, 16);
        cp_async::commit();
        cp_async::copy<16>(word_address(512 + at), source.words.data() + 512 + at, 16);
        cp_async::commit();
        cp_async::wait<1>();
        EXPECT_EQ(load_shared(shared().words + at), at);
        if (newest) load_shared(shared().words + 512 + at);
        cp_async::wait<0>();
        EXPECT_EQ(load_shared(shared().words + 512 + at), 512 + at);
    };
    expect_runs(kTwoWarps, [&] { kernel(false); });
    expect_fault(kTwoWarps, "still writes: that thread has not waited for it", [&] { kernel(true); });
}

TEST(CpAsync, AReadBeforeTheWaitIsCaughtAlsoWhenTheDataHaveLanded) {
    const Source source;
    expect_fault(kWarp, "which cp.async at warp_matrix_test.cpp", [&] {
        cp_async::copy<16>(word_address(lane_index() * 4), source.words.data(), 16);
        cp_async::commit();
        for (int i = 0; i < 20; ++i) sync_warp();
        load_shared(shared().words + lane_index() * 4);
    });
}

TEST(CpAsync, AnotherThreadsDataNeedABarrierAfterItsWait) {
    const Source source;
    expect_fault(kTwoWarps, "cp.async at warp_matrix_test.cpp", [&] {
        const uint32_t at = thread_index() * 4;
        cp_async::copy<16>(word_address(at), source.words.data() + at, 16);
        cp_async::commit();
        sync_cta();
        cp_async::wait<0>();
        load_shared(shared().words + (at + 128) % 256);
        sync_cta();
    });
}

TEST(CpAsync, MisuseIsNamed) {
    const Source source;
    const auto copy16 = [&](uint32_t offset, uint32_t from, uint32_t bytes) {
        cp_async::copy<16>(word_address(0) + offset, reinterpret_cast<const uint8_t*>(source.words.data()) + from,
                           bytes);
        cp_async::commit();
        cp_async::wait<0>();
    };
    const Launch one{.threads = 32, .shared_bytes = sizeof(Shared)};
    expect_fault(one, "are not both aligned", [&] { copy16(8, 0, 16); });
    expect_fault(one, "are not both aligned", [&] { copy16(0, 8, 16); });
    expect_fault(one, "takes 20 bytes from the source but copies 16", [&] { copy16(thread_index() * 16, 0, 20); });
    expect_fault(one, "names no CTA", [&] { copy16(sizeof(Shared), 0, 16); });
    expect_fault(one, "the thread ends without cp.async.wait_group", [&] {
        cp_async::copy<16>(word_address(lane_index() * 4), source.words.data(), 16);
        cp_async::commit();
    });
    expect_fault(one, "the thread ends without cp.async.wait_group", [&] {
        cp_async::copy<16>(word_address(lane_index() * 4), source.words.data(), 16);
        cp_async::wait<0>();
    });
}

TEST(SharedOrder, AReadOfAnotherThreadsWordNeedsABarrier) {
    const auto kernel = [](bool barrier) {
        store_shared(shared().words + thread_index(), thread_index());
        if (barrier) sync_cta();
        const uint32_t found = load_shared(shared().words + (thread_index() ^ 32));
        EXPECT_TRUE(!barrier || found == (thread_index() ^ 32));
    };
    expect_runs(kTwoWarps, [&] { kernel(true); });
    // In either order: the reader finds the word written, or the writer finds it read.
    expect_fault(kTwoWarps, "with no barrier since", [&] { kernel(false); });
}

TEST(SharedOrder, AnOverwriteOfWhatOthersReadNeedsABarrier) {
    const auto kernel = [](bool barrier) {
        if (warp_index() == 0) store_shared(shared().words + lane_index(), lane_index());
        sync_cta();
        load_shared(shared().words + (thread_index() + 1) % 32);
        if (barrier) sync_cta();
        if (warp_index() == 1) store_shared(shared().words + lane_index(), 7u);
    };
    expect_runs(kTwoWarps, [&] { kernel(true); });
    expect_fault(kTwoWarps, "with no barrier since", [&] { kernel(false); });
}

TEST(SharedOrder, ABarrierOfTheWarpOrdersItsOwnThreads) {
    const auto kernel = [](uint32_t distance) {
        store_shared(shared().words + thread_index(), thread_index());
        sync_warp();
        load_shared(shared().words + (thread_index() ^ distance));
    };
    expect_runs(kTwoWarps, [&] { kernel(5); });
    expect_fault(kTwoWarps, "with no barrier since", [&] { kernel(32); });
}

/// Elements [row][8] of 16 bits, value 100 * row + column, as the kernel's threads store them; one row a lane.
void store_rows() {
    const uint32_t row = lane_index();
    for (uint32_t j = 0; j < 4; ++j) {
        store_shared(shared().words + row * 4 + j, (100 * row + 2 * j) | (100 * row + 2 * j + 1) << 16);
    }
    sync_warp();
}

TEST(LoadMatrices, HandsOutRowsAndColumns) {
    expect_runs(kWarp, [] {
        store_rows();
        const uint32_t g = lane_index() / 4, t = lane_index() % 4;
        uint32_t rows[4], columns[4], two[2];
        load_matrices(rows, word_address(lane_index() * 4));
        load_matrices<true>(columns, word_address(lane_index() * 4));
        load_matrices(two, word_address(8 * 4 + lane_index() % 16 * 4));
        for (uint32_t matrix = 0; matrix < 4; ++matrix) {
            const uint32_t row = 8 * matrix + g, column = 8 * matrix + 2 * t;
            EXPECT_EQ(rows[matrix], (100 * row + 2 * t) | (100 * row + 2 * t + 1) << 16);
            EXPECT_EQ(columns[matrix], (100 * column + g) | (100 * (column + 1) + g) << 16);
        }
        EXPECT_EQ(two[0], rows[1]);
        EXPECT_EQ(two[1], rows[2]);
    });
}

TEST(LoadMatrices, MisuseIsNamed) {
    expect_fault(kWarp, "neither cp.async, TMA nor store_shared has written", [] {
        uint32_t words[4];
        load_matrices(words, word_address(lane_index() * 4));
    });
    expect_fault(kWarp, "which is not 16-byte aligned", [] {
        store_rows();
        uint32_t words[4];
        load_matrices(words, word_address(lane_index() * 4 + 1));
    });
    expect_fault(kWarp, "with no barrier since", [] {  // its own row, but other lanes' registers
        for (uint32_t j = 0; j < 4; ++j) store_shared(shared().words + lane_index() * 4 + j, j);
        uint32_t words[4];
        load_matrices(words, word_address(lane_index() * 4));
    });
}

TEST(StoreMatrices, PutsRowsWhereLoadMatricesFindsThem) {
    expect_runs(kWarp, [] {
        const uint32_t lane = lane_index();
        uint32_t words[4], back[4];
        for (uint32_t matrix = 0; matrix < 4; ++matrix) words[matrix] = 100 * matrix + lane;
        store_matrices(word_address(lane * 4), words);
        sync_warp();
        for (uint32_t j = 0; j < 4; ++j)  // row lane % 8 of matrix lane / 8
            EXPECT_EQ(load_shared(shared().words + lane * 4 + j), 100 * (lane / 8) + lane % 8 * 4 + j);
        sync_warp();
        load_matrices(back, word_address(lane * 4));
        for (uint32_t matrix = 0; matrix < 4; ++matrix) EXPECT_EQ(back[matrix], words[matrix]);
    });
}

TEST(StoreMatrices, MisuseIsNamed) {
    expect_fault(kWarp, "is not aligned to 16 bytes", [] {
        const uint32_t words[4] = {};
        store_matrices(word_address(lane_index() * 4 + 1), words);
    });
    expect_fault(kWarp, "with no barrier since", [] {  // its own row, but other lanes' registers
        const uint32_t words[4] = {};
        store_matrices(word_address(lane_index() * 4), words);
        load_shared(shared().words + (lane_index() * 4 + 4) % 128);
    });
}

TEST(LoadMatrices, BusyBanksAreCounted) {
    const auto conflicts = [](uint32_t pitch) {
        return host_model::run(kWarp,
                               [pitch] {
                                   for (uint32_t i = lane_index(); i < 1024; i += 32)
                                       store_shared(shared().words + i, i);
                                   sync_warp();
                                   uint32_t words[2];
                                   load_matrices(words, word_address(lane_index() % 16 * pitch));
                               })
            .bank_conflicts;
    };
    EXPECT_EQ(conflicts(4), 0u);
    EXPECT_EQ(conflicts(20), 0u);   // 80-byte rows: an odd number of 16-byte columns
    EXPECT_EQ(conflicts(8), 8u);    // 32-byte rows: every second column, each twice
    EXPECT_EQ(conflicts(32), 14u);  // 128-byte rows: one column for all
}

TEST(MultiplyAdd, FragmentsLieAsDocumented) {
    // Two bits of a and two of b select one product: which d changes, and by how much, identifies every position.
    for (uint32_t m : {0u, 5u, 8u, 15u}) {
        for (uint32_t n : {0u, 3u, 7u}) {
            for (uint32_t k : {0u, 1u, 7u, 8u, 14u, 15u}) {
                expect_runs(kWarp, [=] {
                    const uint32_t g = lane_index() / 4, t = lane_index() % 4;
                    uint32_t a[4] = {}, b[2] = {};
                    float d[4] = {1, 2, 3, 4};
                    const uint32_t one = 0x3f80u << (k % 2 * 16), three = 0x4040u << (k % 2 * 16);
                    if (g == m % 8 && t == k % 8 / 2) a[m / 8 + k / 8 * 2] = one;
                    if (g == n && t == k % 8 / 2) b[k / 8] = three;
                    multiply_add<Element::BF16>(d, a, b);
                    for (uint32_t i = 0; i < 4; ++i) {
                        const bool hit = g + i / 2 * 8 == m && 2 * t + i % 2 == n;
                        EXPECT_EQ(d[i], static_cast<float>(i + 1 + (hit ? 3 : 0)));
                    }
                });
            }
        }
    }
}

TEST(MultiplyAdd, TakesFloat16) {
    expect_runs(kWarp, [] {
        const uint32_t word = float16_bits(0.5f) | float16_bits(-2.0f) << 16;
        const uint32_t a[4] = {word, word, word, word}, b[2] = {word, word};
        float d[4] = {};
        multiply_add<Element::F16>(d, a, b);
        for (const float value : d) EXPECT_EQ(value, 8 * (0.25f + 4.0f));
    });
}

TEST(WarpTiles, LoadedAndMultipliedAtOnceAreThoseOfSingleInstructions) {
    expect_runs(kWarp, [] {
        // 32 rows of 64 bytes; fragments of two operands of 16 rows, of four of 8 columns.
        for (uint32_t i = 0; i < 16; ++i) {
            const uint32_t at = lane_index() * 16 + i;
            store_shared(shared().words + at,
                         bfloat16_bits(static_cast<float>(at % 7)) | bfloat16_bits(static_cast<float>(at % 5)) << 16);
        }
        sync_warp();
        constexpr uint32_t kStride = 16 * 64;
        const uint32_t row_a = word_address(lane_index() % 16 * 16 + lane_index() / 16 * 4);
        const uint32_t row_b = word_address((lane_index() % 8 + lane_index() / 16 * 8) * 16 + lane_index() / 8 % 2 * 4);
        uint32_t a[2][4], b[4][2], one[4];
        load_matrices(a, row_a, kStride);
        load_matrices(b, row_b, kStride);
        for (uint32_t i = 0; i < 2; ++i) {
            load_matrices(one, row_a + i * kStride);
            EXPECT_TRUE(std::equal(one, one + 4, a[i]));
            load_matrices(one, row_b + i * kStride);
            EXPECT_TRUE(std::equal(one, one + 4, b[2 * i]));
        }
        float d[2][4][4], single[4];
        for (uint32_t i = 0; i < 32; ++i) d[i / 16][i / 4 % 4][i % 4] = static_cast<float>(i);
        multiply_add<Element::BF16>(d, a, b);
        for (uint32_t i = 0; i < 2; ++i) {
            for (uint32_t j = 0; j < 4; ++j) {
                for (uint32_t k = 0; k < 4; ++k) single[k] = static_cast<float>((i * 4 + j) * 4 + k);
                multiply_add<Element::BF16>(single, a[i], b[j]);
                EXPECT_TRUE(std::equal(single, single + 4, d[i][j])) << i << ", " << j;
            }
        }
    });
}

TEST(Shuffle, ExchangesAcrossTheMask) {
    expect_runs(kTwoWarps, [] {
        for (uint32_t mask = 1; mask < 32; mask *= 2) {
            EXPECT_EQ(shuffle_xor(static_cast<float>(thread_index()), mask), static_cast<float>(thread_index() ^ mask));
        }
    });
    expect_fault(kWarp, "mask 32 is outside 1..31", [] { shuffle_xor(0.0f, 32); });
}

TEST(Shuffle, RotatesAWarpsLanes) {
    expect_runs(kTwoWarps, [] {
        const uint32_t warp = thread_index() / 32 * 32;
        for (const uint32_t lanes : {1U, 4U, 31U}) {
            EXPECT_EQ(rotate_lanes(static_cast<float>(thread_index()), lanes),
                      static_cast<float>(warp + (thread_index() + lanes) % 32));
        }
    });
}

TEST(GlobalMemory, WordsMoveWhenAligned) {
    alignas(16) uint32_t memory[256] = {};
    expect_runs(kWarp, [&] {
        store_global(memory + 8 * lane_index(), Words<4>{{1, 2, 3, lane_index()}});
        EXPECT_EQ(load_global<Words<2>>(memory + 8 * lane_index() + 2).at[1], lane_index());
    });
    expect_fault(kWarp, "not aligned to 16 bytes", [&] { load_global<Words<4>>(memory + 2); });
}

}  // namespace
}  // namespace kinetograph::isa
