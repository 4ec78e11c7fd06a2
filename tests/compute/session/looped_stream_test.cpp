// A stream that loops takes no more memory from round to round, nor does the recorder of its passes and frames.
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/tests/compute/stream/small_decoder.hpp>

#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <limits>

namespace kinetograph::session {
namespace {

/// The least that the heap holds after any frame of `frames`: what a step and a reader allocate and free is not in it.
std::size_t least_in_use(stream::FrameSource& stream, profile::Recorder& recorder, std::int64_t frames) {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (std::int64_t i = 0; i < frames; ++i) {
        const auto frame = stream.take(std::chrono::seconds(30));
        EXPECT_TRUE(frame && *frame) << "frame " << i;
        if (!frame || !*frame) break;
        recorder.count({.name = "frames waiting"}, host_now(), 1.0);
        recorder.add_frame({.index = static_cast<std::uint64_t>((*frame)->label.index), .shown = host_now()});
        EXPECT_TRUE(stream.release(**frame));
        least = std::min(least, mallinfo2().uordblks);
    }
    return least;
}

TEST(LoopedStreams, TakeNoMoreMemoryFromRoundToRound) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's heap tells nothing";
#endif
    constexpr std::int64_t kLatents = 3, kFrames = 9, kRounds = 50, kBetween = 1000;
    // One object of malloc's least size in every step makes 32 * 3 * 1000 = 96,000 bytes between the two. Without one,
    // blocks of queues and of the allocator's threads that come and go make up to 5,000, more or fewer.
    constexpr std::size_t kBound = 16384;
    profile::Recorder recorder(64);  // full within the first rounds, as the viewer's is after 45 minutes
    auto session = Session::open("synthetic:wan2.1,dim=2", {.device = "cpu", .recorder = &recorder});
    ASSERT_TRUE(session) << session.error().message;
    const auto stream = (*session)->decode(stream::testing::small_clip(kLatents), {.loop = true}).value();
    least_in_use(*stream, recorder, kFrames * kRounds);
    const std::size_t early = least_in_use(*stream, recorder, kFrames * kRounds);
    least_in_use(*stream, recorder, kFrames * kBetween);
    const std::size_t late = least_in_use(*stream, recorder, kFrames * kRounds);
    EXPECT_LE(late, early + kBound);
    RecordProperty("growth", std::to_string(static_cast<std::int64_t>(late) - static_cast<std::int64_t>(early)));
}

}  // namespace
}  // namespace kinetograph::session
