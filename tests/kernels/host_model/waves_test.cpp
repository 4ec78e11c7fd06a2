#include <cmath>
#include <kinetograph/kernels/isa/amd/cross_lane.hpp>
#include <kinetograph/kernels/isa/amd/mfma.hpp>
#include <kinetograph/kernels/isa/amd/small_floats.hpp>

#include "wave_run.hpp"

namespace kinetograph::isa::amd {
namespace {

using Words = std::vector<uint32_t>;

TEST(Waves, EveryWaveOfTheGridRunsOnceAndKnowsItsPlace) {
    WaveRun run(
        [](const WaveParams& p) {
            const Index3 group = workgroup_index();
            const uint32_t wave = ((group.z * 2 + group.y) * 2 + group.x) * 2 + wave_index();
            store_4(p.out(), lane_index() * 4u + wave * 256, lane_index() + wave * 64);
        },
        2);
    for (const uint32_t threads : {1u, 3u, 0u}) {
        const auto outcome = run.run({.grid = {2, 2, 2}, .seed = threads, .threads = threads});
        ASSERT_EQ(outcome.fault.value_or(""), "");
        for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(run.output[i], i);
    }
}

TEST(Waves, AnEmptyGridRunsNothing) {
    WaveRun run([](const WaveParams& p) { store_4(p.out(), lane_index() * 4u, 1u); }, 1);
    EXPECT_EQ(run.run({.grid = {0, 1, 1}}).fault.value_or(""), "");
    EXPECT_EQ(run.output[0], 0xdeadbeef);
}

TEST(Waves, LoadsToLdsReachOtherWavesThroughAWaitAndABarrier) {
    expect_runs(
        4,
        [](const WaveParams& p) {
            const LdsPlace lds = allocate_lds<4096>();
            const uint32_t wave = wave_index();
            load_16_to_lds(p.in(), lds + wave * 1024, lane_bytes() + wave * 1024);
            wait_vector_memory<0>();
            barrier();
            store_16(p.out(), lane_bytes() + wave * 1024, read_lds_16(lds + (wave + 1) % 4 * 1024, lane_bytes()));
        },
        [](const Words& output) {
            for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(output[i], 1000 + (i + 256) % 1024);
        });
}

TEST(Waves, AWaitThatLeavesTheNewestLoadsAwaitsTheOlderOnes) {
    expect_runs(
        1,
        [](const WaveParams& p) {
            const LdsPlace lds = allocate_lds<4096>();
            for (uint32_t i = 0; i < 4; ++i) load_16_to_lds(p.in(), lds + i * 1024, lane_bytes() + i * 1024);
            wait_vector_memory<2>();
            store_16(p.out(), lane_bytes(), read_lds_16(lds + 1024, lane_bytes()));
            wait_vector_memory<0>();
        },
        [](const Words& output) { EXPECT_EQ(output[5], 1000u + 256 + 5); });
}

TEST(Waves, LdsInstructionsOfOneWaveAreInOrder) {
    expect_runs(
        1,
        [](const WaveParams& p) {
            const LdsPlace lds = allocate_lds<1024>();
            const auto lane = lane_index();
            write_lds_4(lds, lane * 4u, lane);
            write_lds_4(lds, lane * 4u, lane + 100u, lane < 8u);
            write_lds_8(lds, lane * 8u + 256u, {{lane, lane + 1u}});
            store_4(p.out(), lane * 4u, read_lds_4(lds, lane * 4u));
            store_8(p.out(), lane * 8u + 256u, read_lds_8(lds, lane * 8u + 256u));
        },
        [](const Words& output) {
            for (uint32_t i = 0; i < 64; ++i) {
                ASSERT_EQ(output[i], i < 8 ? i + 100 : i);
                ASSERT_EQ(output[64 + 2 * i + 1], i + 1);
            }
        });
}

TEST(Waves, LanesOutOfRangeReadZeroAndStoreNothing) {
    expect_runs(
        1,
        [](const WaveParams& p) {
            const LdsPlace lds = allocate_lds<1024>();
            const auto offset = select<uint32_t>(lane_index() % 2u == 0u, lane_bytes(), kOutOfRange);
            load_16_to_lds(p.in(), lds, offset);
            wait_vector_memory<0>();
            store_16(make_buffer(p.output, 512), lane_bytes(), read_lds_16(lds, lane_bytes()));
            store_4(p.out(), lane_index() * 4u + 2048u, load_4(make_buffer(p.input, 0), lane_bytes()));
        },
        [](const Words& output) {
            for (uint32_t i = 0; i < 512; ++i) {
                ASSERT_EQ(output[i], i >= 128 ? 0xdeadbeef : i / 4 % 2 != 0 ? 0 : 1000 + i) << i;
            }
            EXPECT_EQ(output[512 + 63], 0u);
        });
}

TEST(Waves, NarrowLoadsAndStoresTouchTheirBytesOnly) {
    expect_runs(
        1,
        [](const WaveParams& p) {
            const auto lane = lane_index();
            store_2(p.out(), lane * 4u, load_2(p.in(), lane * 4u) + 0x70000u);
            store_1(p.out(), lane * 4u + 3u, load_1(p.in(), lane * 4u + 1u) + 0x100u, 256);
        },
        [](const Words& output) {
            EXPECT_EQ(output[5], 0xdead0000u | 1005);
            EXPECT_EQ(output[64 + 5], 0x00adbeefu | 1005 >> 8 << 24);
        });
}

TEST(Waves, TheScalarOffsetMovesAllLanes) {
    expect_runs(
        1, [](const WaveParams& p) { store_16(p.out(), lane_bytes(), load_16(p.in(), lane_bytes(), 1024), 2048); },
        [](const Words& output) { EXPECT_EQ(output[512 + 7], 1000u + 256 + 7); });
}

TEST(Waves, ValuesTravelBetweenLanes) {
    expect_runs(
        1,
        [](const WaveParams& p) {
            const auto lane = lane_index();
            store_4(p.out(), lane * 4u, permute(lane * 10u, lane + 1u));
            store_4(p.out(), lane * 4u, exchange<5>(lane), 256);
            store_4(p.out(), lane * 4u, exchange<48>(lane), 512);
            store_4(p.out(), lane * 4u, read_lane(lane * 3u, 21), 768);
            store_4(p.out(), lane * 4u, bits_as<uint32_t>(sum_lanes(Lanes<float>(lane))), 1024);
            store_4(p.out(), lane * 4u, bits_as<uint32_t>(sum_lanes<16>(Lanes<float>(lane))), 1280);
            store_4(p.out(), lane * 4u, bits_as<uint32_t>(max_lanes<4>(Lanes<float>(lane))), 1536);
        },
        [](const Words& output) {
            const auto number = [&](uint32_t i) { return std::bit_cast<float>(output[i]); };
            for (uint32_t i = 0; i < 64; ++i) {
                ASSERT_EQ(output[i], (i + 1) % 64 * 10);
                ASSERT_EQ(output[64 + i], i ^ 5);
                ASSERT_EQ(output[128 + i], i ^ 48);
                ASSERT_EQ(output[192 + i], 63u);
                ASSERT_EQ(number(256 + i), 2016.0f);
                const uint32_t of_sixteen = i / 16 * 256 + 120, largest_of_four = i | 3;
                ASSERT_EQ(number(320 + i), static_cast<float>(of_sixteen));
                ASSERT_EQ(number(384 + i), static_cast<float>(largest_of_four));
            }
        });
}

/// Element (row or column, k) of an operand whose lanes hold `chunks` groups of 16 bytes, by the documented layout.
template <class Value>
void fill_operand(uint32_t* registers, uint32_t words, uint32_t element_bits, const Value& value) {
    const uint32_t in_word = 32 / element_bits, in_chunk = 128 / element_bits;
    for (uint32_t lane = 0; lane < 64; ++lane) {
        for (uint32_t word = 0; word < words; ++word) {
            uint32_t& bits = registers[word * 64 + lane] = 0;
            for (uint32_t i = 0; i < in_word; ++i) {
                const uint32_t element = word * in_word + i, chunk = element / in_chunk;
                const uint32_t k = (chunk * 4 + lane / 16) * in_chunk + element % in_chunk;
                bits |= value(lane % 16, k) << (i * element_bits);
            }
        }
    }
}

float a_value(uint32_t row, uint32_t k) { return static_cast<float>((row * 5 + k * 3) % 9) - 4.0f; }
float b_value(uint32_t column, uint32_t k) { return static_cast<float>((column * 7 + k) % 5) - 2.0f; }

/// D of a kernel that multiplies a_value by b_value, with C = 1.
template <class Encode, class Multiply>
void expect_product(uint32_t depth, uint32_t element_bits, const Encode& encode, const Multiply& multiply) {
    std::vector<uint32_t> a(8 * 64), b(8 * 64);
    const uint32_t words = depth * 16 * element_bits / 32 / 64;
    fill_operand(a.data(), words, element_bits, [&](uint32_t row, uint32_t k) { return encode(a_value(row, k)); });
    fill_operand(b.data(), words, element_bits,
                 [&](uint32_t column, uint32_t k) { return encode(b_value(column, k)); });
    const Accumulator d = multiply(a.data(), b.data());
    for (uint32_t lane = 0; lane < 64; ++lane) {
        for (uint32_t i = 0; i < 4; ++i) {
            float sum = 1.0f;
            for (uint32_t k = 0; k < depth; ++k) sum += a_value(4 * (lane / 16) + i, k) * b_value(lane % 16, k);
            ASSERT_EQ(d[i].lane[lane], sum) << "lane " << lane << " register " << i;
        }
    }
}

template <class Packed>
Packed operand(const uint32_t* registers) {
    Packed packed;
    for (uint32_t i = 0; i < sizeof(Packed) / sizeof(Lanes<uint32_t>); ++i) {
        std::copy_n(registers + i * 64, 64, packed[i].lane);
    }
    return packed;
}

const Accumulator kOnes = {{1.0f, 1.0f, 1.0f, 1.0f}};

/// Products are counted, so they must run in a wave.
void in_a_wave(WaveBody body) {
    expect_runs(1, body, [](const Words&) {});
}

TEST(Mfma, FollowsTheDocumentedLayoutOfSixteenBitElements) {
    in_a_wave([](const WaveParams&) {
        expect_product(32, 16, to_bf16, [](const uint32_t* a, const uint32_t* b) {
            return mfma_16x16x32<Element::BF16>(operand<Packed16>(a), operand<Packed16>(b), kOnes);
        });
        expect_product(32, 16, to_f16, [](const uint32_t* a, const uint32_t* b) {
            return mfma_16x16x32<Element::F16>(operand<Packed16>(a), operand<Packed16>(b), kOnes);
        });
    });
}

TEST(Mfma, FollowsTheDocumentedLayoutOfFp8) {
    in_a_wave([](const WaveParams&) {
        expect_product(128, 8, to_f8e4m3, [](const uint32_t* a, const uint32_t* b) {
            return mfma_16x16x128_f8e4m3(operand<Packed32>(a), operand<Packed32>(b), kOnes);
        });
    });
}

TEST(LaneMath, ConversionsRoundToNearestEvenAndSaturate) {
    in_a_wave([](const WaveParams&) {
        const Lanes<float> x = Lanes<float>(lane_index()) * 0.37f - 9.0f;
        const Lanes<uint32_t> bf16 = pack_bf16(x, -x), f16 = pack_f16(x, -x), f8 = pack_f8e4m3(x, -x, x * 100.0f, 0.0f);
        const Lanes<float> low = low_bf16(bf16), high = high_bf16(bf16), half = high_f16(f16);
        for (uint32_t i = 0; i < 64; ++i) {
            ASSERT_EQ(low.lane[i], from_bf16(to_bf16(x.lane[i])));
            ASSERT_EQ(high.lane[i], -low.lane[i]);
            ASSERT_EQ(half.lane[i], -from_f16(to_f16(x.lane[i])));
            ASSERT_EQ(f8.lane[i] & 0xff, to_f8e4m3(x.lane[i]));
            ASSERT_EQ(from_f8e4m3(f8.lane[i] >> 16 & 0xff),
                      from_f8e4m3(to_f8e4m3(std::min(std::max(x.lane[i] * 100.0f, -448.0f), 448.0f))));
        }
    });
}

TEST(LaneMath, ScalarsMixWithVectorsAndConditionsSelect) {
    in_a_wave([](const WaveParams&) {
        const Lanes<uint32_t> lane = lane_index();
        const Lanes<uint32_t> even = select<uint32_t>(lane % 2u == 0u, lane, 7u);
        const Lanes<uint32_t> high = mul_hi(lane << 26u, Lanes<uint32_t>(1u << 31));
        const Lanes<float> smaller = min<float>(Lanes<float>(lane), 10.0f);
        for (uint32_t i = 0; i < 64; ++i) {
            ASSERT_EQ(even.lane[i], i % 2 == 0 ? i : 7);
            ASSERT_EQ(high.lane[i], i << 25);
            ASSERT_EQ(smaller.lane[i], std::min(static_cast<float>(i), 10.0f));
        }
        EXPECT_TRUE(any(lane == 63u));
        EXPECT_FALSE(any(lane == 64u));
    });
}

}  // namespace
}  // namespace kinetograph::isa::amd
