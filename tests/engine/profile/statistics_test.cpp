#include <kinetograph/engine/profile/statistics.hpp>

#include <gtest/gtest.h>

#include <array>

namespace kinetograph::profile {
namespace {

Span span(std::string_view name, std::string_view track, std::int64_t begin, std::int64_t end) {
    return {name, track, Nanoseconds(begin), Nanoseconds(end), 0};
}

const PassStatistics& find(const std::vector<PassStatistics>& passes, std::string_view name) {
    for (const PassStatistics& pass : passes)
        if (pass.name == name) return pass;
    throw std::runtime_error("no such pass");
}

TEST(Statistics, LastAverageAndMaxAreOfThePassAlone) {
    const std::vector<Span> spans{span("a", "graphics", 0, 10), span("b", "graphics", 10, 11),
                                  span("a", "graphics", 20, 50), span("a", "graphics", 60, 80)};
    const auto passes = summarize_passes(spans, {Nanoseconds(0), Nanoseconds(100)});
    const PassStatistics& a = find(passes, "a");
    EXPECT_EQ(a.count, 3U);
    EXPECT_EQ(a.last.count(), 20);
    EXPECT_EQ(a.average.count(), 20);
    EXPECT_EQ(a.max.count(), 30);
}

TEST(Statistics, TheLastSpanIsTheOneThatEndedLastEvenWhenItArrivedEarlier) {
    const std::vector<Span> spans{span("a", "graphics", 50, 57), span("a", "graphics", 0, 10)};
    EXPECT_EQ(summarize_passes(spans, {Nanoseconds(0), Nanoseconds(100)})[0].last.count(), 7);
}

TEST(Statistics, OverlappingPassesShareTheTimeInWhichBothRun) {
    // a |0........40|
    // b       |20........60|       both run for 20 of 60: 10 each
    const std::vector<Span> spans{span("a", "graphics", 0, 40), span("b", "accelerator", 20, 60)};
    const auto passes = summarize_passes(spans, {Nanoseconds(0), Nanoseconds(100)});
    EXPECT_DOUBLE_EQ(find(passes, "a").share, 0.5);
    EXPECT_DOUBLE_EQ(find(passes, "b").share, 0.5);
}

TEST(Statistics, SharesOfAllPassesAddUpToOneWhateverTheyOverlap) {
    constexpr std::array<std::string_view, 7> kPasses{"p0", "p1", "p2", "p3", "p4", "p5", "p6"};
    constexpr std::array<std::string_view, 3> kTracks{"t0", "t1", "t2"};
    std::vector<Span> spans;
    for (std::size_t i = 0; i < 50; ++i)
        spans.push_back(span(kPasses[i % 7], kTracks[i % 3], static_cast<std::int64_t>(i * 13 % 40),
                             static_cast<std::int64_t>(41 + i * 7 % 90)));
    double sum = 0.0;
    for (const PassStatistics& pass : summarize_passes(spans, {Nanoseconds(0), Nanoseconds(200)})) sum += pass.share;
    EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST(Statistics, SpansAreCutToTheWindowForSharesAndSortedByShare) {
    const std::vector<Span> spans{span("long ago", "host", -1000, 10), span("now", "host", 10, 100),
                                  span("later", "host", 150, 300)};
    const auto passes = summarize_passes(spans, {Nanoseconds(0), Nanoseconds(200)});
    ASSERT_EQ(passes.size(), 2U);
    EXPECT_EQ(passes[0].name, "now");
    EXPECT_DOUBLE_EQ(passes[0].share, 0.9);
    EXPECT_DOUBLE_EQ(passes[1].share, 0.1);
}

TEST(Statistics, TheSameNameOnTwoTracksIsTwoPasses) {
    const std::vector<Span> spans{span("copy", "graphics", 0, 1), span("copy", "transfer", 0, 1)};
    EXPECT_EQ(summarize_passes(spans, {Nanoseconds(0), Nanoseconds(9)}).size(), 2U);
}

TEST(Statistics, ATracksLoadCountsOverlapsOnce) {
    const std::vector<Span> spans{span("a", "graphics", 0, 40), span("b", "graphics", 20, 60),
                                  span("c", "transfer", 90, 400)};
    const auto tracks = summarize_tracks(spans, {Nanoseconds(0), Nanoseconds(100)});
    ASSERT_EQ(tracks.size(), 2U);
    EXPECT_EQ(tracks[0].track, "graphics");
    EXPECT_DOUBLE_EQ(tracks[0].busy, 0.6);
    EXPECT_DOUBLE_EQ(tracks[1].busy, 0.1);
}

TEST(Statistics, NoSpansGiveNoRows) {
    EXPECT_TRUE(summarize_passes({}, {Nanoseconds(0), Nanoseconds(9)}).empty());
    EXPECT_TRUE(summarize_tracks({}, {Nanoseconds(0), Nanoseconds(9)}).empty());
}

}  // namespace
}  // namespace kinetograph::profile
