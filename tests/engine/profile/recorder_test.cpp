#include <kinetograph/engine/profile/recorder.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace kinetograph::profile {
namespace {

Span span(std::int64_t begin, std::int64_t end) { return {"pass", "host", Nanoseconds(begin), Nanoseconds(end), 0}; }

TEST(Recorder, ForgetsTheOldestSpansBeyondItsCapacityAndReturnsTheRestInOrder) {
    Recorder recorder(3);
    for (std::int64_t i = 0; i < 5; ++i) recorder.add(span(i * 10, i * 10 + 5));
    const auto spans = recorder.spans();
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[0].begin.count(), 20);
    EXPECT_EQ(spans[1].begin.count(), 30);
    EXPECT_EQ(spans[2].begin.count(), 40);
    EXPECT_EQ(recorder.total_added(), 5U);
}

TEST(Recorder, KnowsWhenTheFirstSpanBeganAlsoOnceItIsForgotten) {
    Recorder recorder(2);
    EXPECT_FALSE(recorder.first_begin());
    for (const std::int64_t begin : {30, 20, 40, 50}) recorder.add(span(begin, begin + 5));
    EXPECT_EQ(recorder.first_begin(), Nanoseconds(20));
    recorder.clear();
    EXPECT_FALSE(recorder.first_begin());
}

TEST(Recorder, ReturnsOnlySpansThatEndedSince) {
    Recorder recorder;
    recorder.add(span(0, 10));
    recorder.add(span(5, 20));
    ASSERT_EQ(recorder.spans(Nanoseconds(11)).size(), 1U);
    EXPECT_EQ(recorder.spans(Nanoseconds(20)).size(), 1U);
    EXPECT_TRUE(recorder.spans(Nanoseconds(21)).empty());
}

TEST(Recorder, TakesSpansFromSeveralThreadsAtOnce) {
    Recorder recorder(100'000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (std::int64_t i = 0; i < 1000; ++i) recorder.add(span(i, i + 1));
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(recorder.spans().size(), 4000U);
}

}  // namespace
}  // namespace kinetograph::profile
