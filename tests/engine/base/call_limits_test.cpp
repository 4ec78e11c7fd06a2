#include <kinetograph/engine/base/call_limits.hpp>

#include <gtest/gtest.h>

namespace kinetograph {
namespace {

TEST(CallLimits, EndNothingByDefault) {
    EXPECT_TRUE(CallLimits{}.check("reading"));
    EXPECT_EQ(CallLimits{}.next_look(), std::chrono::milliseconds(20));
}

TEST(CallLimits, EndACallOnceADeadlineHasPassedOrAStopIsRequestedAndSayWhich) {
    const CallLimits late{.until = host_now() + std::chrono::hours(1), .stop = {}},
        over{.until = host_now(), .stop = {}};
    EXPECT_TRUE(late.check("reading"));
    EXPECT_EQ(over.check("reading").error().message, "reading: the deadline has passed");
    EXPECT_EQ(over.check("reading").error().code, ErrorCode::Cancelled);
    EXPECT_EQ(over.next_look(), Nanoseconds{});
    std::stop_source source;
    const CallLimits stoppable{.until = {}, .stop = source.get_token()};
    EXPECT_TRUE(stoppable.check("reading"));
    source.request_stop();
    EXPECT_EQ(stoppable.check("reading").error().message, "reading: a stop was requested");
}

}  // namespace
}  // namespace kinetograph
