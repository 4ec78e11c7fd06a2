#include <gtest/gtest.h>

#include <kinetograph/engine/base/log.hpp>
#include <string>
#include <vector>

namespace kinetograph {
namespace {

TEST(Log, GivesEveryMessageWithItsLevelToTheApplicationsSink) {
    std::vector<std::string> lines;
    const Log log([&](LogLevel level, std::string_view message) {
        lines.push_back(std::string(to_string(level)) + ": " + std::string(message));
    });
    log.info("decoding {}x{}", 640, 480);
    log.warn("waiting for {} s", 5);
    log.error("lane {} is lost", "accelerator");
    EXPECT_EQ(lines, (std::vector<std::string>{"info: decoding 640x480", "warning: waiting for 5 s",
                                               "error: lane accelerator is lost"}));
}

TEST(Log, WithoutASinkWritesWarningsAndErrorsToStandardError) {
    const Log log;
    ::testing::internal::CaptureStderr();
    log.info("chosen");
    log.warn("waiting");
    log.error("lost");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "waiting\nlost\n");
}

}  // namespace
}  // namespace kinetograph
