#pragma once

#include <gtest/gtest.h>

#include <kinetograph/kernels/host_model/wave_launch.hpp>
#include <kinetograph/kernels/isa/amd/buffer.hpp>
#include <kinetograph/kernels/isa/amd/cross_lane.hpp>
#include <numeric>
#include <string>
#include <vector>

/// Runs kernels of waves for tests: a correct one under several schedules, a wrong one until the model stops it.
namespace kinetograph::isa::amd {

inline constexpr uint64_t kWaveSchedules = 6;  // twice each of late, at once and mixed landing

/// The parameters of every kernel here: 1024 words in (1000, 1001, ...), 1024 words out.
struct WaveParams {
    const uint32_t* input;
    uint32_t* output;
    uint32_t bytes;  ///< of each

    Buffer in() const { return make_buffer(input, bytes); }
    Buffer out() const { return make_buffer(output, bytes); }
};
using WaveBody = void (*)(const WaveParams&);

class WaveRun {
  public:
    WaveRun(WaveBody body, uint32_t waves)
        : kernel_{"kernel", sizeof(Call), waves * 64,
                  [](const void* call) {
                      const auto& [run, params] = *static_cast<const Call*>(call);
                      run(params);
                  }},
          body_(body) {
        std::iota(input_.begin(), input_.end(), 1000u);
    }
    host_model::WaveOutcome run(const host_model::WaveLaunch& launch) {
        output.assign(1024, 0xdeadbeef);
        const Call call{body_, {input_.data(), output.data(), 4096}};
        return launch_waves(kernel_, launch, &call);
    }
    std::vector<uint32_t> output;

  private:
    struct Call {
        WaveBody body;
        WaveParams params;
    };
    host_model::ModelKernel kernel_;
    WaveBody body_;
    std::vector<uint32_t> input_ = std::vector<uint32_t>(1024);
};

/// `judge` checks the output words of every schedule.
template <class Judge>
void expect_runs(uint32_t waves, WaveBody body, const Judge& judge) {
    WaveRun run(body, waves);
    for (uint64_t seed = 0; seed < kWaveSchedules; ++seed) {
        ASSERT_EQ(run.run({.seed = seed}).fault.value_or(""), "") << "seed " << seed;
        judge(run.output);
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

/// The kernel is stopped under every schedule, and the sentence contains `part`.
inline void expect_fault(uint32_t waves, const std::string& part, WaveBody body) {
    WaveRun run(body, waves);
    for (uint64_t seed = 0; seed < kWaveSchedules; ++seed) {
        const std::string fault = run.run({.seed = seed}).fault.value_or("no fault");
        EXPECT_NE(fault.find(part), std::string::npos) << "seed " << seed << ": " << fault;
    }
}

/// 16 bytes a lane: the offsets of a load to LDS.
inline Lanes<uint32_t> lane_bytes() { return lane_index() * 16u; }

}  // namespace kinetograph::isa::amd
