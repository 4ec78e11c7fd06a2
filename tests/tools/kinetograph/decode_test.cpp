// kinetograph decode: the contents of each kind of output.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/engine/present/png.hpp>
#include <nlohmann/json.hpp>

#include "../media/read_video.hpp"
#include "latent_files.hpp"
#include "program.hpp"

namespace kinetograph::test {
namespace {

constexpr std::int64_t kWidth = 48, kHeight = 32, kFrames = 5;

/// frames[3, T, H, W] of a file that `decode` wrote.
std::vector<float> read_frames(const std::filesystem::path& path) {
    auto file = tensor::SafetensorsFile::open(path);
    EXPECT_TRUE(file) << file.error().message;
    const tensor::TensorView* frames = file->find("frames");
    EXPECT_NE(frames, nullptr);
    EXPECT_EQ(frames->dtype, tensor::DType::F32);
    EXPECT_EQ(frames->shape, (tensor::Shape{3, kFrames, kHeight, kWidth}));
    return *tensor::to_f32(*frames, "frames");
}

/// The same frames as 8-bit [T, H, W, 3].
std::string to_rgb24(const std::vector<float>& cthw) {
    std::string rgb;
    const std::size_t plane = kFrames * kHeight * kWidth;
    for (std::size_t i = 0; i < plane; ++i) {
        for (std::size_t c = 0; c < 3; ++c) rgb.push_back(static_cast<char>(nn::to_unorm8(cthw[c * plane + i])));
    }
    return rgb;
}

TEST(DecodeProgram, WritesFramesAsOneTensorClampedToTheNominalRange) {
    const TemporaryFolder folder;
    const auto out = folder.path() / "out.safetensors";
    const auto result = run_program(decode(write_latents(folder, "clip.safetensors"), out));
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    const auto frames = read_frames(out);
    const auto [least, most] = std::ranges::minmax(frames);
    EXPECT_GE(least, -1.0F);
    EXPECT_LE(most, 1.0F);
    EXPECT_LT(least, most);
}

TEST(DecodeProgram, SaysWhatItTakesOfABudgetThatNoConvolutionTakesABackEndAndHowManyFramesItWrote) {
    const TemporaryFolder folder;
    auto arguments = decode(write_latents(folder, "clip.safetensors", 1), folder.path() / "out.safetensors");
    arguments.insert(arguments.end(), {"--lane", "cpu", "--memory-budget", "1G", "--backend", "q-slice-sm80"});
    const auto result = run_program(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    for (const std::string part :
         {" MiB of a budget of 1024 MiB on ", "no convolution takes the preferred back end q-slice-sm80",
          "out.safetensors: 1 frame of 48x32 in "})
        EXPECT_NE(result.messages.find(part), std::string::npos) << part << "\nsaid: " << result.messages;
}

TEST(DecodeProgram, WritesTheSameFramesOfSeveralLatentFramesAStep) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors", 6);
    auto arguments = decode(clip, folder.path() / "one.safetensors");
    ASSERT_EQ(run_program(arguments).exit_code, 0);
    arguments[5] = folder.path() / "many.safetensors";
    arguments.insert(arguments.end(), {"--latent-frames", "3", "--json", (folder.path() / "stats.json").string()});
    const auto result = run_program(arguments);  // steps of 1, 3 and 2
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    std::ifstream file(folder.path() / "stats.json");
    const auto stats = nlohmann::json::parse(file);
    EXPECT_EQ(stats.at("latent_frames_a_step"), 3);
    EXPECT_EQ(stats.at("frames"), 21);
    EXPECT_LE(stats.at("peak_device_bytes").get<std::uint64_t>(), stats.at("stated_device_bytes").get<std::uint64_t>());
    auto one = tensor::SafetensorsFile::open(folder.path() / "one.safetensors").value();
    auto many = tensor::SafetensorsFile::open(folder.path() / "many.safetensors").value();
    EXPECT_EQ(*tensor::to_f32(*many.find("frames"), "frames"), *tensor::to_f32(*one.find("frames"), "frames"));
}

TEST(DecodeProgram, DecodesLatentsThatComeOneByOneOnlySo) {
    auto arguments = decode("-", "-");
    arguments.insert(arguments.end(), {"--latent-frames", "2"});
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("--latent-frames 2: latents of - are decoded one by one, as they come"),
              std::string::npos)
        << result.messages;
}

TEST(DecodeProgram, WritesALineOfStatisticsWithItsFramesAndPasses) {
    const TemporaryFolder folder;
    const auto lines = folder.path() / "lines.jsonl";
    auto arguments = decode(write_latents(folder, "clip.safetensors"), folder.path() / "out.safetensors");
    arguments.insert(arguments.end(), {"--lane", "cpu", "--stats", lines.string()});
    const auto result = run_program(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    std::ifstream file(lines);
    std::string newest;
    for (std::string line; std::getline(file, line);) newest = line;
    const auto told = nlohmann::json::parse(newest);
    EXPECT_EQ(told["frames"], kFrames);
    EXPECT_GT(told["latency_ns"]["max"], 0) << "of the steps that made them";
    EXPECT_FALSE(told["passes"].empty());
    arguments.back() = "/nowhere/lines.jsonl";
    EXPECT_NE(run_program(arguments).messages.find("/nowhere/lines.jsonl: cannot open"), std::string::npos);
}

TEST(DecodeProgram, NoClampKeepsValuesBeyondTheRangeThatClampingCuts) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors");
    auto arguments = decode(clip, folder.path() / "raw.safetensors");
    arguments.emplace_back("--no-clamp");
    ASSERT_EQ(run_program(arguments).exit_code, 0);
    ASSERT_EQ(run_program(decode(clip, folder.path() / "clamped.safetensors")).exit_code, 0);
    const auto raw = read_frames(folder.path() / "raw.safetensors");
    auto clamped = read_frames(folder.path() / "clamped.safetensors");
    ASSERT_GT(std::ranges::max(raw), 1.0F) << "this clip does not leave the range, so it tests nothing";
    std::vector<float> expected;
    for (const float value : raw) expected.push_back(std::clamp(value, -1.0F, 1.0F));
    EXPECT_EQ(clamped, expected);
}

TEST(DecodeProgram, StandardOutputCarriesTheRgb24BytesOfTheSameFramesAndNothingElse) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors");
    const auto raw = run_program(decode(clip, "-"));
    ASSERT_EQ(raw.exit_code, 0) << raw.messages;
    ASSERT_EQ(run_program(decode(clip, folder.path() / "out.safetensors")).exit_code, 0);
    ASSERT_EQ(raw.out.size(), static_cast<std::size_t>(kFrames * kHeight * kWidth * 3));
    EXPECT_EQ(raw.out, to_rgb24(read_frames(folder.path() / "out.safetensors")));
}

TEST(DecodeProgram, PngFilesHoldTheSamePixelsAndAreNumberedFromZero) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors");
    const auto written = run_program(decode(clip, folder.path() / "f%03d.png"));
    ASSERT_EQ(written.exit_code, 0) << written.messages;
    const auto raw = run_program(decode(clip, "-"));
    ASSERT_EQ(raw.exit_code, 0) << raw.messages;
    EXPECT_EQ(folder.count_entries(), 1 + static_cast<std::size_t>(kFrames));
    std::string pixels;
    for (std::int64_t i = 0; i < kFrames; ++i) {
        const auto picture = present::read_png(folder.path() / fmt::format("f{:03}.png", i));
        ASSERT_TRUE(picture) << picture.error().message;
        ASSERT_EQ(picture->width, kWidth);
        for (std::size_t p = 0; p < picture->rgba.size(); p += 4) {
            pixels.append(reinterpret_cast<const char*>(&picture->rgba[p]), 3);
        }
    }
    ASSERT_EQ(pixels.size(), raw.out.size()) << raw.messages;
    const auto [here, there] = std::ranges::mismatch(pixels, raw.out);
    EXPECT_EQ(here - pixels.begin(), static_cast<std::ptrdiff_t>(pixels.size())) << "the first byte that differs";
}

TEST(DecodeProgram, Mp4PlaysBackTheSameFramesAtTheClipsOwnRate) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors");
    const auto result = run_program(decode(clip, folder.path() / "out.mp4"));
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    const Video video = read_video(folder.path() / "out.mp4");
    EXPECT_EQ(video.width, kWidth);
    EXPECT_EQ(video.height, kHeight);
    EXPECT_EQ(video.frames, kFrames);
    EXPECT_NEAR(video.fps, 12.0, 1e-9);
}

TEST(DecodeProgram, StatisticsHoldWhatScriptsRelyOn) {
    const TemporaryFolder folder;
    auto arguments = decode(write_latents(folder, "clip.safetensors"), folder.path() / "out.safetensors");
    arguments.insert(arguments.end(),
                     {"--json", (folder.path() / "stats.json").string(), "--precision", "fp32", "--sums", "fast"});
    const auto result = run_program(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    std::ifstream file(folder.path() / "stats.json");
    const auto stats = nlohmann::json::parse(file);
    EXPECT_EQ(stats.at("lane"), "cpu");
    EXPECT_EQ(stats.at("precision"), "fp32");
    EXPECT_EQ(stats.at("sums"), "fast");
    EXPECT_FALSE(stats.at("device").get<std::string>().empty());
    EXPECT_EQ(stats.at("frames"), kFrames);
    EXPECT_EQ(stats.at("width"), kWidth);
    EXPECT_EQ(stats.at("height"), kHeight);
    EXPECT_GT(stats.at("fps_steady").get<double>(), 0);
    EXPECT_GT(stats.at("seconds_first_frame").get<double>(), 0);
    EXPECT_GT(stats.at("seconds_total").get<double>(), stats.at("seconds_first_frame").get<double>());
    EXPECT_GT(stats.at("peak_device_bytes").get<std::uint64_t>(), 0);
    EXPECT_FALSE(stats.at("commit").get<std::string>().empty());
}

TEST(DecodeProgram, AClipOfOneLatentFrameHasNoSteadyRateToReport) {
    const TemporaryFolder folder;
    auto arguments = decode(write_latents(folder, "clip.safetensors", 1), folder.path() / "out.mp4");
    arguments.insert(arguments.end(), {"--json", "-"});
    const auto result = run_program(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    const auto stats = nlohmann::json::parse(result.out);
    EXPECT_EQ(stats.at("frames"), 1);
    EXPECT_TRUE(stats.at("fps_steady").is_null());
}

TEST(DecodeProgram, ReplacesAnOlderOutputAndLeavesNoOtherFileBehind) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors");
    const auto out = folder.write("out.mp4", "an older file");
    ASSERT_EQ(run_program(decode(clip, out)).exit_code, 0);
    EXPECT_EQ(read_video(out).frames, kFrames);
    EXPECT_EQ(folder.count_entries(), 2U);
}

}  // namespace
}  // namespace kinetograph::test
