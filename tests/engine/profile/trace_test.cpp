#include <kinetograph/engine/profile/trace.hpp>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kinetograph::profile {
namespace {

TEST(Trace, HasOneNamedThreadATrackAndOneCompleteEventASpan) {
    const std::vector<Span> spans{{"up2.res1.conv1", "accelerator", Nanoseconds(5000), Nanoseconds(9500), 3},
                                  {"draw", "graphics", Nanoseconds(4000), Nanoseconds(4250), 7},
                                  {"up2.res1.conv2", "accelerator", Nanoseconds(9500), Nanoseconds(9600), 3}};
    const auto trace = nlohmann::json::parse(to_chrome_trace(spans));
    std::map<int, std::string> threads;
    std::vector<nlohmann::json> events;
    for (const auto& event : trace["traceEvents"]) {
        if (event["ph"] == "M")
            threads[event["tid"]] = event["args"]["name"];
        else
            events.push_back(event);
    }
    EXPECT_EQ(threads.size(), 2U);
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(threads[events[0]["tid"]], "accelerator");
    EXPECT_EQ(threads[events[1]["tid"]], "graphics");
    EXPECT_DOUBLE_EQ(events[0]["ts"], 1.0);
    EXPECT_DOUBLE_EQ(events[0]["dur"], 4.5);
    EXPECT_EQ(events[0]["args"]["execution"], 3);
    EXPECT_DOUBLE_EQ(events[1]["ts"], 0.0);
}

TEST(Trace, SurvivesNamesThatAreNotUtf8) {
    const std::vector<Span> spans{{"quote\" and \xff", "host", Nanoseconds(0), Nanoseconds(1), 0}};
    EXPECT_NO_THROW({ const auto trace = nlohmann::json::parse(to_chrome_trace(spans)); });
}

TEST(Trace, NamesThePathThatItCannotWrite) {
    const auto result = write_chrome_trace("/nonexistent/trace.json", {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Io);
    EXPECT_NE(result.error().message.find("/nonexistent/trace.json"), std::string::npos);
}

}  // namespace
}  // namespace kinetograph::profile
