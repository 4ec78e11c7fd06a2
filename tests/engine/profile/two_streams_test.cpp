#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/profile/profile.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace kinetograph::profile {
namespace {

using std::chrono::milliseconds;

/// Takes no work: tells a recorder of its batches, and in collect() of their passes, as if each took `length` from
/// `now` on.
class PosingLane final : public graph::LaneBackend {
  public:
    PosingLane(Recorder& recorder, const char* device) : recorder_(recorder), device_(device) {}
    graph::Lane lane() const override { return graph::Lane::Accelerator; }
    Result<void> submit(const graph::BatchRecord& record) override {
        newest = {recorder_.note(record, *timeline_, track_.name()), record.execution};
        for (const graph::PassRecord& pass : record.passes) {
            spans_.push_back({recorder_.names().intern(pass.planned->name), track_.name(), newest.plan, now,
                              now + length, record.execution});
            now += length;
        }
        timeline_->signal(record.signal);
        return {};
    }
    void collect() {
        for (const SpanRecord& span : spans_) recorder_.add(span);
        spans_.clear();
    }
    using LaneBackend::wait;
    Result<bool> wait(std::uint64_t, Nanoseconds) override { return true; }
    std::shared_ptr<graph::Timeline> timeline() const override { return timeline_; }

    Nanoseconds now{}, length{};
    StepKey newest{};

  private:
    Recorder& recorder_;
    const char* device_;
    std::vector<SpanRecord> spans_;
    LaneTrack track_ = recorder_.open_track(to_string(graph::Lane::Accelerator), device_);
    std::shared_ptr<graph::HostTimeline> timeline_ = std::make_shared<graph::HostTimeline>();
};

struct NoContext : graph::PassContext {
    static constexpr bool serves(graph::Lane) { return true; }
};
struct NoData {};

/// A decoder of two passes, with an executor of its own as every stream has.
class Stream {
  public:
    explicit Stream(Recorder& recorder, const char* device = "a device") : lane_(recorder, device) {
        for (const char* name : {"conv_in", "conv_out"})
            frame_.add_pass<NoData>(
                name, graph::Lane::Accelerator, [](graph::PassBuilder& pass, NoData&) { pass.has_side_effect(); },
                [](const NoData&, NoContext&) {});
        auto made = graph::Executor::create({.lanes = {&lane_}, .memory = {}, .compile = {}});
        EXPECT_TRUE(made);
        executor_ = std::move(*made);
    }
    StepKey enqueue(Nanoseconds begin, Nanoseconds of_a_pass) {
        lane_.now = begin;
        lane_.length = of_a_pass;
        EXPECT_TRUE(executor_->execute(frame_));
        return lane_.newest;
    }
    void collect() { lane_.collect(); }
    StepKey step(Nanoseconds begin, Nanoseconds of_a_pass) {
        const StepKey step = enqueue(begin, of_a_pass);
        collect();
        return step;
    }

  private:
    PosingLane lane_;
    graph::FrameGraph frame_;
    std::unique_ptr<graph::Executor> executor_;
};

TEST(TwoStreams, OfOneRecorderHaveStepsOfTheirOwn) {
    for (const char* second_device : {"a device", "another device"}) {
        Recorder recorder;
        Profile profile(recorder);
        Stream first(recorder), second(recorder, second_device);
        StepKey of_first, of_second;
        for (int i = 0; i < 3; ++i) {  // both at once, the second one slower
            of_first = first.step(milliseconds(100 * i), milliseconds(10));
            of_second = second.step(milliseconds(100 * i + 5), milliseconds(30));
        }
        profile.update(milliseconds(300));
        EXPECT_NE(of_first, of_second);
        ASSERT_NE(profile.find(of_first), nullptr);
        ASSERT_NE(profile.find(of_second), nullptr);
        EXPECT_EQ(profile.find(of_first)->length(), milliseconds(20));
        EXPECT_EQ(profile.find(of_second)->length(), milliseconds(60));
        EXPECT_EQ(critical_path(*profile.find(of_first), *profile.plan(of_first.plan)).size(), 2U);
        ASSERT_EQ(profile.tracks().size(), 2U);
        EXPECT_EQ(profile.text(profile.tracks()[0].name), "accelerator");
        EXPECT_EQ(profile.text(profile.tracks()[1].name), "accelerator #2");
        const NameId conv_in = recorder.names().intern("conv_in");
        EXPECT_EQ(profile.find(conv_in, profile.tracks()[0].name)->max(), milliseconds(10));
        EXPECT_EQ(profile.find(conv_in, profile.tracks()[1].name)->max(), milliseconds(30));
    }
}

TEST(AReopenedClip, CountsItsStepsFromZeroAndThoseAreNotTheOldOnes) {
    Recorder recorder;
    Profile profile(recorder);
    std::optional<Stream> stream(std::in_place, recorder);
    const StepKey old = stream->step(milliseconds(0), milliseconds(10));
    for (int i = 1; i < 40; ++i) stream->step(milliseconds(100 * i), milliseconds(10));
    profile.update(milliseconds(4000));
    stream.emplace(recorder);
    const StepKey reopened = stream->step(milliseconds(5000), milliseconds(40));
    EXPECT_EQ(reopened.execution, old.execution);
    EXPECT_NE(reopened, old);
    const Nanoseconds shown = milliseconds(5200);
    recorder.add_frame({.index = 0, .shown = shown, .late = true, .made_by = reopened});
    profile.update(milliseconds(5200));
    ASSERT_NE(profile.find(reopened), nullptr);
    EXPECT_EQ(profile.find(reopened)->length(), milliseconds(80));
    EXPECT_EQ(profile.find(reopened)->spans.size(), 2U);
    EXPECT_EQ(profile.find(old), nullptr) << "forgotten long ago";
    ASSERT_EQ(profile.pacing().late_frames.size(), 1U);
    EXPECT_EQ(profile.pacing().late_frames.front().step, reopened);
    EXPECT_EQ(profile.pacing().newest.back().decode, milliseconds(80));
    ASSERT_EQ(profile.tracks().size(), 1U);
    EXPECT_EQ(profile.text(profile.tracks()[0].name), "accelerator") << "the lane of before is gone";
}

TEST(AReopenedClip, HasStepsThatFramesWaitForThoughLaterOnesOfTheOldClipAreKnown) {
    Recorder recorder;
    Profile profile(recorder);
    std::optional<Stream> stream(std::in_place, recorder);
    for (int i = 0; i < 40; ++i) stream->step(milliseconds(100 * i), milliseconds(10));
    profile.update(milliseconds(4000));
    stream.emplace(recorder);
    const StepKey reopened = stream->enqueue(milliseconds(5000), milliseconds(40));
    recorder.add_frame({.index = 0, .shown = milliseconds(5300), .made_by = reopened});
    profile.update(milliseconds(5300));
    stream->collect();
    profile.update(milliseconds(5300));
    EXPECT_EQ(profile.pacing().newest.back().decode, milliseconds(80));
}

}  // namespace
}  // namespace kinetograph::profile
