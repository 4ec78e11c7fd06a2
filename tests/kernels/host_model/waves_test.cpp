#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <kinetograph/kernels/host_model/wave_launch.hpp>
#include <kinetograph/kernels/isa/amd/buffer.hpp>
#include <kinetograph/kernels/isa/amd/cross_lane.hpp>
#include <kinetograph/kernels/isa/amd/mfma.hpp>
#include <numeric>
#include <vector>

namespace kinetograph::isa::amd {
namespace {

using host_model::launch_waves;
using host_model::WaveKernel;
using host_model::WaveOutcome;

struct Params {
    const uint32_t* input;
    uint32_t* output;
    uint32_t bytes;  ///< of each
};

/// Runs `kernel` on 1024 input words under late, early and mixed landing; `judge` sees the 1024 output words.
template <class Judge>
void expect_runs(void (*kernel)(const Params&), uint32_t waves, const Judge& judge, uint32_t workgroups = 1) {
    std::vector<uint32_t> input(1024), output(1024);
    std::iota(input.begin(), input.end(), 1000u);
    const Params params{input.data(), output.data(), 4096};
    static void (*body)(const Params&);
    body = kernel;
    const WaveKernel wave_kernel{"kernel", sizeof(Params), waves * 64,
                                 [](const void* p) { body(*static_cast<const Params*>(p)); }};
    for (uint64_t seed = 0; seed < 6; ++seed) {
        output.assign(output.size(), 0xdeadbeef);
        const WaveOutcome outcome =
            launch_waves(wave_kernel, {.grid = {workgroups}, .seed = seed, .threads = 2}, &params);
        ASSERT_EQ(outcome.fault.value_or(""), "") << "seed " << seed;
        judge(output);
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

/// The kernel is stopped under every schedule, with this sentence.
void expect_fault(void (*kernel)(const Params&), uint32_t waves, const std::string& sentence) {
    std::vector<uint32_t> input(1024), output(1024);
    const Params params{input.data(), output.data(), 4096};
    static void (*body)(const Params&);
    body = kernel;
    const WaveKernel wave_kernel{"kernel", sizeof(Params), waves * 64,
                                 [](const void* p) { body(*static_cast<const Params*>(p)); }};
    for (uint64_t seed = 0; seed < 6; ++seed) {
        const std::string fault = launch_waves(wave_kernel, {.seed = seed}, &params).fault.value_or("no fault");
        EXPECT_NE(fault.find(sentence), std::string::npos) << "seed " << seed << ": " << fault;
    }
}

Lanes<uint32_t> lane_bytes() { return lane_index() * 16u; }

TEST(Waves, LoadsToLdsReachOtherWavesThroughAWaitAndABarrier) {
    expect_runs(
        [](const Params& p) {
            const LdsPlace lds = allocate_lds<4096>();
            const uint32_t wave = wave_index();
            load_16_to_lds(make_buffer(p.input, p.bytes), lds + wave * 1024u, lane_bytes() + wave * 1024u);
            wait_vector_memory<0>();
            barrier();
            const uint32_t other = (wave + 1) % 4;
            store_16(make_buffer(p.output, p.bytes), lane_bytes() + wave * 1024u,
                     read_lds_16(lds + other * 1024u, lane_bytes()));
        },
        4,
        [](const std::vector<uint32_t>& output) {
            for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(output[i], 1000 + (i + 256) % 1024);
        });
}

TEST(Waves, LanesOutOfRangeReadZeroAndStoreNothing) {
    expect_runs(
        [](const Params& p) {
            const LdsPlace lds = allocate_lds<1024>();
            const auto lane = lane_index();
            const auto offset = select<uint32_t>(lane % 2u == 0u, lane_bytes(), kOutOfRange);
            load_16_to_lds(make_buffer(p.input, p.bytes), lds, offset);
            wait_vector_memory<0>();
            store_16(make_buffer(p.output, 512), lane_bytes(), read_lds_16(lds, lane_bytes()));
        },
        1,
        [](const std::vector<uint32_t>& output) {
            for (uint32_t i = 0; i < 1024; ++i) {
                const uint32_t expected = i / 4 % 2 != 0 ? 0 : 1000 + i;
                ASSERT_EQ(output[i], i < 128 ? expected : 0xdeadbeef) << i;
            }
        });
}

TEST(WaveFaults, ALoadToLdsIsReadOnlyAfterItsWait) {
    expect_fault(
        [](const Params& p) {
            const LdsPlace lds = allocate_lds<1024>();
            load_16_to_lds(make_buffer(p.input, p.bytes), lds, lane_bytes());
            store_16(make_buffer(p.output, p.bytes), lane_bytes(), read_lds_16(lds, lane_bytes()));
        },
        1, "reads LDS+0, which buffer_load_dwordx4 lds at waves_test.cpp:");
}

}  // namespace
}  // namespace kinetograph::isa::amd
