#include <kinetograph/engine/graph/timeline.hpp>

#include <gtest/gtest.h>

namespace kinetograph::graph {
namespace {

TEST(Timelines, TellTheirFirstErrorOnceToEachThatAsksBeforeOrAfterIt) {
    HostTimeline timeline;
    std::vector<std::string> told;
    const auto tell = [&](const Error& error) { told.push_back(error.message); };
    timeline.on_report(tell);
    EXPECT_TRUE(told.empty());
    timeline.report({ErrorCode::DeviceLost, "the first"});
    timeline.report({ErrorCode::Cancelled, "the second"});
    EXPECT_EQ(told, std::vector<std::string>{"the first"});
    timeline.on_report(tell);
    EXPECT_EQ(told, (std::vector<std::string>{"the first", "the first"}));
}

TEST(Timelines, ForgetTheirViewsWhichMayHoldThemInTurn) {
    HostTimeline timeline;
    const auto view = std::make_shared<HostTimeline>();
    timeline.add_view(view);
    EXPECT_EQ(view.use_count(), 2);
    timeline.forget_views();
    EXPECT_EQ(view.use_count(), 1);
}

}  // namespace
}  // namespace kinetograph::graph
