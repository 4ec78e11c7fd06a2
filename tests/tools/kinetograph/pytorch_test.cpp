// tools/*.py, the comparison with PyTorch: it must time and decode the same as kinetograph.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <sstream>

#include "latent_files.hpp"
#include "program_json.hpp"

namespace kinetograph::test {
namespace {

constexpr const char* kPython = "/usr/bin/python3";  // Debian's, which python3-torch belongs to

class Yardstick : public ::testing::Test {
  protected:
    void SetUp() override {
        constexpr const char* kLook = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
        if (run_program(kPython, {"-c", kLook}).exit_code != 0) GTEST_SKIP() << "python3-torch is not installed";
    }
    static ProgramResult run(const std::string& script, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), (source_tree() / "bench/peers" / script).string());
        return run_program(kPython, arguments);
    }
};

TEST_F(Yardstick, TimesTheSameConvolutionsUnderTheSameNames) {
    const auto listed = run("pytorch_layers.py", {"--list", "--size", "48x32", "--dim", "32"});
    ASSERT_EQ(listed.exit_code, 0) << listed.messages;
    std::vector<std::string> theirs, ours;
    std::istringstream lines(listed.out);
    for (std::string line; std::getline(lines, line);) theirs.push_back(line.substr(line.find_first_not_of(' ')));
    const auto json = run_json({"bench", "conv", "--lane", "cpu", "--size", "48x32", "--dim", "32", "--repeats", "1"});
    for (const auto& layer : json.at("layers"))
        ours.push_back(fmt::format("{} x {}", layer.at("launches").get<int>(), layer.at("layer").get<std::string>()));
    std::ranges::sort(theirs);
    std::ranges::sort(ours);
    EXPECT_EQ(theirs, ours);
}

std::vector<float> read_frames(const std::filesystem::path& path) {
    auto file = tensor::SafetensorsFile::open(path);
    EXPECT_TRUE(file) << file.error().message;
    const tensor::TensorView* frames = file->find("frames");
    EXPECT_NE(frames, nullptr);
    return *tensor::to_f32(*frames, "frames");
}

TEST_F(Yardstick, DecodesTheSamePicturesFromTheSameSyntheticWeights) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors", 3);
    const auto out = (folder.path() / "ours.safetensors").string();
    ASSERT_EQ(
        run_program({"decode", clip, "--weights", kSmallWeights, "-o", out, "--lane", "cpu", "--precision", "fp32"})
            .exit_code,
        0);
    const auto json = (folder.path() / "theirs.json").string();
    const auto theirs =
        run("pytorch_decoder.py", {clip, "--weights", kSmallWeights, "--channels-last", "--threads", "1", "--output",
                                   folder.path() / "theirs.safetensors", "--json", json});
    ASSERT_EQ(theirs.exit_code, 0) << theirs.messages;
    const auto a = read_frames(out), b = read_frames(folder.path() / "theirs.safetensors");
    ASSERT_EQ(a.size(), b.size());
    float largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    EXPECT_LT(largest, 2e-4F);  // two float32 sums in different orders; twice the golden data's limit
    std::ifstream file(json);
    const auto stats = nlohmann::json::parse(file);
    EXPECT_EQ(stats.at("frames"), 9);
    EXPECT_EQ(stats.at("memory_format"), "channels_last_3d");
    EXPECT_GT(stats.at("fps_clip").get<double>(), 0);
    EXPECT_GT(stats.at("seconds_per_step").get<double>(), 0);
}

TEST_F(Yardstick, RefusesAFileBesideASize) {
    const auto result =
        run("pytorch_decoder.py", {"clip", "--weights", kSmallWeights, "--size", "48x32", "--steps", "1"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.messages.find("either a latents file or --size"), std::string::npos) << result.messages;
}

TEST_F(Yardstick, ComparisonsMeetOrMissEachGoalOfTheirOwn) {
    const auto result = run_program(kPython, {(source_tree() / "tests/tools/compare_pytorch_test.py").string()});
    EXPECT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.messages.find("OK"), std::string::npos) << result.messages;
}

}  // namespace
}  // namespace kinetograph::test
