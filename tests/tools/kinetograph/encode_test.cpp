// kinetograph encode: what comes in, what goes out, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>
#include <kinetograph/tests/source_tree.hpp>
#include <nlohmann/json.hpp>

#include "latent_files.hpp"
#include "program.hpp"
#include "program_json.hpp"

namespace kinetograph::test {
namespace {

constexpr const char* kEncoderWeights = "synthetic:wan2.1,dim=4";

/// A clip of width x height pixels as raw rgb24: waves that move.
std::string waves(std::int64_t width, std::int64_t height, std::int64_t frames) {
    std::string rgb;
    for (std::int64_t t = 0; t < frames; ++t)
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x)
                for (int c = 0; c < 3; ++c) {
                    const double phase =
                        0.11 * static_cast<double>(x + 2 * t) + 0.07 * static_cast<double>(y * (c + 1));
                    rgb.push_back(static_cast<char>(std::lround(127.5 + 120 * std::sin(phase))));
                }
    return rgb;
}

class EncodeProgram : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    std::string write(const std::string& name, const std::string& contents) const {
        std::ofstream(path(name), std::ios::binary) << contents;
        return path(name);
    }
    std::vector<std::string> encode(const std::string& in, const std::string& out,
                                    const std::vector<std::string>& more = {}) const {
        std::vector<std::string> arguments{"encode",      in,     "--weights", kEncoderWeights, "--lane", "cpu",
                                           "--precision", "fp32", "-o",        path(out)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    /// What it wrote; the tensor `name`.
    std::vector<float> latents_of(const std::string& file, const tensor::Shape& shape,
                                  const std::string& name = "latents") const {
        auto read = tensor::SafetensorsFile::open(path(file));
        EXPECT_TRUE(read) << read.error().message;
        if (!read) return {};
        const tensor::TensorView* view = read->find(name);
        EXPECT_NE(view, nullptr);
        if (view == nullptr) return {};
        EXPECT_EQ(view->shape, shape);
        return *tensor::to_f32(*view, name);
    }
    std::string fps_of(const std::string& file) const {
        return tensor::SafetensorsFile::open(path(file)).value().metadata().at("fps");
    }
    /// The message of a run that fails.
    std::string refusal(const std::vector<std::string>& arguments, const ProgramOptions& options = {}) const {
        const auto result = run_program(arguments, options);
        EXPECT_EQ(result.exit_code, 1) << result.messages;
        return result.messages;
    }
    /// Frames of `decode`, as `name`.
    void decode_to(const std::string& name, std::int64_t latent_frames) const {
        const auto clip = write_latents(folder_, "made.safetensors", latent_frames);
        const auto result = run_program(decode(clip, path(name), kEncoderWeights));
        ASSERT_EQ(result.exit_code, 0) << result.messages;
    }

    /// Three latent frames out of the middle of a demo clip, 9 smooth frames of 96x64 at 24 a second, as each of
    /// `names`.
    void decode_part_of_the_demo(const std::string& name) const {
        const auto clip = tensor::SafetensorsFile::open(source_tree() / "assets/orbit.safetensors").value();
        const auto all = tensor::to_f32(*clip.find("latents"), "latents").value();  // [16, 16, 36, 64]
        std::vector<float> part;
        for (std::size_t plane = 0; plane < 16; ++plane)
            for (std::size_t row = 0; row < 3 * 8; ++row) {
                const auto from =
                    all.begin() + static_cast<std::ptrdiff_t>(((plane * 16 + row / 8) * 36 + 14 + row % 8) * 64 + 26);
                part.insert(part.end(), from, from + 12);
            }
        const std::array tensors{tensor::NamedTensor{
            "latents",
            {tensor::DType::F32, {16, 3, 8, 12}, reinterpret_cast<const std::byte*>(part.data()), 4 * part.size()}}};
        ASSERT_TRUE(tensor::write_safetensors(path("part.safetensors"), tensors, {{"fps", "24"}}));
        const auto result = run_program(
            decode(path("part.safetensors"), path(name), (source_tree() / "assets/demo_tiny.safetensors").string()));
        ASSERT_EQ(result.exit_code, 0) << result.messages;
    }

    const TemporaryFolder folder_;
};

#define EXPECT_PART(text, part) EXPECT_NE((text).find(part), std::string::npos) << "said: " << (text)

TEST_F(EncodeProgram, MakesTheSameLatentsOfPicturesAndOfRawBytesFromAPipe) {
    ASSERT_NO_FATAL_FAILURE(decode_to("f%03d.png", 3));  // 9 pictures of 48x32
    ASSERT_NO_FATAL_FAILURE(decode_to("clip.gif", 1));
    const auto clip = write_latents(folder_, "made.safetensors", 3);
    const auto raw = run_program(decode(clip, "-", kEncoderWeights));
    const std::string pipe = write("clip.rgb", raw.out);
    const auto of_pictures = run_program(encode(path("f%03d.png"), "a.safetensors"));
    ASSERT_EQ(of_pictures.exit_code, 0) << of_pictures.messages;
    EXPECT_PART(of_pictures.messages, "a.safetensors: 9 frames of 48x32 as 3 latent frames of 6x4 in ");
    const auto of_bytes = run_program(encode("-", "b.safetensors", {"--size", "48x32"}), {.input = pipe});
    ASSERT_EQ(of_bytes.exit_code, 0) << of_bytes.messages;
    const auto wanted = latents_of("a.safetensors", {1, 16, 3, 4, 6});
    EXPECT_EQ(latents_of("b.safetensors", {1, 16, 3, 4, 6}), wanted);
    EXPECT_EQ(fps_of("a.safetensors"), "16") << "that of the family's videos";
    EXPECT_EQ(read_text(path("a.safetensors")), read_text(path("b.safetensors")));
}

TEST_F(EncodeProgram, ReadsVideosAndItsOutputIsWhatDecodeReads) {
    ASSERT_NO_FATAL_FAILURE(decode_part_of_the_demo("clip.mp4"));
    const auto result = run_program(encode(path("clip.mp4"), "video.safetensors"));
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_EQ(latents_of("video.safetensors", {1, 16, 3, 8, 12}).size(), 16U * 3 * 8 * 12);
    EXPECT_EQ(fps_of("video.safetensors"), "24");
    const auto again = run_program(decode(path("video.safetensors"), path("again.safetensors"), kEncoderWeights));
    ASSERT_EQ(again.exit_code, 0) << again.messages;
    EXPECT_PART(again.messages, "again.safetensors: 9 frames of 96x64 in ");
}

TEST_F(EncodeProgram, WritesRawLatentsThatDecodeKnowsAndMoments) {
    const std::string pipe = write("clip.rgb", waves(48, 32, 5));
    const auto run = [&](const std::string& out, std::vector<std::string> more) {
        more.insert(more.end(), {"--size", "48x32", "--statistics", "wan2.1", "--fps", "23.976"});
        const auto result = run_program(encode("-", out, more), {.input = pipe});
        EXPECT_EQ(result.exit_code, 0) << result.messages;
    };
    run("normalized.safetensors", {});
    run("raw.safetensors", {"--latents", "raw"});
    run("moments.safetensors", {"--moments"});
    run("sample.safetensors", {"--latents", "raw", "--sample", "3"});
    run("again.safetensors", {"--latents", "raw", "--sample", "3"});
    EXPECT_EQ(fps_of("raw.safetensors"), "23.976");
    const auto raw = latents_of("raw.safetensors", {1, 16, 2, 4, 6}),
               normalized = latents_of("normalized.safetensors", {1, 16, 2, 4, 6}),
               moments = latents_of("moments.safetensors", {1, 32, 2, 4, 6}, "moments"),
               sample = latents_of("sample.safetensors", {1, 16, 2, 4, 6});
    EXPECT_TRUE(std::equal(raw.begin(), raw.end(), moments.begin()));
    EXPECT_NE(raw, normalized);
    EXPECT_NE(raw, sample);
    EXPECT_EQ(read_text(path("sample.safetensors")), read_text(path("again.safetensors")));
    const auto decoded = [&](const std::string& name) {
        auto arguments = decode(path(name), path("frames.safetensors"), kEncoderWeights);
        arguments.insert(arguments.end(), {"--statistics", "wan2.1", "--precision", "fp32"});
        const auto result = run_program(arguments);
        EXPECT_EQ(result.exit_code, 0) << result.messages;
        return latents_of("frames.safetensors", {3, 5, 32, 48}, "frames");
    };
    const auto one = decoded("raw.safetensors"), other = decoded("normalized.safetensors");
    for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], other[i], 1e-3);
}

TEST_F(EncodeProgram, CutsScalesAndCountsByRule) {
    const std::string pipe = write("clip.rgb", waves(52, 38, 7));
    const auto stats = path("stats.json"), trace = path("trace.json");
    const auto cut = run_program(encode("-", "a.safetensors", {"--size", "52x38", "--json", stats}), {.input = pipe});
    ASSERT_EQ(cut.exit_code, 0) << cut.messages;
    EXPECT_PART(cut.messages, "standard input: 52x38 pixels are cut to 48x32 around the middle");
    EXPECT_PART(cut.messages,
                "standard input: its last 2 frames are left out: after the first, 4 frames become one "
                "latent frame");
    const auto json = nlohmann::json::parse(read_text(stats));
    EXPECT_EQ(json.at("frames"), 7);
    EXPECT_EQ(json.at("latent_frames"), 2);
    EXPECT_LT(json.at("seconds_load"), json.at("seconds_first_latent"));
    EXPECT_LE(json.at("peak_device_bytes").get<std::uint64_t>(), json.at("stated_device_bytes").get<std::uint64_t>());

    ASSERT_NO_FATAL_FAILURE(decode_to("f%d.png", 2));  // 48x32
    const auto scaled =
        run_program(encode(path("f%d.png"), "b.safetensors", {"--size", "64x64", "--frames", "1", "--trace", trace}));
    ASSERT_EQ(scaled.exit_code, 0) << scaled.messages;
    EXPECT_PART(read_text(trace), "encoder.middle.1");
    EXPECT_PART(scaled.messages, "48x32 pixels are scaled to 96x64 and cut to 64x64 around the middle");
    EXPECT_EQ(latents_of("b.safetensors", {1, 16, 1, 8, 8}).size(), 1024U);

    ASSERT_EQ(run_program(encode(path("f%d.png"), "clip.safetensors")).exit_code, 0);
    ASSERT_EQ(run_program(encode(path("f0.png"), "one.safetensors")).exit_code, 0);
    const auto clip = latents_of("clip.safetensors", {1, 16, 2, 4, 6}),
               one = latents_of("one.safetensors", {1, 16, 1, 4, 6});
    for (std::size_t c = 0; c < 16; ++c)
        for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(one[c * 24 + i], clip[c * 48 + i]);
}

TEST_F(EncodeProgram, SaysWhatIsWrongWithItsPictures) {
    EXPECT_PART(refusal(encode(path("none.mp4"), "o.safetensors")), "none.mp4: opening: No such file or directory");
    const std::string text = write("text.mp4", "no video at all, but some words that are long enough to be probed\n");
    EXPECT_PART(refusal(encode(text, "o.safetensors")), "text.mp4: ");
    EXPECT_PART(refusal(encode(folder_.path().string(), "o.safetensors")), "a folder, wanted a file of pictures");
    EXPECT_PART(refusal(encode(path("f%d.png"), "o.safetensors")), "f%d.png: no file in ");
    const std::string raw = write("clip.rgb", waves(48, 32, 2) + "abc");
    EXPECT_PART(refusal(encode("-", "o.safetensors", {"--size", "48x32"}), {.input = raw}),
                "standard input: it ends 3 bytes into picture 2, which has 4608 (48x32 pixels, rgb24)");
    EXPECT_PART(refusal(encode("-", "o.safetensors"), {.input = raw}),
                "standard input: raw rgb24 says no size: --size WIDTHxHEIGHT does");
    EXPECT_PART(refusal(encode("-", "o.safetensors", {"--size", "6x32"}), {.input = raw}),
                "standard input: pictures of 6x32 pixels: each side has at least 8");
    EXPECT_PART(refusal(encode("-", "o.safetensors", {"--size", "48x32"})), "standard input: it holds no pictures");
    ASSERT_NO_FATAL_FAILURE(decode_to("f%d.png", 2));
    EXPECT_PART(refusal(encode(path("f0.png"), "o.safetensors", {"--size", "50x32"})),
                "f0.png: pictures of 50x32 pixels: each side is a multiple of 8");
    std::filesystem::remove(path("f2.png"));
    EXPECT_PART(refusal(encode(path("f%d.png"), "o.safetensors")),
                "f2.png is missing; there are pictures from f0.png "
                "to f4.png");
    EXPECT_FALSE(std::filesystem::exists(path("o.safetensors")));
}

TEST_F(EncodeProgram, NamesTheFileThatHasNoEncoderAndTheFamilyWithoutOne) {
    const std::string raw = write("clip.rgb", waves(48, 32, 1)), weights = path("vae.safetensors");
    CheckpointFile::synthetic(2).write(weights);
    auto arguments = encode("-", "o.safetensors", {"--size", "48x32"});
    arguments[3] = weights;
    EXPECT_PART(refusal(arguments, {.input = raw}),
                weights +
                    ": it holds a decoder alone, no encoder: tensor \"encoder.conv1.weight\" and the encoder's "
                    "other 85 are missing; to encode, take a file with both");
    arguments[3] = "synthetic:lighttaew2.1,dim=4";
    EXPECT_PART(refusal(arguments, {.input = raw}),
                "it is a LightTAE for Wan 2.1 VAE, of which only the decoder is built");
    arguments = encode("-", "o.safetensors", {"--size", "48x32", "--sums", "int8"});
    EXPECT_PART(refusal(arguments, {.input = raw}), "--sums int8: encoders are not computed in 8-bit integers");
    arguments = encode("-", "o.safetensors", {"--size", "48x32"});
    arguments[3] = "synthetic:qwen-image,dim=4";
    const std::string two = write("two.rgb", waves(48, 32, 2));
    EXPECT_PART(
        refusal(arguments, {.input = two}),
        "standard input: it has more than one picture, a clip of Qwen-Image is one: --frames 1 takes the first");
}

TEST_F(EncodeProgram, LeavesNothingUnfinishedAndReplacesNoInput) {
    const auto older = write("o.safetensors", "older");
    const std::string raw = write("clip.rgb", waves(48, 32, 2) + "abc");
    refusal(encode("-", "o.safetensors", {"--size", "48x32"}), {.input = raw});
    EXPECT_EQ(read_text(older), "older");
    ASSERT_NO_FATAL_FAILURE(decode_to("f%d.png", 1));
    EXPECT_PART(refusal(encode(path("f%d.png"), "p.safetensors", {"--json", path("f0.png")})),
                "--json " + path("f0.png") + " would overwrite PICTURES " + path("f0.png"));
    EXPECT_PART(refusal(encode(path("o.safetensors"), "o.safetensors")),
                "-o " + older + " would overwrite PICTURES " + older);
    EXPECT_PART(refusal(encode("-", "no/folder/o.safetensors", {"--size", "48x32"})), "no/folder/o.safetensors: ");
    const auto before = folder_.count_entries();
    const auto stats = path("stats.json");
    const auto result =
        run_program(encode("-", "p.safetensors", {"--size", "64x64", "--json", stats}),
                    {.input = "/dev/zero", .interrupt_when = [&] { return folder_.count_entries() > before; }});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_PART(result.messages, "interrupted; unfinished outputs were discarded");
    EXPECT_EQ(folder_.count_entries(), before);
}

}  // namespace
}  // namespace kinetograph::test
