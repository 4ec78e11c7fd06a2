// The format of live latents: what is written comes back, and what is broken is named.
#include "live_bytes.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace kinetograph::live {
namespace {

using testing::Bytes;
using testing::MemorySource;
using testing::small_header;
using testing::small_latents;

/// What a reader makes of all bytes: a line a record, and the error that ends them.
struct Story {
    std::string text;
    std::optional<Error> error;
};

std::string tell(const Item& item) {
    if (const auto* latent = std::get_if<LatentValues>(&item))
        return fmt::format("{}:{:.3f}..{:.3f} ", latent->chunk, latent->values.front(), latent->values.back());
    return std::holds_alternative<Reset>(item) ? "reset " : "end ";
}

Story read_all(std::span<const std::byte> bytes, std::size_t piece = 4096) {
    MemorySource source(bytes, piece);
    Reader reader(source);
    Story story;
    for (;;) {
        auto header = reader.next_stream();
        if (!header) story.error = header.error();
        if (!header || !*header) return story;
        story.text += (*header)->name + " ";
        for (bool in_stream = true; in_stream;) {
            const auto item = reader.next();
            if (!item) {
                story.error = item.error();
                EXPECT_EQ(reader.next().error().message, item.error().message);
                return story;
            }
            story.text += tell(*item);
            in_stream = !std::holds_alternative<End>(*item);
        }
    }
}

Bytes two_streams() {
    Bytes bytes;
    Writer writer(bytes);
    StreamHeader header = small_header();
    writer.start(header);
    writer.chunk(small_latents(0, 1));
    writer.chunk(small_latents(1, 3));
    writer.reset();
    writer.chunk(small_latents(4, 1));
    writer.end();
    header.name = "tunnel";
    writer.start(header);
    writer.end();
    return bytes;
}

TEST(LiveFormat, ComesBackAsItWasWrittenHoweverItArrives) {
    const Bytes bytes = two_streams();
    for (const std::size_t piece : {1U, 3U, 17U, 100'000U}) {
        const Story story = read_all(bytes, piece);
        EXPECT_FALSE(story.error) << story.error->message;
        EXPECT_EQ(std::count(story.text.begin(), story.text.end(), ':'), 5) << story.text;
        EXPECT_EQ(story.text, read_all(bytes).text);
    }
    EXPECT_EQ(read_all({}).text, "");
    EXPECT_FALSE(read_all({}).error);
}

TEST(LiveFormat, StatesEveryFieldOfItsHeader) {
    StreamHeader header = small_header();
    header.dtype = tensor::DType::BF16;
    header.fps = 29.97;
    const auto read = decode_start(encode(header));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->family, "wan2.1");
    EXPECT_EQ(read->name, "orbit");
    EXPECT_EQ(read->dtype, tensor::DType::BF16);
    EXPECT_EQ(read->channels, 16);
    EXPECT_EQ(read->height, 1);
    EXPECT_EQ(read->width, 2);
    EXPECT_EQ(read->fps, 29.97);
    EXPECT_EQ(read->frame_bytes(), 64U);
}

TEST(LiveFormat, CutsANameThatIsTooLong) {
    StreamHeader header = small_header();
    header.name = std::string(100, 'x');
    EXPECT_EQ(decode_start(encode(header))->name, std::string(64, 'x'));
}

TEST(LiveFormat, ReadsHalvesAndBfloats) {
    const std::vector<std::uint16_t> halves(32, 0x3E00), bfloats(32, 0x3FC0);  // 1.5
    for (const auto& [dtype, values] :
         {std::pair{tensor::DType::F16, halves}, std::pair{tensor::DType::BF16, bfloats}}) {
        Bytes bytes;
        Writer writer(bytes);
        StreamHeader header = small_header();
        header.dtype = dtype;
        writer.start(header);
        writer.chunk(std::as_bytes(std::span(values)));
        writer.end();
        EXPECT_EQ(read_all(bytes).text, "orbit 0:1.500..1.500 end ");
    }
}

TEST(LiveFormat, CutOffAnywhereEndsInASentence) {
    const Bytes bytes = two_streams();
    const std::string whole = read_all(bytes).text;
    const std::size_t second = bytes.size() - kRecordBytes - kStartBytes - kRecordBytes;
    for (std::size_t length = 1; length < bytes.size(); ++length) {
        const Story story = read_all(std::span(bytes).first(length));
        EXPECT_EQ(whole.rfind(story.text, 0), 0U) << length;
        if (length == second) {  // between two streams, where an input may end
            EXPECT_FALSE(story.error);
            continue;
        }
        ASSERT_TRUE(story.error) << length;
        EXPECT_EQ(story.error->code, ErrorCode::Corrupt) << length;
        EXPECT_EQ(story.error->message.rfind("a generator: stream ", 0), 0U) << story.error->message;
        EXPECT_NE(story.error->message.find("the input ends "), std::string::npos) << story.error->message;
    }
}

TEST(LiveFormat, NamesTheStreamAndTheChunkThatAreCutOff) {
    const Bytes bytes = two_streams();
    constexpr std::size_t kFirstChunk = kRecordBytes + kStartBytes, kFrame = 128;
    const auto sentence = [&](std::size_t length) { return read_all(std::span(bytes).first(length)).error->message; };
    EXPECT_EQ(sentence(5), "a generator: stream 0: the input ends after 5 of 16 bytes of a start record");
    EXPECT_EQ(sentence(kRecordBytes + 7),
              "a generator: stream 0: the input ends after 7 of 112 bytes of a start record");
    EXPECT_EQ(
        sentence(kFirstChunk),
        "a generator: stream 0 \"orbit\", chunk 0: the input ends before a record that continues or ends the stream");
    EXPECT_EQ(sentence(kFirstChunk + kRecordBytes + kFrame + kRecordBytes + kFrame + 100),
              "a generator: stream 0 \"orbit\", chunk 1: the input ends after 100 of 128 bytes of a latent frame");
}

template <class Number>
Bytes with(Bytes bytes, std::size_t at, Number number) {
    std::memcpy(bytes.data() + at, &number, sizeof(number));
    return bytes;
}

/// Offsets in two_streams().
constexpr std::size_t kTagOf = 0, kLengthOf = 4, kNumberOf = 8;
constexpr std::size_t kPayload = kRecordBytes, kChunk0 = kPayload + kStartBytes, kChunk1 = kChunk0 + 16 + 128,
                      kReset0 = kChunk1 + 16 + 3 * 128, kChunk2 = kReset0 + 16, kEnd0 = kChunk2 + 16 + 128;

TEST(LiveFormat, NamesEveryFieldThatIsBroken) {
    const Bytes good = two_streams();
    const auto u32 = [](std::uint32_t value) { return value; };
    const auto u64 = [](std::uint64_t value) { return value; };
    const std::string start = "a generator: stream 0: ", in = "a generator: stream 0 \"orbit\", chunk ";
    const std::array<std::pair<Bytes, std::string>, 27> cases{{
        {with(good, kTagOf, Tag{'R', 'I', 'F', 'F'}), start + "tag: \"RIFF\", wanted \"KGLV\": this is not a stream of "
                                                              "live latents; a file of latents is given by its name"},
        {with(good, kTagOf, Tag{'\x1b', '[', '2', 'J'}),
         start + "tag: \"\\x1b[2J\", wanted \"KGLV\": this is not a stream of live latents; a file of latents is given "
                 "by its name"},
        {with(good, kNumberOf, u64(4)), start + "number: 4, wanted 0"},
        {with(good, kLengthOf, u32(111)), start + "payload: 111 bytes, wanted 112"},
        {with(good, kLengthOf, u32(113)), start + "payload: 113 bytes, wanted 112"},
        {with(good, kLengthOf, u32(3)), start + "payload: 3 bytes, wanted 112"},
        {with(good, kPayload, u32(2)), start + "version: 2, this program reads 1"},
        {with(with(good, kPayload, u32(2)), kLengthOf, u32(500)), start + "version: 2, this program reads 1"},
        {with(good, kPayload + 4, u32(0)), start + "channels: 0, wanted 1 to 1024"},
        {with(good, kPayload + 8, u32(1025)), start + "height: 1025, wanted 1 to 1024"},
        {with(good, kPayload + 12, u32(0xFFFFFFFF)), start + "width: 4294967295, wanted 1 to 1024"},
        {with(good, kPayload + 16, u32(0)), start + "dtype: 0, wanted 1 (F32), 2 (F16) or 3 (BF16)"},
        {with(good, kPayload + 16, u32(4)), start + "dtype: 4, wanted 1 (F32), 2 (F16) or 3 (BF16)"},
        {with(good, kPayload + 20, '\0'), start + "family: \"\", wanted a name as in \"wan2.1\""},
        {with(good, kPayload + 22, '\n'), start + "family: \"wa\\x0a2.1\", wanted a name as in \"wan2.1\""},
        {with(good, kPayload + 40, 0.0), start + "fps: 0, wanted 0.01 to 1000"},
        {with(good, kPayload + 40, std::numeric_limits<double>::quiet_NaN()), start + "fps: nan, wanted 0.01 to 1000"},
        {with(with(with(good, kPayload + 4, u32(1024)), kPayload + 8, u32(1024)), kPayload + 12, u32(1024)),
         start +
             "channels, height and width: 1024 x 1024 x 1024 of F32 are 4294967296 bytes, wanted at most 268435456"},
        {with(good, kChunk0, kStart), in + "0: tag: \"KGLV\", wanted \"CHNK\", \"RSET\" or \"DONE\""},
        {with(good, kChunk1 + kNumberOf, u64(3)), in + "1: number: 3, wanted 1"},
        {with(good, kChunk1 + kLengthOf, u32(100)),
         in + "1: payload: 100 bytes, wanted a multiple of 128, the bytes of a latent frame"},
        {with(good, kChunk1 + kLengthOf, u32(0)),
         in + "1: payload: 0 bytes, wanted a multiple of 128, the bytes of a latent frame"},
        {with(good, kChunk1 + kLengthOf, u32(257 * 128)), in + "1: payload: 257 latent frames, wanted at most 256"},
        {with(good, kReset0 + kNumberOf, u64(1)), in + "2: number of a reset: 1, but 2 chunks came"},
        {with(good, kReset0 + kLengthOf, u32(8)), in + "2: payload of a reset: 8 bytes, wanted 0"},
        {with(good, kEnd0 + kNumberOf, u64(9)), in + "3: number of the end: 9, but 3 chunks came"},
        {with(good, kEnd0 + kLengthOf, u32(1)), in + "3: payload of the end: 1 bytes, wanted 0"},
    }};
    for (const auto& [bytes, sentence] : cases) {
        const Story story = read_all(bytes);
        EXPECT_EQ(story.error ? story.error->message : "no error", sentence);
    }
}

TEST(LiveFormat, TakesNoMoreMemoryThanBytesHaveCome) {
    StreamHeader header = small_header();
    header.height = header.width = 1024;  // 64 MiB a latent frame
    Bytes bytes;
    Writer writer(bytes);
    writer.start(header);
    const auto claim = encode(RecordHeader{kChunk, 64U << 20U, 0});
    bytes.insert(bytes.end(), claim.begin(), claim.end());
    const Story story = read_all(bytes);
    ASSERT_TRUE(story.error);
    EXPECT_EQ(story.error->message, "a generator: stream 0 \"orbit\", chunk 0: the input ends before a latent frame");
}

}  // namespace
}  // namespace kinetograph::live
