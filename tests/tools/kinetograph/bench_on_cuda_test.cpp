// kinetograph bench on the CUDA lane: a stand-in driver runs the kernels in the host model.
#include "latent_files.hpp"
#include "program_json.hpp"
#include "standin_cuda.hpp"

namespace kinetograph::test {
namespace {

using BenchOnCuda = OnStandinCuda;

TEST_F(BenchOnCuda, TimesAConvolutionByReplayingARowOfLaunches) {
    const auto json = run_json({"bench", "conv", "--lane", "cuda", "--input", "1,1,2,2,16", "--filter", "16,1,1,1",
                                "--repeats", "1", "--backend", "implicit-gemm-sm80"},
                               options_);
    EXPECT_EQ(json.at("machine").at("lane"), "cuda");
    const auto& result = json.at("layers").front().at("backends").front();
    EXPECT_EQ(result.at("backend"), "implicit-gemm-sm80");
    EXPECT_EQ(result.at("replayed"), true);
    EXPECT_EQ(result.at("tensors_in_turn"), 32);
    EXPECT_GT(result.at("seconds").get<double>(), 0);
    EXPECT_GT(result.at("predicted_seconds").get<double>(), 0);
}

TEST_F(BenchOnCuda, TimesEveryPassOfAReplayedStepAndCountsDeviceMemoryWithoutTheHostsStaging) {
    const auto json = run_json(
        {"bench", "decode", "--lane", "cuda", "--weights", "synthetic:wan2.1,dim=8", "--size", "8x8", "--steps", "3"},
        options_);
    EXPECT_EQ(json.at("frames"), 9);
    EXPECT_GT(json.at("passes").size(), 30U);
    EXPECT_EQ(json.at("seconds_per_step_on_device").at("count"), 1);
    const auto& stated = json.at("stated_bytes");
    EXPECT_GT(stated.at("staging").get<std::uint64_t>(), 0);
    EXPECT_GT(stated.at("frames").get<std::uint64_t>(), 0) << "before they are copied to the host";
    EXPECT_EQ(json.at("stated_device_bytes"),
              stated.at("transients").get<std::uint64_t>() + stated.at("histories").get<std::uint64_t>() +
                  stated.at("parameters").get<std::uint64_t>() + stated.at("frames").get<std::uint64_t>());
    EXPECT_LE(json.at("peak_device_bytes").get<std::uint64_t>(), json.at("stated_device_bytes").get<std::uint64_t>());
}

TEST_F(BenchOnCuda, LeavesReplaysThatAreTimedAsAWholeOutOfThePassesCosts) {
    const auto json = run_json({"bench", "decode", "--lane", "cuda", "--weights", "synthetic:taew2.1,dim=4", "--size",
                                "8x8", "--steps", "6", "--rounds", "2"},
                               options_);
    const auto& passes = json.at("passes");
    ASSERT_GT(passes.size(), 10U);
    for (const auto& pass : passes) {
        EXPECT_EQ(pass.at("name").get<std::string>().find(" passes from "), std::string::npos) << pass;
        EXPECT_EQ(pass.at("count"), passes.front().at("count")) << "in every step alike: " << pass;
    }
}

TEST_F(BenchOnCuda, HandsOverToVulkanAndBack) {
    const auto json = run_json({"bench", "interop", "--lane", "cuda", "--executions", "5", "--steps", "20"}, options_);
    EXPECT_EQ(json.at("machine").at("lane"), "cuda");
    EXPECT_TRUE(json.at("soak").at("changes").empty()) << json.at("soak");
}

TEST_F(BenchOnCuda, RunsADecoderWhoseFramesVulkanDraws) {
    const auto json = run_json({"bench", "interop", "--lane", "cuda", "--executions", "5", "--weights",
                                "synthetic:taew2.1,dim=4", "--size", "8x8", "--decode-steps", "12", "--steps", "2"},
                               options_);
    EXPECT_EQ(json.at("decode").at("seconds_per_step_decoded_only").at("count"), 8);
    const auto& soak = json.at("soak");
    EXPECT_TRUE(soak.at("changes").empty()) << soak;
    EXPECT_EQ(soak.at("before").at("frames"), 1 + 4 * 23);
    EXPECT_EQ(soak.at("after").at("frames_published"), 1 + 4 * 25);
}

}  // namespace
}  // namespace kinetograph::test
