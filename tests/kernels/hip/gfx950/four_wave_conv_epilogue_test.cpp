#include <gtest/gtest.h>

#include <atomic>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv.hpp>

#include "conv_case.hpp"

namespace kinetograph::gfx950 {
namespace {

/// Sums and counts the values that it observes.
struct Summing {
    static inline std::atomic<uint32_t> values;
    static inline std::atomic<double> sum;

    static void observe(const FourWaveConvParams& params, uint32_t frame, const Lanes<uint32_t>& pixel,
                        const Lanes<uint32_t>& channel, const Accumulator& shown) {
        EXPECT_EQ(frame, 0u);
        for (uint32_t lane = 0; lane < isa::amd::kWaveLanes; ++lane) {
            for (uint32_t e = 0; e < 4; ++e) {
                if (pixel.lane[lane] >= params.pixels || channel.lane[lane] + e >= params.c_out) continue;
                ++values;
                sum += shown[e].lane[lane];
            }
        }
    }
};

TEST(FourWaveConvEpilogue, AnObserverSeesEveryValueOnceBeforeItIsRounded) {
    using Config = FourWaveConvConfig<Element::BF16, 64, 64, 32, ConvLoader::Uniform>;
    const host_model::ModelKernel kernel{
        "observed", sizeof(FourWaveConvParams), Config::kThreads, [](const void* params) {
            FourWaveConv<Config, Summing>::run(*static_cast<const FourWaveConvParams*>(params));
        }};
    // Integers: their sums are exact in fp32, and many exceed 256, where bf16 rounds them.
    const ConvProblem problem{
        .h = 5, .w = 7, .c_in = 32, .filter = {5, 1, 3, 3}, .stride = {}, .dilation = {}, .pad = {}, .bias = false};
    ConvRun run({.problem = problem, .overrides = {.tile = ConvTile{64, 64, 32}}, .data = Data::Integer});
    Summing::values = 0;
    Summing::sum = 0;
    ASSERT_EQ(run.run(2, &kernel).fault.value_or(""), "");
    EXPECT_EQ(run.compare(), "");  // the observer changes nothing
    EXPECT_EQ(Summing::values, 3u * 5 * 5);
    EXPECT_EQ(Summing::sum, run.exact_sum());
}

}  // namespace
}  // namespace kinetograph::gfx950
