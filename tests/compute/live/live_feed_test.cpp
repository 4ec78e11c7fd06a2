// Live latents to frames: order, back-pressure, resets, ends that are said and ends that are not.
#include "live_bytes.hpp"

#include <kinetograph/compute/live/live_feed.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/stream/small_decoder.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <thread>

namespace kinetograph::live {
namespace {

using testing::small_header;
using testing::small_latents;

constexpr Nanoseconds kLong = std::chrono::seconds(60);

using Frames = std::vector<std::vector<std::uint8_t>>;

/// What a decoder of its own makes of latent frames `first` to `first + count - 1`.
Frames wanted_frames(std::int64_t first, std::int64_t count) {
    const auto device = accel::cpu::create_device();
    const auto decoder = stream::testing::small_decoder(*device);
    vae::Latents clip{"clip", 16, count, 1, 2, std::vector<float>(static_cast<std::size_t>(32 * count)), 25.0, 0};
    for (std::int64_t t = 0; t < count; ++t) {
        const auto values = testing::small_latent(first + t);
        for (std::int64_t c = 0; c < 16; ++c)
            for (std::int64_t x = 0; x < 2; ++x)
                clip.values[static_cast<std::size_t>((c * count + t) * 2 + x)] =
                    values[static_cast<std::size_t>(2 * c + x)];
    }
    return stream::testing::expected_frames(*decoder, clip);
}

/// A generator's end of a socket; its writes wait, as a generator's do.
class Generator {
  public:
    explicit Generator(int fd) : socket_(fd) {}
    Writer& writer() { return writer_; }
    /// Sends what the writer has written.
    void flush() {
        ASSERT_EQ(::send(socket_.fd(), bytes_.data(), bytes_.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes_.size()));
        bytes_.clear();
    }
    void chunk(std::int64_t first, std::int64_t count) {
        writer_.chunk(small_latents(first, count));
        flush();
    }
    /// Waits until so many latent frames are granted in all; returns how many are.
    std::uint64_t wait_for_credit(std::uint64_t least) {
        while (granted_ < least && receive()) continue;
        return granted_;
    }
    /// Waits for the viewer's last word.
    const std::string& refusal() {
        while (refusal_.empty() && receive()) continue;
        return refusal_;
    }
    void hang_up() { socket_ = Descriptor(); }

  private:
    bool receive() {
        std::array<std::byte, kRecordBytes> bytes{};
        if (::recv(socket_.fd(), bytes.data(), bytes.size(), MSG_WAITALL) != static_cast<ssize_t>(bytes.size()))
            return false;
        const RecordHeader record = decode_record(bytes);
        std::string payload(record.payload_bytes, '\0');
        if (!payload.empty() && ::recv(socket_.fd(), payload.data(), payload.size(), MSG_WAITALL) <= 0) return false;
        if (record.tag == kCredit) granted_ = record.number;
        if (record.tag == kRefusal) refusal_ = payload;
        return true;
    }
    Descriptor socket_;
    testing::Bytes bytes_;
    Writer writer_{bytes_};
    std::uint64_t granted_ = 0;
    std::string refusal_;
};

class LiveFeeds : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto checkpoint = vae::Checkpoint::open("synthetic:wan2.1,dim=2");
        ASSERT_TRUE(checkpoint) << checkpoint.error().message;
        family_ = &checkpoint->family();
        auto session = session::Session::open(*checkpoint, {.device = "cpu", .model = {vae::Precision::Fp32}});
        ASSERT_TRUE(session) << session.error().message;
        session_ = std::move(*session);
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        generator_.emplace(ends[0]);
        input_ = Input::of(Connection::create(Descriptor(ends[1]), "a generator").value());
    }
    Result<LiveSource> open_next() {
        KG_TRY(const auto incoming, input_->next());
        EXPECT_TRUE(incoming);
        return decode(*session_, *family_, *incoming, {.storage = interop::FrameStorage::Host, .slots = kSlots});
    }
    LiveSource begin(const StreamHeader& header = small_header()) {
        generator_->writer().start(header);
        generator_->flush();
        auto stream = open_next();
        EXPECT_TRUE(stream) << stream.error().message;
        return std::move(*stream);
    }
    /// Takes and gives back the next frame.
    static void take(const LiveSource& stream, Frames& frames) {
        const auto frame = stream.frames->take(kLong);
        ASSERT_TRUE(frame) << frame.error().message;
        if (!*frame) return;
        const auto* pixels = reinterpret_cast<const std::uint8_t*>((*frame)->host.data());
        frames.emplace_back(pixels, pixels + (*frame)->host.size());
        ASSERT_TRUE(stream.frames->release(**frame));
    }
    static Frames take_to_the_end(const LiveSource& stream) {
        Frames frames;
        while (!stream.frames->finished() && !::testing::Test::HasFatalFailure()) take(stream, frames);
        return frames;
    }

    static constexpr std::uint32_t kSlots = 12;
    const families::Family* family_ = nullptr;
    std::unique_ptr<session::Session> session_;
    std::unique_ptr<Input> input_;
    std::optional<Generator> generator_;
};

TEST_F(LiveFeeds, GiveTheFramesOfTheSameClip) {
    const auto stream = begin();
    generator_->chunk(0, 1);
    generator_->chunk(1, 3);
    generator_->writer().end();
    generator_->flush();
    EXPECT_EQ(take_to_the_end(stream), wanted_frames(0, 4));
    EXPECT_EQ(stream.frames->facts().fps, 25.0);
    EXPECT_EQ(stream.feed->live().received, 4U);
    EXPECT_TRUE(stream.feed->live().has_ended);
    EXPECT_TRUE(input_->more());
}

TEST_F(LiveFeeds, FollowEachOtherOnOneConnection) {
    for (std::int64_t i = 0; i < 3; ++i) {
        const auto stream = begin();
        generator_->chunk(2 * i, 2);
        generator_->writer().end();
        generator_->flush();
        EXPECT_EQ(take_to_the_end(stream), wanted_frames(2 * i, 2)) << i;
    }
    generator_->hang_up();
    const auto none = input_->next();
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_FALSE(*none);
    EXPECT_FALSE(input_->more());
}

/// 12 slots hold the frames of three latent frames (1 + 4 + 4); one is in hand, and the queue holds kQueued more.
TEST_F(LiveFeeds, GrantAsMuchAsThereIsRoomForAndMoreAsFramesAreGivenBack) {
    const auto stream = begin();
    const std::uint64_t room = 3 + 1 + LiveFeed::kQueued;
    std::int64_t sent = 0;
    for (; generator_->wait_for_credit(sent + 1) < room; ++sent) generator_->chunk(sent, 1);
    for (; sent < static_cast<std::int64_t>(room); ++sent) generator_->chunk(sent, 1);
    EXPECT_EQ(generator_->wait_for_credit(0), room);
    Frames frames;
    while (frames.size() < 9) ASSERT_NO_FATAL_FAILURE(take(stream, frames));
    EXPECT_GT(generator_->wait_for_credit(room + 1), room);
    generator_->writer().end();
    generator_->flush();
    const Frames rest = take_to_the_end(stream);
    frames.insert(frames.end(), rest.begin(), rest.end());
    EXPECT_EQ(frames, wanted_frames(0, sent));
}

TEST_F(LiveFeeds, CountCreditsOverAllStreamsOfAConnection) {
    for (std::uint64_t i = 0; i < 2; ++i) {
        const auto stream = begin();
        EXPECT_GE(generator_->wait_for_credit(2 * i + LiveFeed::kQueued), 2 * i + LiveFeed::kQueued);
        generator_->chunk(0, 2);
        generator_->writer().end();
        generator_->flush();
        take_to_the_end(stream);
    }
}

TEST_F(LiveFeeds, BeginAClipAnewAfterAReset) {
    const auto stream = begin();
    generator_->chunk(0, 2);
    Frames before;
    while (before.size() < 5) ASSERT_NO_FATAL_FAILURE(take(stream, before));
    generator_->writer().reset();
    generator_->chunk(7, 2);
    generator_->writer().end();
    generator_->flush();
    EXPECT_EQ(before, wanted_frames(0, 2));
    EXPECT_EQ(take_to_the_end(stream), wanted_frames(7, 2));
}

TEST_F(LiveFeeds, DropFramesThatWereNotTakenAtAReset) {
    const auto stream = begin();
    const std::uint64_t room = 3 + 1 + LiveFeed::kQueued;
    for (std::int64_t sent = 0; sent < static_cast<std::int64_t>(room); ++sent) {
        generator_->wait_for_credit(static_cast<std::uint64_t>(sent) + 1);
        generator_->chunk(sent, 1);
    }
    generator_->writer().reset();
    generator_->flush();
    EXPECT_GT(generator_->wait_for_credit(room + LiveFeed::kQueued), room);  // all of the queue's places are free
    generator_->chunk(20, 2);
    generator_->writer().end();
    generator_->flush();
    EXPECT_EQ(take_to_the_end(stream), wanted_frames(20, 2));
}

TEST_F(LiveFeeds, GiveEveryFrameBeforeAResetWhereThatIsWanted) {
    generator_->writer().start(small_header());
    generator_->chunk(0, 3);
    generator_->writer().reset();
    generator_->writer().reset();
    generator_->chunk(7, 2);
    generator_->writer().end();
    generator_->flush();
    const auto incoming = input_->next().value();
    auto stream =
        decode(*session_, *family_, *incoming, {.storage = interop::FrameStorage::Host, .slots = kSlots}, Resets::Keep)
            .value();
    EXPECT_EQ(take_to_the_end(stream), wanted_frames(0, 3));
    for (int clip = 0; clip < 2; ++clip) {
        ASSERT_TRUE(stream.feed->live().at_reset);
        EXPECT_FALSE(stream.feed->live().has_ended);
        stream.feed->begin_next_clip();
        EXPECT_EQ(take_to_the_end(stream), clip == 0 ? Frames{} : wanted_frames(7, 2));
    }
    EXPECT_FALSE(stream.feed->live().at_reset);
    EXPECT_TRUE(stream.feed->live().has_ended);
}

TEST_F(LiveFeeds, EndWhileTheyWaitForTheirNextClip) {
    generator_->writer().start(small_header());
    generator_->writer().reset();
    generator_->flush();
    const auto incoming = input_->next().value();
    auto stream =
        decode(*session_, *family_, *incoming, {.storage = interop::FrameStorage::Host, .slots = kSlots}, Resets::Keep)
            .value();
    EXPECT_EQ(take_to_the_end(stream), Frames{});
    stream = {};
    EXPECT_EQ(generator_->refusal(), "a generator: stream 0 \"orbit\": the viewer reads it no more");
}

TEST_F(LiveFeeds, ShowWhatCameBeforeABreakAndThenSayWhatIsBroken) {
    const auto stream = begin();
    generator_->chunk(0, 2);
    generator_->writer().start(small_header());
    generator_->flush();
    Frames frames;
    while (frames.size() < 5) ASSERT_NO_FATAL_FAILURE(take(stream, frames));
    EXPECT_EQ(frames, wanted_frames(0, 2));
    const std::string sentence =
        "a generator: stream 0 \"orbit\", chunk 1: tag: \"KGLV\", wanted \"CHNK\", \"RSET\" or \"DONE\"";
    for (int again = 0; again < 2; ++again) {
        const auto error = stream.frames->take(kLong);
        ASSERT_FALSE(error);
        EXPECT_EQ(error.error().message, sentence);
    }
    EXPECT_EQ(generator_->refusal(), sentence);
    EXPECT_FALSE(stream.frames->finished());
    EXPECT_FALSE(input_->more());
}

TEST_F(LiveFeeds, OfAGeneratorThatDiesSayWhereItWas) {
    const auto stream = begin();
    generator_->chunk(0, 1);
    generator_->hang_up();
    Frames frames;
    ASSERT_NO_FATAL_FAILURE(take(stream, frames));
    const auto error = stream.frames->take(kLong);
    ASSERT_FALSE(error);
    EXPECT_EQ(
        error.error().message,
        "a generator: stream 0 \"orbit\", chunk 1: the input ends before a record that continues or ends the stream");
}

TEST_F(LiveFeeds, RefuseLatentsThatAreNotFinite) {
    const auto stream = begin();
    generator_->chunk(0, 1);
    std::vector<float> values(32, 1.0F);
    values[5] = std::numeric_limits<float>::infinity();
    generator_->writer().chunk(std::as_bytes(std::span(values)));
    generator_->flush();
    Frames frames;
    ASSERT_NO_FATAL_FAILURE(take(stream, frames));
    const auto error = stream.frames->take(kLong);
    ASSERT_FALSE(error);
    const std::string sentence =
        "a generator: stream 0 \"orbit\", chunk 1: latent frame 1: value inf at channel 2, pixel 1 is not finite";
    EXPECT_EQ(error.error().message, sentence);
    EXPECT_EQ(generator_->refusal(), sentence);
}

TEST_F(LiveFeeds, OfAnotherDecodersLatentsAreRefused) {
    const auto sentence_of = [&](const StreamHeader& header) {
        generator_->writer().start(header);
        generator_->flush();
        const auto stream = open_next();
        return stream ? "none" : stream.error().message;
    };
    StreamHeader header = small_header();
    header.family = "mochi";
    EXPECT_EQ(sentence_of(header),
              "a generator: stream 0 \"orbit\": family: latents of \"mochi\", synthetic:wan2.1,dim=2 is of wan2.1");
}

TEST_F(LiveFeeds, OfAnotherFamilyWithTheSameLatentsAreDecoded) {
    StreamHeader header = small_header();
    header.family = "lightvae";
    generator_->writer().start(header);
    generator_->flush();
    const auto stream = open_next();
    EXPECT_TRUE(stream) << stream.error().message;
}

TEST_F(LiveFeeds, OfOtherLatentsWithAsManyChannelsAreRefused) {
    StreamHeader header = small_header();
    header.family = "taehv";
    generator_->writer().start(header);
    generator_->flush();
    const auto stream = open_next();
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().message,
              "a generator: stream 0 \"orbit\": family: latents of \"taehv\", synthetic:wan2.1,dim=2 is of wan2.1");
}

TEST_F(LiveFeeds, OfAnotherNumberOfChannelsAreRefused) {
    StreamHeader header = small_header();
    header.channels = 48;
    generator_->writer().start(header);
    generator_->flush();
    const auto stream = open_next();
    ASSERT_FALSE(stream);
    EXPECT_EQ(
        stream.error().message,
        "a generator: stream 0 \"orbit\" has 48 latent channels, synthetic:wan2.1,dim=2 is a Wan 2.1 VAE and takes "
        "16 (48 channels are latents of Wan 2.2)");
}

TEST_F(LiveFeeds, EndAtOnceWhileAGeneratorIsSilent) {
    auto stream = begin();
    generator_->chunk(0, 1);
    Frames frames;
    ASSERT_NO_FATAL_FAILURE(take(stream, frames));
    stream = {};
    EXPECT_FALSE(input_->more());
    EXPECT_EQ(generator_->refusal(), "a generator: stream 0 \"orbit\": the viewer reads it no more");
}

/// Its decoder has no room: it is about to push, or waits in that.
TEST_F(LiveFeeds, CloseWhileTheirLatentsWaitForRoom) {
    auto stream = begin();
    for (std::int64_t sent = 0; sent < 4; ++sent) generator_->chunk(sent, 1);
    while (stream.frames->stats().depth < 9) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    generator_->writer().reset();
    generator_->flush();
    EXPECT_TRUE(stream.frames->close(kLong));
    const auto none = stream.frames->take(kLong);
    ASSERT_FALSE(none) << (*none ? "a frame" : "nothing");
    EXPECT_EQ(none.error().code, ErrorCode::Cancelled) << none.error().message;
    EXPECT_FALSE(stream.frames->finished());
}

TEST_F(LiveFeeds, CatchUpOnARestart) {
    const auto stream = begin();
    generator_->chunk(0, 3);
    const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    while (stream.frames->stats().depth < 9) pause();
    for (; stream.frames->stats().depth > 0; pause()) stream.frames->restart();  // drops those that are complete
    generator_->chunk(3, 1);
    generator_->writer().end();
    generator_->flush();
    const Frames all = wanted_frames(0, 4);
    EXPECT_EQ(take_to_the_end(stream), Frames(all.begin() + 9, all.end()));
}

}  // namespace
}  // namespace kinetograph::live
