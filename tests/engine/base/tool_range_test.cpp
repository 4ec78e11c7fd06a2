#include <kinetograph/engine/base/tool_range.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

std::string told;

}  // namespace

extern "C" int roctxRangePushA(const char* message) {
    told += std::string("<") + message;
    return 0;
}
extern "C" int roctxRangePop() {
    told += ">";
    return 0;
}

namespace kinetograph {
namespace {

TEST(ToolRange, OpensAndClosesARangeOfItsNameAndNests) {
    told.clear();
    {
        const ToolRange step(std::string_view("step of a clip").substr(0, 4));
        const ToolRange pass("up2.conv1");
    }
    const ToolRange next("next");
    EXPECT_EQ(told, "<step<up2.conv1>><next");
}

}  // namespace
}  // namespace kinetograph
