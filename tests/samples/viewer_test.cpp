// The whole viewer, in memory and in a window on a virtual display, with clips whose every pixel is known.
#include "fake_clip.hpp"
#include "text_finder.hpp"
#include "virtual_display.hpp"

#include <kinetograph/engine/ui/fonts.hpp>
#include <kinetograph/samples/viewer/hud.hpp>
#include <kinetograph/samples/viewer/player.hpp>
#include <kinetograph/samples/viewer/stage.hpp>
#include <kinetograph/samples/viewer/viewer.hpp>
#include <kinetograph/tests/engine/vulkan/faults.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace kinetograph::viewer {
namespace {

using testing::fake_pixels;
using testing::FakeSource;
using ui::testing::Area;
using ui::testing::crop;
using ui::testing::find_text;

constexpr Area kPanel{0, 0, 560, 300};  ///< of the profiler: where its figures, lanes and table begin

/// Of 8-bit values over an area that lies at (dx, dy) in the picture.
double psnr(const present::Picture& picture, const std::vector<std::uint8_t>& frame, std::uint32_t frame_width,
            const Area& area, std::uint32_t dx = 0, std::uint32_t dy = 0) {
    double squares = 0.0;
    std::size_t count = 0;
    for (std::uint32_t y = area.y0; y < area.y1; ++y)
        for (std::uint32_t x = area.x0; x < area.x1; ++x)
            for (std::uint32_t c = 0; c < 3; ++c, ++count) {
                const double a = picture.rgba[(std::size_t{y + dy} * picture.width + x + dx) * 4 + c];
                const double b = frame[(std::size_t{y} * frame_width + x) * 4 + c];
                squares += (a - b) * (a - b);
            }
    return squares == 0.0 ? 99.0 : 10.0 * std::log10(255.0 * 255.0 * static_cast<double>(count) / squares);
}

class Viewing : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::path(::testing::TempDir()) /
                  ::testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        options_.latents = "clip";
        options_.validation = true;
        options_.headless = true;
        options_.screenshot = folder_ / "picture.png";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    present::Picture run() {
        profile::Recorder recorder;
        auto summary = viewer::run(options_, source_, recorder);
        cannot_present_ = !summary && summary.error().message.find("can present to this window") != std::string::npos;
        if (cannot_present_) return {};
        EXPECT_TRUE(summary) << summary.error().message;
        if (!summary) return {};
        summary_ = *summary;
        for (const std::string& message : summary_.validation_messages) ADD_FAILURE() << message;
        auto picture = present::read_png(options_.screenshot);
        EXPECT_TRUE(picture) << picture.error().message;
        return picture ? *picture : present::Picture{};
    }

    std::filesystem::path folder_;
    FakeSource source_;
    ViewerOptions options_;
    ViewerSummary summary_;
    bool cannot_present_ = false;  ///< the only device is a GPU without a display
};

TEST_F(Viewing, InMemoryThePictureIsTheDecodedFrame) {
    source_.clips["clip"] = {.width = 256, .height = 144};
    options_.overlay = false;
    options_.frames = 7;
    options_.width = 300;
    options_.height = 144;
    const present::Picture picture = run();
    ASSERT_EQ(picture.width, 300U);
    EXPECT_EQ(summary_.frames_shown, 7U);
    EXPECT_EQ(summary_.frames_late, 0U);
    EXPECT_GT(psnr(picture, fake_pixels(256, 144, 6), 256, {0, 0, 256, 144}, 22), 50.0);
    EXPECT_LT(psnr(picture, fake_pixels(256, 144, 5), 256, {0, 0, 256, 144}, 22), 30.0);  // not its neighbour
    for (const std::size_t beside : {std::size_t{0}, std::size_t{21}, std::size_t{278}, std::size_t{299}})
        EXPECT_LT(picture.rgba[4 * beside], 20) << beside;
}

TEST_F(Viewing, EnlargedAndReducedPicturesKeepTheirContents) {
    source_.clips["clip"] = {.width = 256, .height = 144};
    options_.overlay = false;
    options_.frames = 1;
    for (const std::uint32_t width : {768U, 512U, 128U, 64U}) {
        options_.width = width;
        options_.height = width * 144 / 256;
        const present::Picture picture = run();
        // The clip is smooth: its gradients, sampled at the new size, are what a good filter comes close to.
        const auto expected = fake_pixels(options_.width, options_.height, 0);
        EXPECT_GT(psnr(picture, expected, width, {2, 2, width - 2, options_.height - 2}), 35.0) << width;
    }
}

TEST_F(Viewing, InMemoryTheOverlaysTextIsThere) {
    source_.clips["clip"] = {.width = 1280, .height = 720};
    options_.frames = 3;
    const present::Picture picture = run();
    EXPECT_GT(psnr(picture, fake_pixels(1280, 720, 2), 1280, {600, 0, 1280, 660}), 50.0);
    const present::Picture panel = crop(picture, kPanel);
    for (const char* text : {"real time", "queue", "dropped", "share", "fake decoder", "P panels   H compact"})
        EXPECT_GT(find_text(panel, text, ui::kTextSize).correlation, 0.9) << text;
    EXPECT_LT(find_text(panel, "no such words", ui::kTextSize).correlation, 0.8);
    EXPECT_GT(find_text(crop(picture, {0, 670, 400, 720}), "frame 3 of 13", ui::kTextSize).correlation, 0.9);
}

TEST_F(Viewing, AScreenshotShowsEveryLaneThatHasRunHoweverSoonTheRunIsOver) {
    source_.clips["clip"] = {.width = 64, .height = 64};
    options_.width = 640;
    options_.height = 360;
    options_.frames = 3;
    const present::Picture panel = crop(run(), kPanel);
    for (const char* lane : {"transfer", "graphics", "present"})
        EXPECT_GT(find_text(panel, lane, ui::kTextSize).correlation, 0.9) << lane;
}

TEST_F(Viewing, WithoutTheOverlayThereIsNoText) {
    source_.clips["clip"] = {.width = 640, .height = 360};
    options_.frames = 1;
    options_.width = 640;
    options_.height = 360;
    options_.overlay = false;
    EXPECT_LT(find_text(run(), "real time", ui::kTextSize).correlation, 0.8);
}

TEST_F(Viewing, EveryFrameIsHandedOutOnceInOrder) {
    source_.clips["clip"] = {.width = 64, .height = 64, .step = std::chrono::milliseconds(3)};
    options_.width = 64;
    options_.height = 64;
    options_.overlay = false;
    std::vector<std::int64_t> indices;
    double worst = 99.0;
    options_.on_frame = [&](const PresentedFrame& frame) -> Result<void> {
        indices.push_back(frame.index);
        worst = std::min(worst, psnr(frame.picture, fake_pixels(64, 64, frame.index), 64, {0, 0, 64, 64}));
        return {};
    };
    run();
    ASSERT_EQ(indices.size(), 13U);  // the whole clip
    for (std::size_t i = 0; i < indices.size(); ++i) EXPECT_EQ(indices[i], static_cast<std::int64_t>(i));
    EXPECT_GT(worst, 50.0);
}

TEST_F(Viewing, BeforeTheFirstFrameThePictureSaysThatDecodingIsUnderWay) {
    source_.clips["clip"] = {.step = std::chrono::hours(1)};
    options_.width = 640;
    options_.height = 360;
    profile::Recorder recorder;
    auto stage = Stage::create(options_, recorder);
    ASSERT_TRUE(stage) << stage.error().message;
    Player player(source_, false, 1.0);
    player.open("clip", host_now());
    while (player.clip() == nullptr) ASSERT_TRUE(player.advance(host_now(), std::chrono::milliseconds(16)));
    Stage::Picture picture;
    picture.interface = [&] {
        draw_hud(player,
                 {.width = 640, .height = 360, .fonts = (*stage)->fonts(), .now = host_now(), .lag = {}, .pixel = {}});
    };
    picture.read_back = true;
    const auto shown = (*stage)->show(picture);
    ASSERT_TRUE(shown && shown->picture);
    if (const char* keep = std::getenv("KINETOGRAPH_KEEP_PICTURES"))
        static_cast<void>(present::write_png(std::filesystem::path(keep) / "waiting.png", shown->picture->view()));
    EXPECT_GT(find_text(*shown->picture, "decoding first frame", ui::kLargeSize).correlation, 0.9);
    EXPECT_GT(find_text(*shown->picture, "fake decoder", ui::kTextSize).correlation, 0.9);
}

TEST_F(Viewing, MessagesAndHelpAreDrawnOverThePicture) {
    source_.clips["clip"] = {.width = 640, .height = 360};
    options_.width = 640;
    options_.height = 360;
    profile::Recorder recorder;
    auto stage = Stage::create(options_, recorder);
    ASSERT_TRUE(stage) << stage.error().message;
    Player player(source_, false, 1.0);
    player.open("clip", host_now());
    while (player.frame() == nullptr) ASSERT_TRUE(player.advance(host_now(), std::chrono::milliseconds(16)));
    player.toast("broken.safetensors: truncated", true, host_now());
    player.handle(Action::Help, host_now());
    Stage::Picture picture;
    picture.subject.frame = player.frame();
    const PixelValue pixel{{12, 34}, {200, 150, 90}};
    picture.interface = [&] {
        draw_hud(
            player,
            {.width = 640, .height = 360, .fonts = (*stage)->fonts(), .now = host_now(), .lag = {}, .pixel = pixel});
    };
    picture.read_back = true;
    const auto shown = (*stage)->show(picture);
    ASSERT_TRUE(shown && shown->picture);
    if (const char* keep = std::getenv("KINETOGRAPH_KEEP_PICTURES"))
        static_cast<void>(present::write_png(std::filesystem::path(keep) / "messages.png", shown->picture->view()));
    for (const char* text : {"truncated", "play or pause", "screenshot", "#c8965a"})
        EXPECT_GT(find_text(*shown->picture, text, ui::kTextSize).correlation, 0.9) << text;
}

TEST_F(Viewing, ALossStandsOverThePictureForAsLongAsNothingIsOpenedAgain) {
    source_.clips["clip"] = {.fails_at = 0, .fails_with = ErrorCode::DeviceLost};
    options_.width = 640;
    options_.height = 360;
    profile::Recorder recorder;
    auto stage = Stage::create(options_, recorder);
    ASSERT_TRUE(stage) << stage.error().message;
    Player player(source_, false, 1.0);
    player.open("clip", host_now());
    while (!player.failure()) static_cast<void>(player.advance(host_now(), std::chrono::milliseconds(16)));
    const Nanoseconds later = host_now() + std::chrono::hours(1);
    static_cast<void>(player.advance(later, std::chrono::milliseconds(16)));
    Stage::Picture picture;
    picture.interface = [&] {
        draw_hud(player,
                 {.width = 640, .height = 360, .fonts = (*stage)->fonts(), .now = later, .lag = {}, .pixel = {}});
    };
    picture.read_back = true;
    const auto shown = (*stage)->show(picture);
    ASSERT_TRUE(shown && shown->picture);
    for (const char* text : {"latent frame 0", "home opens the device"})
        EXPECT_GT(find_text(*shown->picture, text, ui::kTextSize).correlation, 0.9) << text;
    EXPECT_LT(find_text(*shown->picture, "decoding first frame", ui::kLargeSize).correlation, 0.8);
}

TEST_F(Viewing, ALossInMemoryEndsTheRunWithItsSentence) {
    source_.clips["clip"] = {.fails_at = 2, .fails_with = ErrorCode::DeviceLost};
    profile::Recorder recorder;
    const auto summary = viewer::run(options_, source_, recorder);
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(summary.error().message,
              "latent frame 2 is not finite; " + options_.screenshot.string() + " is the last picture before that");
}

TEST_F(Viewing, ALossOfTheDeviceThatDrawsEndsARunInMemoryWithItsSentence) {
    source_.clips["clip"] = {};
    vulkan::testing::faults().reset();
    options_.vulkan = vulkan::testing::faulty_loader().value();
    options_.validation = false;  // its state machine does not know devices that are lost
    vulkan::testing::faults().submissions_left = 6;
    profile::Recorder recorder;
    const auto summary = viewer::run(options_, source_, recorder);
    vulkan::testing::faults().reset();
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ErrorCode::DeviceLost);
    EXPECT_NE(summary.error().message.find("was lost while"), std::string::npos) << summary.error().message;
}

TEST_F(Viewing, AWindowGoesOnWithAnotherDeviceWhenTheOneThatDrawsIsLost) {
    const auto display = present::testing::VirtualDisplay::start();
    if (!display) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
    source_.clips["clip"] = {.width = 1280, .height = 720};
    source_.on_close = [] { vulkan::testing::faults().recover(); };
    vulkan::testing::faults().reset();
    options_.vulkan = vulkan::testing::faulty_loader().value();
    options_.validation = false;
    options_.headless = false;
    options_.overlay = false;
    options_.frames = 12;
    vulkan::testing::faults().submissions_left = 16;  // two a frame: the run has not ended by then
    const present::Picture picture = run();
    vulkan::testing::faults().reset();
    if (cannot_present_) GTEST_SKIP() << "no Vulkan device here can present to an X server";
    EXPECT_EQ(source_.opened, 2);
    EXPECT_EQ(source_.closed, 2) << "with the lost device, and at the end";
    EXPECT_EQ(summary_.frames_shown, 12U);
    EXPECT_EQ(picture.width, 1280U);
}

TEST_F(Viewing, AnErrorOfWhoeverTakesTheFramesEndsTheRun) {
    source_.clips["clip"] = {};
    options_.on_frame = [](const PresentedFrame&) -> Result<void> { return fail(ErrorCode::Io, "disk full"); };
    profile::Recorder recorder;
    const auto summary = viewer::run(options_, source_, recorder);
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().message, "disk full");
    EXPECT_FALSE(std::filesystem::exists(options_.screenshot));
}

TEST_F(Viewing, AClipThatDoesNotOpenEndsTheRunWithItsError) {
    options_.latents = "missing.safetensors";
    profile::Recorder recorder;
    const auto summary = viewer::run(options_, source_, recorder);
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().message, "missing.safetensors: no such clip");
}

TEST_F(Viewing, WhatCannotBeShownOrWrittenIsRefusedBeforeAnythingIsOpened) {
    source_.clips["clip"] = {};
    const auto refusal = [&](const auto& spoil) {
        ViewerOptions spoiled = options_;
        spoil(spoiled);
        profile::Recorder recorder;
        const auto summary = viewer::run(spoiled, source_, recorder);
        EXPECT_EQ(source_.opened, 0);
        return summary ? "" : summary.error().message;
    };
    EXPECT_EQ(refusal([](ViewerOptions& options) { options.width = 0; }),
              "the viewer needs a size and a speed above 0, not 0 x 720 at 1");
    EXPECT_EQ(refusal([](ViewerOptions& options) { options.speed = std::nan(""); }),
              "the viewer needs a size and a speed above 0, not 1280 x 720 at nan");
    EXPECT_EQ(refusal([](ViewerOptions& options) { options.screenshot = "/nowhere/last.png"; }),
              "/nowhere/last.png: cannot create: No such file or directory");
    EXPECT_EQ(refusal([&](ViewerOptions& options) { options.trace = folder_; }),
              folder_.string() + ": cannot write: exists and is not a regular file");
}

TEST_F(Viewing, ATraceHoldsThePassesOfEveryLane) {
    source_.clips["clip"] = {};
    options_.trace = folder_ / "trace.json";
    options_.frames = 4;
    run();
    std::ifstream file(options_.trace);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    for (const char* name : {"\"upload\"", "\"picture\"", "\"overlay\"", "\"transfer\"", "\"graphics\"", "\"present\""})
        EXPECT_NE(text.find(name), std::string::npos) << name;
}

TEST_F(Viewing, InAWindowThePictureIsTheDecodedFrameAndTheOverlaysTextIsThere) {
    const auto display = present::testing::VirtualDisplay::start();
    if (!display) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
    source_.clips["clip"] = {.width = 1280, .height = 720, .step = std::chrono::milliseconds(5)};
    options_.headless = false;
    options_.frames = 10;
    const present::Picture picture = run();
    if (cannot_present_) GTEST_SKIP() << "no Vulkan device here can present to an X server";
    ASSERT_EQ(picture.width, 1280U);
    ASSERT_EQ(picture.height, 720U);
    double best = 0.0;  // at the clip's rate the display decides which frame was the last
    for (std::int64_t index = 0; index < 13; ++index)
        best = std::max(best, psnr(picture, fake_pixels(1280, 720, index), 1280, {600, 0, 1280, 660}));
    EXPECT_GT(best, 50.0);
    const present::Picture panel = crop(picture, kPanel);
    for (const char* text : {"real time", "queue", "dropped", "share"})
        EXPECT_GT(find_text(panel, text, ui::kTextSize).correlation, 0.9) << text;
    EXPECT_LT(find_text(panel, "no such words", ui::kTextSize).correlation, 0.8);
}

TEST_F(Viewing, InAWindowOnADenseDisplayThePictureAndTheInterfaceAreLarger) {
    const auto display = present::testing::VirtualDisplay::start();
    if (!display) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
    present::testing::VirtualDisplay::set_dots_per_inch(144);
    source_.clips["clip"] = {.width = 64, .height = 64, .step = std::chrono::milliseconds(5)};
    options_.headless = false;
    options_.frames = 5;
    options_.width = 960;
    options_.height = 540;
    const present::Picture picture = run();
    if (cannot_present_) GTEST_SKIP() << "no Vulkan device here can present to an X server";
    ASSERT_EQ(picture.width, 1440U);
    ASSERT_EQ(picture.height, 810U);
    EXPECT_GT(find_text(crop(picture, {210, 75, 450, 150}), "real time", 23).correlation, 0.9)
        << "1.5 times 15, rounded";
    options_.exact_size = true;
    EXPECT_EQ(run().width, 960U);
}

TEST_F(Viewing, TheInterfaceHasTheScaleThatIsAskedForAsFarAsThePictureHasRoom) {
    source_.clips["clip"] = {.width = 64, .height = 64};
    options_.frames = 2;
    options_.scale = 2;
    EXPECT_GT(find_text(crop(run(), {280, 90, 600, 190}), "real time", 2 * ui::kTextSize).correlation, 0.9);
    options_.width = 640;
    options_.height = 360;
    EXPECT_GT(find_text(crop(run(), {140, 50, 300, 90}), "real time", ui::kTextSize).correlation, 0.9);
}

TEST_F(Viewing, WithoutADisplayTheErrorSaysSo) {
    const present::testing::NoDisplay none;
    options_.headless = false;
    profile::Recorder recorder;
    const auto summary = viewer::run(options_, source_, recorder);
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ErrorCode::NotFound);
    EXPECT_EQ(summary.error().message.find("no display: "), 0U) << summary.error().message;
}

}  // namespace
}  // namespace kinetograph::viewer
