#include <kinetograph/engine/profile/profile.hpp>

#include <kinetograph/engine/profile/report.hpp>
#include <kinetograph/engine/profile/statistics.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace kinetograph::profile {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// decode runs on the accelerator; upload and draw on the graphics lane, which waits for it.
PlanFacts decode_and_draw(NameTable& names) {
    const NameId accelerator = names.intern("accelerator"), graphics = names.intern("graphics");
    PlanFacts plan;
    plan.passes = {{.name = names.intern("unpack"), .track = accelerator, .batch = 0},
                   {.name = names.intern("decode"), .track = accelerator, .batch = 0, .operations = 4e6, .bytes = 8000},
                   {.name = names.intern("upload"), .track = graphics, .batch = 1},
                   {.name = names.intern("draw"), .track = graphics, .batch = 2}};
    plan.batches = {{.track = accelerator, .first_pass = 0, .last_pass = 1},
                    {.track = graphics, .first_pass = 2, .last_pass = 2},
                    {.track = graphics, .waits = {{.batch = 0}}, .first_pass = 3, .last_pass = 3}};
    plan.dependencies = {{0, 1, kNone}, {1, 3, kNone}, {2, 3, kNone}};
    plan.batches_told = 3;
    return plan;
}

class ProfileTest : public ::testing::Test {
  protected:
    /// A step that begins at `begin`, in microseconds: unpack 10, decode `decode`, upload 20, and draw 30 after both.
    void step(std::uint64_t execution, std::int64_t begin, std::int64_t decode = 100) {
        const auto add = [&](const char* name, const char* track, std::int64_t from, std::int64_t to) {
            recorder_.add(Span{name, track, microseconds(begin + from), microseconds(begin + to), execution, plan_});
        };
        add("unpack", "accelerator", 0, 10);
        add("decode", "accelerator", 10, 10 + decode);
        add("upload", "graphics", 5, 25);
        add("draw", "graphics", 10 + decode + 40, 10 + decode + 70);
    }
    const PassProfile& pass(const char* name, const char* track) {
        const PassProfile* found = profile_.find(recorder_.names().intern(name), recorder_.names().intern(track));
        EXPECT_NE(found, nullptr) << name;
        return *found;
    }

    Recorder recorder_;
    PlanId plan_ = recorder_.plans().add(decode_and_draw(recorder_.names()));
    Profile profile_{recorder_};
};

TEST_F(ProfileTest, TellsTheFirstCallApartFromLaterOnes) {
    step(1, 0, 5000);
    for (std::uint64_t i = 2; i <= 11; ++i)
        step(i, static_cast<std::int64_t>(i) * 10'000, 100 + static_cast<std::int64_t>(i));
    profile_.update(milliseconds(200));
    const PassProfile& decode = pass("decode", "accelerator");
    EXPECT_EQ(decode.calls, 11U);
    EXPECT_EQ(decode.first, microseconds(5000));
    EXPECT_EQ(decode.max(), microseconds(111));
    EXPECT_EQ(decode.last, microseconds(111));
    EXPECT_NEAR(static_cast<double>(decode.quantile(0.5).count()), 106e3, 106e3 / 128);
    EXPECT_EQ(decode.history.size(), 11U);
    EXPECT_EQ(decode.history[0], microseconds(5000));
    EXPECT_EQ(profile_.steps().front().first, microseconds(5080));
    EXPECT_EQ(profile_.steps().front().later.count(), 10U);
}

TEST_F(ProfileTest, SharesAreThoseOfTheStatisticsOverTheSameSpans) {
    for (std::uint64_t i = 1; i <= 5; ++i) step(i, static_cast<std::int64_t>(i) * 1000);
    profile_.update(milliseconds(10));
    double sum = 0.0;
    for (const PassStatistics& wanted :
         summarize_passes(recorder_.spans(), {*recorder_.first_begin(), milliseconds(10)})) {
        EXPECT_NEAR(pass(wanted.name.c_str(), wanted.track.c_str()).share, wanted.share, 1e-12) << wanted.name;
        sum += wanted.share;
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST_F(ProfileTest, RatesAreOfTheMedianAndOfTheDevicesCeilings) {
    recorder_.note_ceiling("accelerator",
                           {.operations_per_second = 80e9, .bytes_per_second = 100e6, .source = "a test"});
    for (std::uint64_t i = 1; i <= 9; ++i) step(i, static_cast<std::int64_t>(i) * 1000);
    profile_.update(milliseconds(10));
    const PassRates rates = profile_.rates(pass("decode", "accelerator"));  // 4e6 operations and 8000 bytes in 100 us
    EXPECT_NEAR(rates.operations_per_second, 40e9, 40e9 / 100);
    EXPECT_NEAR(rates.bytes_per_second, 80e6, 80e6 / 100);
    EXPECT_NEAR(rates.of_peak_operations, 0.5, 0.01);
    EXPECT_NEAR(rates.of_peak_bandwidth, 0.8, 0.01);
    EXPECT_NEAR(rates.of_roofline, 0.8, 0.01) << "500 operations a byte, where both peaks meet at 800";
    EXPECT_TRUE(rates.is_bound_by_bandwidth);
    recorder_.note_ceiling("accelerator", {.operations_per_second = 50e9, .bytes_per_second = 160e6});
    profile_.update(milliseconds(500));
    const PassRates of_other = profile_.rates(pass("decode", "accelerator"));
    EXPECT_NEAR(of_other.of_peak_operations, 0.8, 0.01);
    EXPECT_NEAR(of_other.of_peak_bandwidth, 0.5, 0.01);
    EXPECT_NEAR(of_other.of_roofline, 0.8, 0.01) << "both peaks meet at 312 operations a byte";
    EXPECT_FALSE(of_other.is_bound_by_bandwidth);
    const std::string csv = to_csv(profile_.capture("now"));
    EXPECT_NE(csv.find(",operations,bytes,of_peak_operations,of_peak_bandwidth,of_roofline\n"), std::string::npos);
    EXPECT_NE(csv.find(",4000000,8000,0.8"), std::string::npos) << csv;
    EXPECT_EQ(profile_.rates(pass("draw", "graphics")).operations_per_second, 0.0);
}

TEST_F(ProfileTest, AStepFarOverTheMedianIsKeptWhole) {
    for (std::uint64_t i = 1; i <= 9; ++i) step(i, static_cast<std::int64_t>(i) * 10'000);
    step(10, 100'000, 900);
    for (std::uint64_t i = 11; i <= 40; ++i) step(i, static_cast<std::int64_t>(i) * 10'000);
    profile_.update(milliseconds(500));
    ASSERT_EQ(profile_.spikes().size(), 1U);
    const Spike& spike = profile_.spikes().front();
    EXPECT_EQ(spike.step.execution, 10U);
    EXPECT_EQ(spike.step.spans.size(), 4U);
    EXPECT_EQ(spike.step.length(), microseconds(980));
    EXPECT_NEAR(static_cast<double>(spike.median.count()), 180e3, 180e3 / 128);
    EXPECT_EQ(spike.plan->id, plan_);
}

TEST_F(ProfileTest, AFixedThresholdKeepsEveryStepOverIt) {
    profile_.set_spike_threshold({.fixed = microseconds(200), .median = 0.0});
    for (std::uint64_t i = 1; i <= 9; ++i) step(i, static_cast<std::int64_t>(i) * 10'000, i % 3 == 0 ? 300 : 100);
    profile_.update(milliseconds(500));
    EXPECT_EQ(profile_.spikes().size(), 3U);
}

TEST_F(ProfileTest, AKeptStepOfARarePlanIsNotPushedOutByAFrequentOne) {
    profile_.set_spike_threshold({.fixed = microseconds(200), .median = 0.0});
    PlanFacts facts;
    facts.passes = {{.name = recorder_.names().intern("rare"), .track = recorder_.names().intern("accelerator")}};
    const PlanId rare = recorder_.plans().add(facts);
    for (std::uint64_t i = 1; i <= 2; ++i)  // the first step of a plan is compared with nothing
        recorder_.add(Span{"rare", "accelerator", milliseconds(i), milliseconds(i + 1), i, rare});
    for (std::uint64_t i = 1; i <= 40; ++i) step(i, static_cast<std::int64_t>(i) * 10'000, 300);
    profile_.update(milliseconds(500));
    ASSERT_EQ(profile_.spikes().size(), Profile::kSpikes);
    EXPECT_EQ(profile_.spikes().front().step.plan, rare);
    EXPECT_EQ(profile_.spikes().back().step.execution, 40U);
}

TEST_F(ProfileTest, ThePlanThatRanLongestAgoIsForgottenAndNotTheFirstOne) {
    std::int64_t now = 0;
    for (std::size_t i = 0; i < Profile::kPlans; ++i) {
        step(i + 1, now += 1000);
        PlanFacts facts;
        facts.passes = {{.name = recorder_.names().intern("once"), .track = recorder_.names().intern("accelerator")}};
        const Nanoseconds begin = microseconds(now += 1000);
        recorder_.add(Span{"once", "accelerator", begin, begin + microseconds(10), 0, recorder_.plans().add(facts)});
    }
    profile_.update(microseconds(now + 1000));
    ASSERT_EQ(profile_.steps().size(), Profile::kPlans);
    EXPECT_EQ(profile_.steps().front().plan, plan_) << "the decoder's, which runs all the time";
    EXPECT_EQ(profile_.steps().front().later.count(), Profile::kPlans - 1);
}

TEST_F(ProfileTest, HandOversGapsAndTheCriticalPathOfAStep) {
    step(1, 0);
    profile_.update(milliseconds(1));
    const Step& step = profile_.steps().front().newest.back();
    const auto plan = profile_.plan(plan_);
    const auto name = [&](std::uint32_t span) { return profile_.text(step.spans[span].name); };

    const auto waits = hand_overs(step, *plan);
    ASSERT_EQ(waits.size(), 1U);
    EXPECT_EQ(name(waits[0].from), "decode");
    EXPECT_EQ(name(waits[0].to), "draw");
    EXPECT_EQ(waits[0].took, microseconds(40));

    const auto gaps = idle_gaps(step, *plan, recorder_.names(), microseconds(1));
    ASSERT_EQ(gaps.size(), 1U);
    EXPECT_EQ(profile_.text(gaps[0].track), "graphics");
    EXPECT_EQ(gaps[0].reason, "waiting for decode (accelerator)");
    EXPECT_EQ(gaps[0].end - gaps[0].begin, microseconds(125));

    std::string path;
    for (const std::uint32_t span : critical_path(step, *plan)) path += std::string(name(span)) + " ";
    EXPECT_EQ(path, "unpack decode draw ");
}

TEST_F(ProfileTest, FramePacingKnowsTheSlowestFramesAndThePassThatWasLate) {
    for (std::uint64_t i = 1; i <= 9; ++i) step(i, static_cast<std::int64_t>(i) * 1000);
    step(10, 10'000, 500);
    profile_.update(milliseconds(20));
    for (std::uint64_t i = 0; i <= 1000; ++i) {
        const bool slow = i % 100 == 50;
        const Nanoseconds shown = milliseconds(10) * i + (slow ? milliseconds(9) : milliseconds(0));
        recorder_.add_frame(
            {.index = i, .shown = shown, .latency = milliseconds(30), .late = i == 1000, .made_by = {plan_, 10}});
        profile_.update(milliseconds(20));
    }
    const Pacing& pacing = profile_.pacing();
    EXPECT_EQ(pacing.frames, 1001U);
    EXPECT_NEAR(static_cast<double>(pacing.intervals.quantile(0.5).count()), 10e6, 10e6 / 100);
    EXPECT_NEAR(pacing.low(0.001), 1000.0 / 19.0, 1.0);
    EXPECT_EQ(pacing.late, 1U);
    ASSERT_EQ(pacing.late_frames.size(), 1U);
    EXPECT_EQ(profile_.text(pacing.late_frames.front().pass), "decode");
    EXPECT_NEAR(static_cast<double>(pacing.late_frames.front().excess.count()), 400e3, 2e3);
}

TEST_F(ProfileTest, LatencyToTheScreenIsThatOfTheFrameWhoseTimeIsTold) {
    for (std::uint64_t i = 0; i < 600; ++i)
        recorder_.add_frame({.index = i, .shown = milliseconds(10) * i, .latency = milliseconds(30)});
    profile_.update(milliseconds(6000));
    EXPECT_EQ(profile_.pacing().to_screen.count(), 0U);
    EXPECT_TRUE(profile_.pacing().screen_source.empty());
    profile_.set_screen_source("VK_KHR_present_wait");
    recorder_.add_on_screen({598, milliseconds(5980 + 12)});
    recorder_.add_on_screen({3, milliseconds(6000)});  // forgotten already
    profile_.update(milliseconds(6000));
    ASSERT_EQ(profile_.pacing().to_screen.count(), 1U);
    EXPECT_NEAR(static_cast<double>(profile_.pacing().display.max().count()), 12e6, 12e6 / 100);
    EXPECT_NEAR(static_cast<double>(profile_.pacing().to_screen.max().count()), 42e6, 42e6 / 100);
}

/// Resident bytes of this process.
std::size_t resident() {
    std::ifstream statm("/proc/self/statm");
    std::size_t size = 0, pages = 0;
    statm >> size >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_F(ProfileTest, AMillionFramesTakeNoMoreMemoryThanAFewThousand) {
    const auto run = [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t i = from; i < to; ++i) {
            const auto at = static_cast<std::int64_t>(i) * 100;
            if (i % 4 == 0) step(i / 4 + 1, at, 100 + static_cast<std::int64_t>(i % 50));
            recorder_.add_frame({.index = i, .shown = microseconds(at)});
            if (i % 256 == 0) profile_.update(microseconds(at));
        }
        profile_.update(microseconds(static_cast<std::int64_t>(to) * 100));
    };
    run(0, 80'000);
    [[maybe_unused]] const std::size_t before = resident();
    run(80'000, 1'000'000);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep what is freed
    EXPECT_LT(resident(), before + (4U << 20U));
#endif
    EXPECT_EQ(profile_.pacing().frames, 1'000'000U);
    EXPECT_EQ(profile_.pacing().newest.size(), Pacing::kMostFrames);
    EXPECT_EQ(profile_.missed_spans(), 0U);
    EXPECT_GT(pass("decode", "accelerator").calls, 249'000U);
    for (const Profile::Track& track : profile_.tracks()) EXPECT_LE(track.spans.size(), Profile::kSpansOfTrack);
    EXPECT_EQ(profile_.steps().front().newest.size(), Profile::kStepsOfPlan);
}

TEST_F(ProfileTest, AStepWithoutAllOfItsPassesIsCompleteOnceTheNextButOneHasBegun) {
    recorder_.add(Span{"unpack", "accelerator", microseconds(0), microseconds(10), 1, plan_});
    for (std::uint64_t i = 2; i <= 3; ++i)
        recorder_.add(Span{"unpack", "accelerator", microseconds(100 * i), microseconds(100 * i + 10), i, plan_});
    profile_.update(milliseconds(1));
    ASSERT_EQ(profile_.steps().size(), 1U);
    EXPECT_EQ(profile_.steps().front().newest.size(), 1U);
    profile_.finish(milliseconds(1));
    EXPECT_EQ(profile_.steps().front().newest.size(), 3U);
}

TEST_F(ProfileTest, WhatRanSinceACaptureIsCountedWithoutWhatRanBefore) {
    const auto run = [&](std::uint64_t from, std::uint64_t calls, std::int64_t least) {
        for (std::uint64_t i = from; i < from + calls; ++i) {
            const Nanoseconds begin = microseconds(1000 * i);
            recorder_.add(Span{"unpack", "accelerator", begin, begin + microseconds(least + 10 * (i % 3)), i});
        }
        profile_.update(milliseconds(static_cast<std::int64_t>(from + calls)));
    };
    run(0, 1000, 500);
    const Capture before = profile_.capture("before");
    const Capture at_once = since(before, profile_.capture("at once"));
    EXPECT_TRUE(at_once.passes.empty()) << "nothing has run";
    EXPECT_FALSE(compare(before, at_once).front().is_on_both_sides());
    run(1000, 30, 100);  // ten calls each of 100, 110 and 120 us
    const Capture after = since(before, profile_.capture("after"));
    ASSERT_EQ(after.passes.size(), 1U);
    EXPECT_EQ(after.passes.front().calls, 31U) << "and the first";
    EXPECT_EQ(after.passes.front().mean, microseconds(110));
    EXPECT_NEAR(after.passes.front().deviation, 10'000 * std::sqrt(20.0 / 29.0), 1.0);
    EXPECT_TRUE(compare(before, after).front().is_significant());
}

TEST_F(ProfileTest, CsvHasALineAPassAndQuotesWhatNeedsIt) {
    recorder_.add(Span{"a, \"b\"", "host", microseconds(0), microseconds(10), 1});
    profile_.update(milliseconds(1));
    const std::string csv = to_csv(profile_.capture("now"));
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
    EXPECT_NE(csv.find("\"a, \"\"b\"\"\",host,,1,10000,10000,10000,"), std::string::npos) << csv;
}

TEST_F(ProfileTest, LiveStatisticsAreOneJsonObjectALine) {
    for (std::uint64_t i = 1; i <= 9; ++i) step(i, static_cast<std::int64_t>(i) * 1000);
    recorder_.count({.name = "power", .device = "NVIDIA H200", .unit = "W"}, milliseconds(9), 685.25);
    profile_.set_screen_source("VK_KHR_present_wait");
    recorder_.add_frame({.index = 0, .shown = milliseconds(1)});
    profile_.update(milliseconds(10));
    const std::string path = std::string(::testing::TempDir()) + "live.jsonl";
    ::unlink(path.c_str());
    {
        auto sink = LineSink::open(path);
        ASSERT_TRUE(sink) << sink.error().message;
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(sink->write(to_json_line(profile_, milliseconds(10))));
    }
    std::ifstream file(path);
    int lines = 0;
    for (std::string line; std::getline(file, line); ++lines) {
        const auto read = nlohmann::json::parse(line);
        EXPECT_EQ(read["frames"], 1);
        EXPECT_EQ(read["passes"].size(), 4U);
        EXPECT_EQ(read["screen_source"], "VK_KHR_present_wait");
        ASSERT_EQ(read["counters"].size(), 1U);
        EXPECT_EQ(read["counters"][0]["name"], "power");
        EXPECT_EQ(read["counters"][0]["device"], "NVIDIA H200");
        EXPECT_EQ(read["counters"][0]["unit"], "W");
        EXPECT_EQ(read["counters"][0]["value"], 685.25);
    }
    EXPECT_EQ(lines, 2);
}

/// With SIGPIPE as it is in a program that knows nothing of it: this one ends if it comes.
TEST(LiveStatistics, SayHowManySpansWereOverwrittenUnread) {
    Recorder recorder(4);
    Profile profile(recorder);
    for (std::int64_t i = 0; i < 9; ++i)
        recorder.add(Span{"decode", "accelerator", milliseconds(i), milliseconds(i + 1), 1});
    profile.update(milliseconds(10));
    EXPECT_EQ(nlohmann::json::parse(to_json_line(profile, milliseconds(10)))["missed_spans"], 5);
}

TEST(LineSink, AFifoWhoseReaderHasGoneIsAnErrorAndNoSignal) {
    const std::string path = std::string(::testing::TempDir()) + "live.fifo";
    ::unlink(path.c_str());
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    const auto before = std::signal(SIGPIPE, SIG_DFL);
    auto sink = LineSink::open(path);
    ASSERT_TRUE(sink) << sink.error().message;
    EXPECT_TRUE(sink->write("read"));
    ::close(reader);
    const auto written = sink->write("not read");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::Io);
    EXPECT_NE(written.error().message.find(path), std::string::npos) << written.error().message;
    sigset_t pending, blocked;
    ::sigpending(&pending);
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "none is left for later";
    EXPECT_EQ(sigismember(&blocked, SIGPIPE), 0);
    std::signal(SIGPIPE, before);
    ::unlink(path.c_str());
}

TEST(LineSink, WritesToASocketWholeLinesAndDropsWhatASlowReaderHasNoRoomFor) {
    const std::string path = std::string(::testing::TempDir()) + "live.sock";
    ::unlink(path.c_str());
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener, 1), 0);
    auto sink = LineSink::open("unix:" + path);
    ASSERT_TRUE(sink) << sink.error().message;
    const int reader = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    ASSERT_GE(reader, 0);
    const std::string line(10'000, 'x');
    int written = 0;
    while (sink->dropped() == 0 && written < 10'000) {
        ASSERT_TRUE(sink->write(line));
        ++written;
    }
    EXPECT_GT(sink->dropped(), 0U);
    std::string received;
    ASSERT_EQ(::fcntl(reader, F_SETFL, O_NONBLOCK), 0);
    char buffer[65536];
    for (ssize_t n = 0; (n = ::read(reader, buffer, sizeof buffer)) > 0;)
        received.append(buffer, static_cast<std::size_t>(n));
    ASSERT_TRUE(sink->write("last"));
    for (ssize_t n = 0; (n = ::read(reader, buffer, sizeof buffer)) > 0;)
        received.append(buffer, static_cast<std::size_t>(n));
    std::istringstream lines(received);
    std::string each, newest;
    while (std::getline(lines, each)) {
        newest = each;
        EXPECT_TRUE(each == line || each == "last") << each.size();
    }
    EXPECT_EQ(newest, "last");
    ::close(reader);
    ::close(listener);
    EXPECT_EQ(LineSink::open("/nonexistent/live.jsonl").error().code, ErrorCode::Io);
}

}  // namespace
}  // namespace kinetograph::profile
