// kinetograph view offscreen, as scripts use it.
#include <gtest/gtest.h>

#include <kinetograph/engine/present/png.hpp>

#include <nlohmann/json.hpp>

#include "../media/read_video.hpp"
#include "latent_files.hpp"
#include "program.hpp"
#include "standin_cuda.hpp"
#include "virtual_display.hpp"

namespace kinetograph::test {
namespace {

std::vector<std::string> view(const std::string& clip, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"view", clip, "--weights", kSmallWeights, "--size", "320x240"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

const ProgramOptions kNoDisplay{.environment = {"DISPLAY", "WAYLAND_DISPLAY"}};

TEST(ViewProgram, HeadlessLeavesAScreenshotAndARecordingOfEveryFrame) {
    const TemporaryFolder folder;
    const auto shot = folder.path() / "shot.png", video = folder.path() / "out.mp4";
    const auto result = run_program(view(write_latents(folder, "clip.safetensors"),
                                         {"--headless", "--validation", "--screenshot", shot, "--record", video}),
                                    kNoDisplay);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    const auto picture = present::read_png(shot);
    ASSERT_TRUE(picture) << picture.error().message;
    EXPECT_EQ(picture->width, 320U);
    EXPECT_EQ(picture->height, 240U);
    const Video recorded = read_video(video);
    EXPECT_EQ(recorded.frames, 5);
    EXPECT_EQ(recorded.width, 320);
    EXPECT_NEAR(recorded.fps, 12.0, 1e-9);
    EXPECT_EQ(folder.count_entries(), 3U);
}

TEST(ViewProgram, CountsTheDevicesMemoryInTheTraceAndInTheStatistics) {
    const TemporaryFolder folder;
    const auto trace = folder.path() / "trace.json", statistics = folder.path() / "statistics";
    const auto result = run_program(
        view(write_latents(folder, "clip.safetensors"), {"--headless", "--trace", trace, "--stats", statistics}),
        kNoDisplay);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(read_text(trace).find("memory of the decoder (MiB)\",\"ph\":\"C\""), std::string::npos);
    EXPECT_NE(read_text(statistics).find("\"name\":\"memory of the decoder\""), std::string::npos);
}

TEST(ViewProgram, FailsBeforeItDecodesWhereItsOutputsCannotBeWritten) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    for (const std::string option : {"--screenshot", "--trace"}) {
        const auto result = run_program(view(clip, {"--headless", option, "/nowhere/last.png"}), kNoDisplay);
        EXPECT_EQ(result.exit_code, 1) << option;
        EXPECT_NE(result.messages.find("/nowhere/last.png: cannot create"), std::string::npos) << result.messages;
        EXPECT_EQ(result.messages.find("1/5 frames"), std::string::npos) << result.messages;
    }
}

/// The server ends once the viewer has shown pictures for a second.
TEST(ViewProgram, WritesItsTraceAndItsLastPictureWhenTheXServerGoes) {
    auto display = present::testing::VirtualDisplay::start();
    if (!display) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
    const TemporaryFolder folder;
    const auto trace = folder.path() / "trace.json", shot = folder.path() / "shot.png", lines = folder.path() / "lines";
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    const auto result = run_program(view(write_latents(folder, "clip.safetensors"),
                                         {"--loop", "--screenshot", shot, "--trace", trace, "--stats", lines}),
                                    {.interrupt_when =
                                         [&] {
                                             if (!read_text(lines).empty()) display.reset();
                                             return std::chrono::steady_clock::now() > give_up;
                                         },
                                     .signal = SIGKILL});
    if (result.messages.find("this display cannot show Vulkan") != std::string::npos) GTEST_SKIP() << result.messages;
    EXPECT_EQ(result.exit_code, 1) << result.messages;
    EXPECT_NE(result.messages.find("the display is gone: the X server has closed its connection; " + shot.string() +
                                   " is the last picture before that; " + trace.string() + " is the trace until then"),
              std::string::npos)
        << result.messages;
    const auto picture = present::read_png(shot);
    ASSERT_TRUE(picture) << picture.error().message;
    EXPECT_EQ(picture->width, 320U);
    const auto events = nlohmann::json::parse(read_text(trace), nullptr, false);
    EXPECT_FALSE(events.is_discarded());
    EXPECT_NE(read_text(trace).find("\"picture\""), std::string::npos);
    EXPECT_EQ(folder.count_entries(), 4U);
}

class ViewOnCuda : public OnStandinCuda {};

TEST_F(ViewOnCuda, DrawsFramesWhereTheLaneLeavesThemAndSaysHowTheyCome) {
    const TemporaryFolder folder;
    const auto trace = folder.path() / "trace.json", shot = folder.path() / "shot.png";
    options_.environment.emplace_back("KINETOGRAPH_NVML_LIBRARY=" KINETOGRAPH_STANDIN_NVML);
    const auto result = run_program(
        {"view", write_latents(folder, "clip.safetensors", 1, 16, 1, 1), "--weights", "synthetic:wan2.1,dim=2",
         "--size", "320x240", "--lane", "cuda", "--headless", "--validation", "--screenshot", shot, "--trace", trace},
        options_);
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.messages.find("info: staged: Stand-in H200"), std::string::npos) << result.messages;
    const std::string spans = read_text(trace);
    for (const char* pass :
         {"\"decoder.head.2\"", "\"frames to images\"", "\"picture\"", "\"Stand-in H200 at 3b:00 clock (MHz)\"",
          "\"Stand-in H200 at 3b:00 power (W)\"", "\"Stand-in H200 at 3b:00 memory of the decoder (MiB)\""})
        EXPECT_NE(spans.find(pass), std::string::npos) << pass;
    EXPECT_EQ(spans.find("\"upload\""), std::string::npos);
    EXPECT_TRUE(present::read_png(shot));
}

TEST(ViewProgram, WithoutADisplaySaysSoAndPointsToHeadless) {
    const TemporaryFolder folder;
    const auto result = run_program(view(write_latents(folder, "clip.safetensors"), {}), kNoDisplay);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("display"), std::string::npos) << result.messages;
    EXPECT_NE(result.messages.find("headless"), std::string::npos) << result.messages;
}

TEST(ViewProgram, WithoutAVulkanDriverFailsAndLeavesNoRecording) {
    const TemporaryFolder folder;
    const auto clip = write_latents(folder, "clip.safetensors");
    const ProgramOptions no_driver{.environment = {"VK_DRIVER_FILES=/nowhere.json", "VK_ICD_FILENAMES=/nowhere.json"}};
    const auto result =
        run_program(view(clip, {"--headless", "--record", (folder.path() / "out.mp4").string()}), no_driver);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("Vulkan"), std::string::npos) << result.messages;
    EXPECT_EQ(folder.count_entries(), 1U);
}

TEST(ViewProgram, OnALaneThatThisBuildLacksFailsBeforeAnythingOpens) {
    const TemporaryFolder folder;
    const auto result = run_program(view(write_latents(folder, "clip.safetensors"), {"--headless", "--lane", "cuda"}));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("lane cuda"), std::string::npos) << result.messages;
}

}  // namespace
}  // namespace kinetograph::test
