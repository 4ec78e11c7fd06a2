// kinetograph decode and view on the CUDA lane: a stand-in driver runs the kernels in the host model.
#include <chrono>
#include <cmath>
#include <fstream>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

#include "latent_files.hpp"
#include "program_json.hpp"
#include "standin_cuda.hpp"

namespace kinetograph::test {
namespace {

constexpr const char* kNarrow = "synthetic:wan2.1,dim=8";

class DecodeOnCuda : public OnStandinCuda {
  protected:
    /// `frames` of what `decode` writes on a lane: [3, T, H, W] in [-1, 1].
    std::vector<float> decode(const std::string& lane) {
        const auto out = folder_.path() / (lane + ".safetensors");
        const auto result = run_program({"decode", clip_, "--weights", kNarrow, "--lane", lane, "-o", out}, options_);
        EXPECT_EQ(result.exit_code, 0) << result.messages;
        const auto file = tensor::SafetensorsFile::open(out);
        EXPECT_TRUE(file) << out;
        if (!file) return {};
        const tensor::TensorView* frames = file->find("frames");
        EXPECT_EQ(frames->shape, (tensor::Shape{3, 5, 16, 16}));
        const auto* values = reinterpret_cast<const float*>(frames->data);
        return {values, values + frames->bytes / sizeof(float)};
    }
    const TemporaryFolder folder_;
    const std::string clip_ = write_latents(folder_, "clip.safetensors", 2, 16, 2, 2);
};

TEST_F(DecodeOnCuda, WritesTheFramesOfTheCpuWithinBf16) {
    const auto found = decode("cuda"), wanted = decode("cpu");
    ASSERT_EQ(found.size(), wanted.size());
    double squares = 0;
    for (std::size_t i = 0; i < found.size(); ++i) squares += std::pow(found[i] - wanted[i], 2);
    const double psnr = 10 * std::log10(4 * static_cast<double>(found.size()) / squares);
    EXPECT_GT(psnr, 38);  // as bench/peers/compare_pytorch.py asks of bf16
    EXPECT_NE(found, wanted) << "the lane was not taken";
}

TEST_F(DecodeOnCuda, PutsItsPassesOnTheTimeAxisOfVulkans) {
    const auto trace = folder_.path() / "trace.json";
    const auto begin = std::chrono::steady_clock::now();
    const auto result = run_program(
        {"view", clip_, "--weights", kNarrow, "--lane", "cuda", "--size", "320x240", "--headless", "--trace", trace},
        options_);
    const std::chrono::duration<double, std::micro> run = std::chrono::steady_clock::now() - begin;
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    std::ifstream file(trace);
    const auto events = nlohmann::json::parse(file).at("traceEvents");
    double first_decoded = -1, first_drawn = -1;
    for (const auto& event : events) {
        if (event.at("ph") != "X") continue;
        const double end = event.at("ts").get<double>() + event.at("dur").get<double>();
        EXPECT_LT(end, run.count()) << event;
        if (event.at("name") == "write_frames" && first_decoded < 0) first_decoded = end;
        if (event.at("name") == "picture" && first_drawn < 0) first_drawn = event.at("ts");
    }
    ASSERT_GE(first_decoded, 0);
    ASSERT_GE(first_drawn, 0);
    EXPECT_GT(first_drawn, first_decoded) << "a frame was drawn before it was decoded";
}

}  // namespace
}  // namespace kinetograph::test
