// kinetograph decode and view with latents that arrive at standard input while they are made.
#include <gtest/gtest.h>

#include <kinetograph/compute/live/format.hpp>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/engine/present/png.hpp>

#include "../media/read_video.hpp"
#include "latent_files.hpp"
#include "program.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kinetograph::test {
namespace {

using Bytes = std::vector<std::byte>;

/// The clip of a latents file as one stream.
void add_stream(live::Writer& writer, const std::string& file) {
    const auto clip = vae::Latents::open(file);
    ASSERT_TRUE(clip) << clip.error().message;
    writer.start({.family = "wan2.1",
                  .name = "clip",
                  .channels = clip->channels,
                  .height = clip->height,
                  .width = clip->width,
                  .fps = clip->fps});
    for (std::int64_t t = 0; t < clip->frames; ++t) {
        const std::vector<float> values = clip->frame(t);
        writer.chunk(std::as_bytes(std::span(values)));
    }
    writer.end();
}

std::string write(const TemporaryFolder& folder, const Bytes& bytes) {
    return folder.write("live", {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).string();
}

std::vector<std::string> decode_on_cpu(const std::string& latents, const std::string& out) {
    auto words = decode(latents, out);
    words.insert(words.end(), {"--lane", "cpu"});
    return words;
}

TEST(LiveProgram, DecodesStandardInputToTheFramesOfTheSameClip) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors", 3);
    Bytes bytes;
    live::Writer writer(bytes);
    add_stream(writer, clip);
    add_stream(writer, clip);
    const auto once = run_program(decode_on_cpu(clip, "-"));
    const auto twice = run_program(decode_on_cpu("-", "-"), {.input = write(folder, bytes)});
    ASSERT_EQ(once.exit_code, 0) << once.messages;
    ASSERT_EQ(twice.exit_code, 0) << twice.messages;
    EXPECT_EQ(twice.out, once.out + once.out);
}

TEST(LiveProgram, WritesAVideoWithTheStreamsRateAndStatistics) {
    const TemporaryFolder folder;
    Bytes bytes;
    live::Writer writer(bytes);
    add_stream(writer, write_latents(folder, "clip.safetensors", 2));
    auto arguments = decode_on_cpu("-", folder.path() / "out.mp4");
    arguments.insert(arguments.end(), {"--json", "-"});
    const auto result = run_program(arguments, {.input = write(folder, bytes)});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.out.find("\"frames\": 5,"), std::string::npos) << result.out;
    const Video video = read_video(folder.path() / "out.mp4");
    EXPECT_EQ(video.frames, 5);
    EXPECT_NEAR(video.fps, 12.0, 1e-9);
}

void expect_failure(const std::vector<std::string>& arguments, const std::filesystem::path& input,
                    const std::string& sentence) {
    const auto result = run_program(arguments, {.input = input});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("kinetograph: error: " + sentence), std::string::npos)
        << "wanted: " << sentence << "\nsaid: " << result.messages;
}

/// Two clips of one stream, with a reset between them.
Bytes with_a_reset(const std::string& first, const std::string& second) {
    Bytes bytes;
    live::Writer writer(bytes);
    add_stream(writer, first);
    bytes.resize(bytes.size() - live::kRecordBytes);  // the end
    const auto clip = vae::Latents::open(second);
    writer.reset();
    for (std::int64_t t = 0; t < clip->frames; ++t) {
        const std::vector<float> values = clip->frame(t);
        writer.chunk(std::as_bytes(std::span(values)));
    }
    writer.end();
    return bytes;
}

TEST(LiveProgram, WritesEveryFrameBeforeAResetIntoOneOutputOrAFileAClip) {
    const TemporaryFolder folder;
    const std::string first = write_latents(folder, "first.safetensors", 12),
                      second = write_latents(folder, "second.safetensors", 2);
    const std::string input = write(folder, with_a_reset(first, second));
    const auto of_first = run_program(decode_on_cpu(first, "-")), of_second = run_program(decode_on_cpu(second, "-"));
    const auto both = run_program(decode_on_cpu("-", "-"), {.input = input});
    ASSERT_EQ(both.exit_code, 0) << both.messages;
    EXPECT_TRUE(both.out == of_first.out + of_second.out) << both.out.size();

    auto words = decode_on_cpu("-", folder.path() / "out.mp4");
    words.emplace_back("--each-clip");
    const auto each = run_program(words, {.input = input});
    ASSERT_EQ(each.exit_code, 0) << each.messages;
    EXPECT_NE(each.messages.find("out-00000.mp4 to "), std::string::npos) << each.messages;
    EXPECT_EQ(read_video(folder.path() / "out-00000.mp4").frames, 45);
    EXPECT_EQ(read_video(folder.path() / "out-00001.mp4").frames, 5);
    EXPECT_EQ(folder.count_entries(), 5U);

    words[5] = folder.path() / "out.png";
    expect_failure(words, input, "--each-clip: " + words[5] + " is no file that a clip has");
    words[5] = folder.path() / "clip.mp4";
    words.insert(words.end(), {"--json", folder.path() / "clip-00001.mp4"});
    expect_failure(words, input, "-o " + words[5] + " would overwrite --json ");
    words = decode_on_cpu(first, folder.path() / "clip.mp4");
    words.emplace_back("--each-clip");
    expect_failure(words, input, "--each-clip: " + first + " is one clip");
}

TEST(LiveProgram, KeepsWhatWasDecodedOfAnInputThatBreaks) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors", 2);
    Bytes bytes;
    live::Writer writer(bytes);
    add_stream(writer, clip);
    const auto cut = write(folder, Bytes(bytes.begin(), bytes.end() - 20));
    const std::string broken =
        "standard input: stream 0 \"clip\", chunk 1: the input ends after 1532 of 1536 bytes of a latent frame; ";
    const auto video = folder.path() / "out.mp4", picture = folder.path() / "out.png", shot = folder.path() / "s.png";
    expect_failure(decode_on_cpu("-", video), cut, broken + "the 1 frame before that is in " + video.string());
    EXPECT_EQ(read_video(video).frames, 1);
    expect_failure(decode_on_cpu("-", picture), cut, broken + "the 1 frame before that is in " + picture.string());
    EXPECT_TRUE(present::read_png(picture));
    expect_failure({"view", "-", "--weights", kSmallWeights, "--lane", "cpu", "--headless", "--screenshot", shot}, cut,
                   broken + shot.string() + " is the last picture before that");
    EXPECT_TRUE(present::read_png(shot));

    add_stream(writer, write_latents(folder, "wider.safetensors", 1, 16, 4, 8));
    const auto sizes = write(folder, bytes);
    auto whole = decode_on_cpu("-", folder.path() / "5.safetensors");
    const auto kept = run_program(whole, {.input = sizes});
    EXPECT_EQ(kept.exit_code, 1);
    EXPECT_NE(kept.messages.find("the 5 frames before that are in " + whole[5]), std::string::npos) << kept.messages;
    const auto frames = tensor::SafetensorsFile::open(whole[5]);
    ASSERT_TRUE(frames) << frames.error().message;
    EXPECT_EQ(frames->find("frames")->shape, (tensor::Shape{3, 5, 32, 48}));
    whole[5] = folder.path() / "none.mp4";
    whole.emplace_back("--no-partial");
    expect_failure(whole, sizes, "standard input: stream 1 \"clip\": width, height and fps: ");
    EXPECT_FALSE(std::filesystem::exists(whole[5]));
}

TEST(LiveProgram, NamesWhatIsWrongWithItsInputAndLeavesNoOutput) {
    const TemporaryFolder folder;
    const std::string clip = write_latents(folder, "clip.safetensors", 2), out = folder.path() / "out.mp4";
    const auto without_partial = [](const std::string& to) {
        auto words = decode_on_cpu("-", to);
        words.emplace_back("--no-partial");
        return words;
    };
    const std::string wider = write_latents(folder, "wider.safetensors", 1, 16, 4, 8);
    expect_failure(decode_on_cpu("-", out), "/dev/null", "standard input: it ends before a stream of latents begins");
    expect_failure(decode_on_cpu("-", out), clip, "standard input: stream 0: tag: ");
    Bytes bytes;
    live::Writer none(bytes);
    none.start({.family = "wan2.1", .channels = 16, .height = 4, .width = 6});
    none.end();
    expect_failure(decode_on_cpu("-", out), write(folder, bytes), "standard input: its streams hold no latents");
    bytes.clear();
    live::Writer writer(bytes);
    add_stream(writer, clip);
    const Bytes cut(bytes.begin(), bytes.end() - 20);
    expect_failure(
        without_partial(out), write(folder, cut),
        "standard input: stream 0 \"clip\", chunk 1: the input ends after 1532 of 1536 bytes of a latent frame");
    add_stream(writer, wider);
    expect_failure(
        without_partial(out), write(folder, bytes),
        "standard input: stream 1 \"clip\": width, height and fps: 8 x 4 at 12, but 6 x 4 at 12 of the stream "
        "that the output began with");
    expect_failure({"view", "-", "--weights", kSmallWeights, "--lane", "cpu", "--headless", "--record", out},
                   "/dev/null",
                   "--record " + out + ": the rate of latents that are being made is not known beforehand");
    EXPECT_EQ(folder.count_entries(), 3U);
}

TEST(LiveProgram, EndsByASignalWhileItWaitsForInput) {
    const TemporaryFolder folder;
    const std::string fifo = folder.path() / "fifo", socket = folder.path() / "live.sock";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const int writer = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);  // never writes
    const auto json = folder.path() / "stats.json";
    for (const std::string& input : {std::string("-"), "unix:" + socket}) {
        auto arguments = decode_on_cpu(input, folder.path() / "out.mp4");
        arguments.insert(arguments.end(), {"--json", json});
        const auto entries = folder.count_entries() + (input == "-" ? 1 : 3);  // the statistics' file is claimed
        const auto result = run_program(
            arguments, {.input = fifo, .interrupt_when = [&] { return folder.count_entries() >= entries; }});
        EXPECT_EQ(result.exit_code, 1) << input;
        EXPECT_NE(result.messages.find("interrupted"), std::string::npos) << result.messages;
        EXPECT_EQ(folder.count_entries(), 1U) << "the socket goes with its owner";
    }
    ::close(writer);
}

TEST(LiveProgram, ShowsTheSampleGeneratorsLatents) {
    if (std::system("python3 -c '' 2> /dev/null") != 0) GTEST_SKIP() << "python3 is not installed";
    const TemporaryFolder folder;
    const auto shot = folder.path() / "shot.png";
    const std::string line = std::string("python3 ") + KINETOGRAPH_SAMPLE_LIVE +
                             " --unpaced --latent-frames 2 | " KINETOGRAPH_PROGRAM
                             " view - --weights synthetic:wan2.1,dim=2 --lane cpu --headless --screenshot " +
                             shot.string();
    const auto result = run_program("/bin/sh", {"-c", line});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.messages.find("5 frames shown"), std::string::npos) << result.messages;
    EXPECT_TRUE(present::read_png(shot));
}

}  // namespace
}  // namespace kinetograph::test
