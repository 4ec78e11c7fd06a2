// --lane with several devices of one kind, in this process: the stand-in plays two.
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace kinetograph::cli {
namespace {

class LaneOption : public testing::Test {
  protected:
    void SetUp() override {
        ::setenv("KINETOGRAPH_CUDA_LIBRARY", KINETOGRAPH_STANDIN_CUDA_LIBRARY, 1);
        cuda_->reset({.devices = 2});
    }
    void TearDown() override {
        cuda_->reset({});
        ::unsetenv("KINETOGRAPH_CUDA_LIBRARY");
    }
    /// The lane that `decode` is asked to run on by `--lane TEXT`; empty if that is bad usage.
    static std::string parsed(const std::string& text) {
        CLI::App app;
        std::string lane;
        add_lane_option(app, lane);
        try {
            app.parse(std::vector<std::string>{text, "--lane"});  // last word first
        } catch (const CLI::ParseError&) {
            return {};
        }
        return lane;
    }
    standin::Control* const cuda_ = accel::control_of(KINETOGRAPH_STANDIN_CUDA_LIBRARY);
};

TEST_F(LaneOption, TakesADeviceByItsNumberAndByItsUuid) {
    const std::string uuid = "cuda:GPU-5b5b5b5b-5b5b-5b5b-5b5b-5b5b5b5b5b5b";
    for (const std::string& text : {std::string("cuda:1"), uuid}) {
        EXPECT_EQ(parsed(text), text);
        const auto device = open_lane(text);
        ASSERT_TRUE(device) << device.error().message;
        EXPECT_EQ(accel::uuid_text((*device)->info()), uuid.substr(5));
    }
    const auto first = open_lane("cuda");
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_NE(accel::uuid_text((*first)->info()), uuid.substr(5));
}

TEST_F(LaneOption, SaysWhichDevicesThereAre) {
    const auto missing = open_lane("cuda:2");
    ASSERT_FALSE(missing);
    EXPECT_TRUE(missing.error().message.starts_with("lane cuda:2: CUDA device 2: ")) << missing.error().message;
    EXPECT_NE(missing.error().message.find("; there is: cpu, cuda, cuda:1"), std::string::npos)
        << missing.error().message;
    EXPECT_EQ(open_lane("cuda:first").error().message,
              "lane cuda:first: after the colon comes a number from 0 or a UUID");
    EXPECT_EQ(parsed("metal:0"), "");
}

}  // namespace
}  // namespace kinetograph::cli
