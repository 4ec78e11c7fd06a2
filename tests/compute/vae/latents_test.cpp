#include <gtest/gtest.h>
#include <xxhash.h>

#include <array>
#include <cmath>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/tests/compute/formats/pytorch_archive.hpp>
#include <kinetograph/tests/compute/tensor/safetensors_bytes.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>
#include <kinetograph/tests/source_tree.hpp>
#include <limits>
#include <numeric>

namespace kinetograph::vae {
namespace {

using tensor::DType;

class LatentsTest : public testing::Test {
  protected:
    /// 0, 1, 2, ... for `shape`, exact in every format that latents may have.
    static std::vector<float> counted(const tensor::Shape& shape) {
        std::vector<float> values(static_cast<std::size_t>(tensor::element_count(shape).value()));
        std::iota(values.begin(), values.end(), 0.0F);
        return values;
    }

    Result<Latents> open(test::StoredTensor tensor, std::map<std::string, std::string> metadata = {},
                         const LatentsWanted& wanted = {}, const LatentsChoices& choices = {}) {
        return open_all({std::move(tensor)}, std::move(metadata), wanted, choices);
    }

    Result<Latents> open_all(std::vector<test::StoredTensor> tensors, std::map<std::string, std::string> metadata = {},
                             const LatentsWanted& wanted = {}, const LatentsChoices& choices = {}) {
        test::CheckpointFile{std::move(tensors), std::move(metadata)}.write(path_);
        return Latents::open(path_, wanted, choices);
    }

    static std::string texts(const Result<Latents>& latents) {
        std::string all;
        for (const Note& note : latents.value().notes)
            all += std::string(to_string(note.level)) + " " + note.text.substr(note.text.find(": ") + 2) + "\n";
        return all;
    }

    /// The sentence a person reads, without the path that it starts with.
    std::string refusal(const Result<Latents>& latents, ErrorCode code = ErrorCode::InvalidArgument) {
        if (latents) return "accepted";
        EXPECT_EQ(latents.error().code, code) << latents.error().message;
        EXPECT_TRUE(latents.error().message.starts_with(path_ + ": ")) << latents.error().message;
        return latents.error().message.substr(path_.size() + 2);
    }

    std::string refusal_of_shape(const tensor::Shape& shape) {
        return refusal(open(test::stored("latents", DType::F32, shape, counted(shape))));
    }

    const test::TemporaryFolder folder_;
    const std::string path_ = (folder_.path() / "clip.safetensors").string();
};

TEST_F(LatentsTest, ReadsEveryFormatWithAndWithoutABatchAxis) {
    const std::vector<float> values = counted({2, 3, 4, 5});
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
        for (const tensor::Shape& shape : {tensor::Shape{2, 3, 4, 5}, tensor::Shape{1, 2, 3, 4, 5}}) {
            const auto latents = open(test::stored("latents", dtype, shape, values));
            ASSERT_TRUE(latents) << latents.error().message;
            EXPECT_EQ(latents->name, path_);
            EXPECT_EQ(latents->channels, 2);
            EXPECT_EQ(latents->frames, 3);
            EXPECT_EQ(latents->height, 4);
            EXPECT_EQ(latents->width, 5);
            EXPECT_EQ(latents->values, values);
            EXPECT_EQ(latents->fps, 24.0);
        }
    }
}

TEST_F(LatentsTest, HashesTheBytesOfTheFile) {
    const auto latents = open(test::stored("latents", DType::F32, {1, 1, 1, 1}, {1.0F}));
    const auto file = tensor::SafetensorsFile::open(path_);
    EXPECT_EQ(latents->content_hash, XXH3_64bits(file->bytes().data(), file->bytes().size()));
}

TEST_F(LatentsTest, TakesTheFrameRateFromTheMetadata) {
    const auto fps = [&](const std::string& text) {
        return open(test::stored("latents", DType::F32, {1, 1, 1, 1}, {1.0F}), {{"fps", text}});
    };
    EXPECT_EQ(fps("16")->fps, 16.0);
    EXPECT_EQ(fps("23.976")->fps, 23.976);
    for (const std::string text : {"", "0", "-24", "1001", "nan", "inf", "24fps", "0x18", "1e999", "1e-300"}) {
        const auto latents = fps(text);
        ASSERT_TRUE(latents) << "a hint that cannot be read is no reason to refuse the clip";
        EXPECT_EQ(latents->fps, 24.0);
        EXPECT_EQ(texts(latents), "warning metadata fps: \"" + text + "\" is not a number from 0.01 to 1000\n");
    }
}

TEST_F(LatentsTest, HasTheRateThatIsChosenElseTheFilesElseTheFamilys) {
    const LatentsWanted wanted{.fps = 16, .latents = "Wan 2.1"};
    const auto fps = [&](std::map<std::string, std::string> metadata, double chosen) {
        return open(test::stored("latents", DType::F32, {1, 2, 1, 1}, {1.0F, 2.0F}), std::move(metadata), wanted,
                    {.fps = chosen});
    };
    EXPECT_EQ(fps({{"fps", "12"}}, 30)->fps, 30.0);
    EXPECT_EQ(fps({{"fps", "12"}}, 0)->fps, 12.0);
    EXPECT_EQ(fps({}, 0)->fps, 16.0);
    EXPECT_EQ(texts(fps({}, 0)), "info 16 frames a second are assumed, as for Wan 2.1; --fps sets another rate\n");
    EXPECT_EQ(texts(fps({}, 30)), "");
    EXPECT_EQ(fps({}, 1001).error().message, "1001 frames a second: wanted 0.01 to 1000");
}

TEST_F(LatentsTest, FindsTheTensorUnderTheNamesOfTools) {
    for (const std::string name : {"latents", "latent", "latent_tensor", "samples", "z", "model.output.latents",
                                   "latents_5x16x16_bfloat16", "latent_1x2x2_float32"}) {
        const auto latents = open_all({test::stored("mask", DType::F32, {1, 1, 1, 1, 1}, {5.0F}),
                                       test::stored(name, DType::F32, {1, 1, 1, 1}, {7.0F})});
        ASSERT_TRUE(latents) << name << ": " << latents.error().message;
        EXPECT_EQ(latents->values, std::vector<float>{7}) << name;
    }
}

TEST_F(LatentsTest, TakesTheOnlyTensorThatFitsAndAsksBetweenSeveral) {
    const auto scalar = test::stored("scale", DType::F32, {1}, {1.0F});
    const auto one = test::stored("output", DType::F32, {2, 1, 1, 1}, {7.0F, 8.0F});
    const auto other = test::stored("control", DType::F32, {3, 1, 1, 1}, {1.0F, 2.0F, 3.0F});
    const auto alone = open_all({scalar, one});
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_EQ(texts(alone), "info the latents are its tensor \"output\"\n");
    EXPECT_EQ(refusal(open_all({scalar, one, other})),
              "several tensors could be the latents, \"output\" [2, 1, 1, 1], \"control\" [3, 1, 1, 1]: --tensor names "
              "the one");
    EXPECT_TRUE(open_all({scalar, one, other}, {}, {.channels = 2})) << "only one has two channels";
    EXPECT_EQ(open_all({scalar, one, other}, {}, {}, {.tensor = "control"})->channels, 3);
    EXPECT_EQ(refusal(open_all({scalar, one}, {}, {}, {.tensor = "control"}), ErrorCode::NotFound),
              "no tensor \"control\" in it, but \"scale\", \"output\"");
    EXPECT_EQ(refusal(open_all({test::stored("latents_1x1", DType::F32, {2, 1, 1, 1}, {7.0F, 8.0F}),
                                test::stored("latents_2x2", DType::F32, {2, 1, 1, 1}, {7.0F, 8.0F})})),
              "several tensors could be the latents, \"latents_1x1\" [2, 1, 1, 1], \"latents_2x2\" [2, 1, 1, 1]: "
              "--tensor names the one");
}

TEST_F(LatentsTest, AreTheOnlyTensorThatFitsInTheUsualOrder) {
    const auto mask = test::stored("mask", DType::F32, {1, 3, 4, 2}, std::vector<float>(24, 1.0F));
    const auto clip = test::stored("video", DType::F32, {2, 3, 4, 1}, counted({24}));
    const auto read = open_all({mask, clip}, {}, {.channels = 2});
    EXPECT_EQ(texts(read),
              "info the latents are its tensor \"video\"\ninfo 24 frames a second are assumed; --fps sets "
              "another rate\n");
}

TEST_F(LatentsTest, AreReadInTheOrderOfAxesThatHasTheChannels) {
    const LatentsWanted wanted{.channels = 2, .decoder = "vae is a Wan 2.1 VAE"};
    const auto values_of = [&](const tensor::Shape& shape, const LatentsChoices& choices = {}) {
        const auto latents = open(test::stored("latents", DType::F32, shape, counted(shape)), {}, wanted, choices);
        EXPECT_TRUE(latents) << latents.error().message;
        return latents ? std::tuple(tensor::Shape{latents->channels, latents->frames, latents->height, latents->width},
                                    latents->values)
                       : std::tuple(tensor::Shape{}, std::vector<float>{});
    };
    using Read = std::tuple<tensor::Shape, std::vector<float>>;
    const tensor::Shape shape{2, 3, 1, 1};
    for (const tensor::Shape& usual :
         {tensor::Shape{2, 3, 1, 1}, tensor::Shape{1, 2, 3, 1, 1}, tensor::Shape{1, 1, 2, 3, 1, 1}})
        EXPECT_EQ(values_of(usual), Read(shape, {0, 1, 2, 3, 4, 5}));
    for (const tensor::Shape& other : {tensor::Shape{3, 2, 1, 1}, tensor::Shape{1, 3, 2, 1, 1},
                                       tensor::Shape{3, 1, 1, 2}, tensor::Shape{1, 3, 1, 1, 2}})
        EXPECT_EQ(values_of(other), Read(shape, {0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(values_of({2, 1, 3}), Read(tensor::Shape({2, 1, 1, 3}), {0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(values_of({1, 3, 2}), Read(tensor::Shape({2, 1, 1, 3}), {0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(values_of({3, 2, 1, 1}, {.batch_item = 1}), Read(tensor::Shape({2, 1, 1, 1}), {2, 3}));
    EXPECT_EQ(
        texts(open(test::stored("latents", DType::F32, {1, 3, 2, 1, 1}, counted({6})), {{"fps", "24"}}, wanted)),
        "info latents [1, 3, 2, 1, 1] are read as [B, T, C, h, w], by the 2 channels; --axes names another order\n");
    EXPECT_EQ(open(test::stored("latents", DType::F32, {1, 5, 7, 1, 1}, counted({35})), {}, wanted).error().message,
              path_ +
                  ": latents [1, 5, 7, 1, 1] have 5 channels as [B, C, T, h, w], 7 as [B, T, C, h, w], 1 as [B, T, "
                  "h, w, C]; vae is a Wan 2.1 VAE and takes 2");
    EXPECT_EQ(open(test::stored("latents", DType::F32, {1, 5, 8}, counted({40})), {}, wanted).error().message,
              path_ +
                  ": latents [1, 5, 8] have 1 channels as [C, h, w], 8 as [h, w, C]; vae is a Wan 2.1 VAE and takes 2. "
                  "They look packed, four pixels in one, as diffusers' pipelines keep those of pictures: unpack them "
                  "first, by the pipeline's _unpack_latents");
}

/// A smooth clip of independent channels, the value at (c, t, y, x) where `index` puts it.
template <class Index>
std::vector<float> smooth(std::int64_t channels, std::int64_t frames, std::int64_t side, const Index& index) {
    std::vector<float> values(static_cast<std::size_t>(channels * frames * side * side));
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t t = 0; t < frames; ++t)
            for (std::int64_t y = 0; y < side; ++y)
                for (std::int64_t x = 0; x < side; ++x) {
                    const auto phase = static_cast<float>(c * c * 7 % 31);
                    values[static_cast<std::size_t>(index(c, t, y, x))] =
                        std::sin(phase + 0.3F * static_cast<float>(t) + 0.4F * static_cast<float>(x + y));
                }
    return values;
}

TEST_F(LatentsTest, HaveTheirChannelsWhereTheValuesShowThem) {
    const LatentsWanted wanted{.channels = 16, .decoder = "vae is a Wan 2.1 VAE"};
    const auto channels_first = [](auto c, auto t, auto y, auto x) { return ((c * 16 + t) * 16 + y) * 16 + x; };
    const auto frames_first = [](auto c, auto t, auto y, auto x) { return ((t * 16 + c) * 16 + y) * 16 + x; };
    const auto channels_last = [](auto c, auto t, auto y, auto x) { return ((t * 16 + y) * 16 + x) * 16 + c; };
    const std::vector<float> clip = smooth(16, 16, 16, channels_first);
    const auto read = [&](const std::vector<float>& values, const LatentsChoices& choices = {.fps = 24}) {
        return open(test::stored("latents", DType::F32, {16, 16, 16, 16}, values), {}, wanted, choices);
    };
    EXPECT_EQ(read(clip)->values, clip) << "every order has 16 channels";
    EXPECT_EQ(texts(read(clip)), "");
    EXPECT_EQ(read(smooth(16, 16, 16, frames_first))->values, clip);
    EXPECT_EQ(
        texts(read(smooth(16, 16, 16, channels_last))),
        "info latents [16, 16, 16, 16] are read as [T, h, w, C], by the 16 channels; --axes names another order\n");
    EXPECT_EQ(read(smooth(16, 16, 16, channels_last))->values, clip);
    EXPECT_EQ(read(clip, {.axes = "tchw"})->values, smooth(16, 16, 16, frames_first)) << "what is said decides";
    // Wan 2.2's, whose width happens to be 16.
    const std::vector<float> others =
        smooth(48, 2, 16, [](auto c, auto t, auto y, auto x) { return ((c * 2 + t) * 16 + y) * 16 + x; });
    const auto of_another = [&](const LatentsChoices& choices) {
        return open(test::stored("latents", DType::F32, {1, 48, 2, 16, 16}, others), {}, wanted, choices);
    };
    EXPECT_EQ(
        refusal(of_another({})),
        "latents [1, 48, 2, 16, 16] have 48 channels as [B, C, T, h, w]; vae is a Wan 2.1 VAE and takes 16 (48 "
        "channels are latents of Wan 2.2). By their values the axis of 16 in [B, T, h, w, C] is none of channels: "
        "if it is, --axes BThwC");
    EXPECT_EQ(of_another({.axes = "BThwC"})->frames, 48);
    EXPECT_EQ(texts(of_another({.fps = 24, .axes = "BThwC"})), "") << "what is said need not be repeated";
}

TEST_F(LatentsTest, AreReadInTheOrderThatIsSaid) {
    const auto read = [&](const tensor::Shape& shape, const std::string& axes, std::int64_t channels = 0) {
        return open(test::stored("latents", DType::F32, shape, counted(shape)), {}, {.channels = channels},
                    {.axes = axes});
    };
    EXPECT_EQ(read({1, 1, 3, 2}, "hwTC")->values, (std::vector<float>{0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(read({1, 1, 1, 3, 1, 1}, "Chw")->height, 1);
    EXPECT_EQ(refusal(read({2, 1, 3, 2}, "hwC")), "latents [2, 1, 3, 2] have 4 dimensions, the axes hwC are 3");
    EXPECT_EQ(refusal(read({1, 1, 3, 2}, "hwTC", 3)),
              "latents [1, 1, 3, 2] have 2 channels as [h, w, T, C];  and takes 3");
    for (const std::string wrong : {"hw", "CThwx", "CCThw", "TChwB "})
        EXPECT_EQ(read({1, 1, 3, 2}, wrong).error().message,
                  "axes \"" + wrong +
                      "\": wanted the letters C, h and w, and T and B where there are frames and a "
                      "batch, in the latents' order: BTChw");
}

TEST_F(LatentsTest, OfADecoderOfPicturesAreABatchOfThem) {
    const LatentsWanted wanted{.channels = 2, .pictures = true};
    const auto read = [&](std::optional<std::int64_t> item) {
        return open(test::stored("latents", DType::F32, {3, 2, 1, 1}, counted({6})), {}, wanted, {.batch_item = item});
    };
    EXPECT_EQ(read(2)->values, (std::vector<float>{4, 5}));
    EXPECT_EQ(read(2)->frames, 1);
    EXPECT_EQ(texts(open(test::stored("latents", DType::F32, {2, 1, 1, 1}, counted({2})), {}, wanted)), "")
        << "one picture of a clip is as usual as one of a batch";
    EXPECT_EQ(refusal(read({})),
              "latents [3, 2, 1, 1] are a batch of 3: --batch-item, a number from 0 to 2, chooses the one to decode");
    EXPECT_EQ(refusal(read(3)), "batch item 3: latents [3, 2, 1, 1] are a batch of 3, numbered from 0");
}

/// A clip of 16 channels whose means and deviations are `of` each channel's, with some noise.
std::vector<float> drawn(const families::LatentStatistics& of, std::int64_t pixels, std::uint64_t seed) {
    std::vector<float> values;
    const std::vector<float> noise =
        synthetic_tensor("latents", {16, pixels}).value();  // uniform in +-1.7: deviation 0.98
    for (std::size_t i = 0; i < noise.size(); ++i) {
        const std::size_t c = i / static_cast<std::size_t>(pixels);
        // What a clip is like: means off by up to half a deviation, deviations by a third.
        const float off = 0.5F * std::sin(static_cast<float>(seed + 7 * c)),
                    wide = 1 + 0.33F * std::cos(static_cast<float>(seed + 3 * c));
        values.push_back((noise[i] * wide + off) * of.std[c] + of.mean[c]);
    }
    return values;
}

class RawLatents : public LatentsTest {
  protected:
    static constexpr std::int64_t kPixels = 64;
    const families::LatentStatistics raw_ = families::find("wan2.1")->statistics;
    const families::LatentStatistics unit_{std::vector<float>(16, 0.0F), std::vector<float>(16, 1.0F)};
    const LatentsWanted wanted_{.channels = 16, .raw = raw_, .latents = "Wan 2.1"};
    test::StoredTensor latents(const std::vector<float>& values) {
        return test::stored("latents", DType::F32, {16, 1, 8, 8}, values);
    }
};

TEST_F(RawLatents, AreNormalisedIfTheFileSaysThatTheyAreRaw) {
    const auto marker = test::stored("latent_format_version_0", DType::F32, {0}, {});
    const auto read = open_all({latents(drawn(raw_, kPixels, 1)), marker}, {}, wanted_);
    const std::vector<float> wanted = drawn(unit_, kPixels, 1);
    ASSERT_EQ(read->values.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(read->values[i], wanted[i], 1e-5F);
    EXPECT_NE(texts(read).find("info raw latents by its tensor latent_format_version_0: "), std::string::npos);
    LatentsWanted decided = wanted_;
    decided.scale = LatentScale::Normalized;
    EXPECT_EQ(open_all({latents(drawn(raw_, kPixels, 1)), marker}, {}, decided)->values, drawn(raw_, kPixels, 1));
}

TEST_F(RawLatents, AreRefusedIfTheirValuesAreTooLargeToBeNormalised) {
    std::vector<float> values = drawn(raw_, kPixels, 1);
    values[1] = std::numeric_limits<float>::max();
    LatentsWanted wanted = wanted_;
    wanted.scale = LatentScale::Raw;
    wanted.raw.std.assign(16, 0.5F);
    EXPECT_TRUE(refusal(open(latents(values), {}, wanted))
                    .starts_with("latents hold a value that is not finite at (c, t, y, x) = (0, 0, 0, 1)"));
}

TEST_F(RawLatents, AreDoubtedIfOnlyTheirValuesSaySo) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto doubted = open(latents(drawn(raw_, kPixels, seed)), {}, wanted_);
        EXPECT_EQ(texts(doubted),
                  "warning its channels have the means and deviations of raw Wan 2.1 latents, and are decoded as "
                  "normalised ones: if the colours are wrong, --latents raw\n");
        EXPECT_EQ(doubted->values, drawn(raw_, kPixels, seed)) << "a doubt changes nothing";
        EXPECT_EQ(texts(open(latents(drawn(unit_, kPixels, seed)), {}, wanted_)), "") << seed;
    }
    LatentsWanted decided = wanted_;
    decided.scale = LatentScale::Normalized;
    EXPECT_EQ(texts(open(latents(drawn(raw_, kPixels, 1)), {}, decided)), "");
    EXPECT_EQ(texts(open(latents(std::vector<float>(16 * kPixels, 0.0F)), {}, wanted_)), "") << "no deviation at all";
}

TEST_F(LatentsTest, SaysWhatIsThereWhenTheTensorIsAbsent) {
    EXPECT_EQ(refusal(open(test::stored("frames", DType::F32, {1}, {1.0F})), ErrorCode::NotFound),
              "no tensor \"latents\" in it, but \"frames\"");
    test::CheckpointFile{}.write(path_);
    EXPECT_EQ(refusal(Latents::open(path_), ErrorCode::NotFound), "no tensor \"latents\" in it, but nothing");
    test::CheckpointFile::synthetic(2).write(path_);
    EXPECT_TRUE(refusal(Latents::open(path_), ErrorCode::NotFound).ends_with(" and 98 more"))
        << "a checkpoint has many tensors of five dimensions";
}

TEST_F(LatentsTest, OfAKindThatCannotBeReadAreNamed) {
    // torch.save(latents.to(torch.complex64)): a pickle of one tensor, whose storage is of no type that is known.
    const std::string pickle = "\x80\x02" + test::Pickle::tensor("0", 1, 0, {1}, {1}, "ComplexFloatStorage") + ".";
    folder_.write("clip.safetensors", test::zip_of({{"a/data.pkl", pickle}, {"a/data/0", "12345678"}}));
    EXPECT_EQ(refusal(Latents::open(path_)),
              "tensor \"tensor\" is torch.ComplexFloatStorage, which cannot be read: save it as float32");
}

TEST_F(LatentsTest, RefusesAWrongRank) {
    EXPECT_EQ(refusal_of_shape({2, 3, 4}),
              "latents [2, 3, 4] have 3 dimensions, wanted [C, T, h, w] or [B, C, T, h, w]");
    EXPECT_EQ(refusal_of_shape({}), "latents [] have 0 dimensions, wanted [C, T, h, w] or [B, C, T, h, w]");
    EXPECT_EQ(refusal_of_shape({1, 2, 1, 2, 3, 4, 5}),
              "latents [1, 2, 1, 2, 3, 4, 5] have 7 dimensions, wanted [C, T, h, w] or [B, C, T, h, w]");
}

TEST_F(LatentsTest, RefusesABatchOfWhichNoItemIsChosen) {
    EXPECT_EQ(
        refusal_of_shape({2, 3, 1, 4, 5}),
        "latents [2, 3, 1, 4, 5] are a batch of 2: --batch-item, a number from 0 to 1, chooses the one to decode");
    EXPECT_EQ(refusal_of_shape({0, 3, 1, 4, 5}), "latents [0, 3, 1, 4, 5] are a batch of 0 clips");
    const auto batch = test::stored("latents", DType::F32, {2, 1, 1, 1, 2}, counted({4}));
    EXPECT_EQ(open(batch, {}, {}, {.batch_item = 1})->values, (std::vector<float>{2, 3}));
}

TEST_F(LatentsTest, RefusesClipsWithoutFramesChannelsOrPixels) {
    EXPECT_EQ(refusal_of_shape({16, 0, 4, 5}), "latents [16, 0, 4, 5] have no frames");
    EXPECT_EQ(refusal_of_shape({1, 16, 0, 4, 5}), "latents [1, 16, 0, 4, 5] have no frames");
    EXPECT_EQ(refusal_of_shape({0, 1, 4, 5}), "latents [0, 1, 4, 5] have no channels");
    EXPECT_EQ(refusal_of_shape({16, 1, 0, 5}),
              "latents [16, 1, 0, 5]: frames of 5 x 0 latent pixels, a side may have 1 to 1024");
}

TEST_F(LatentsTest, RefusesAbsurdSizes) {
    EXPECT_EQ(refusal_of_shape({1, 1, 1025, 2}),
              "latents [1, 1, 1025, 2]: frames of 2 x 1025 latent pixels, a side may have 1 to 1024");
    EXPECT_EQ(refusal_of_shape({1, 1, 2, 100000}),
              "latents [1, 1, 2, 100000]: frames of 100000 x 2 latent pixels, a side may have 1 to 1024");
    EXPECT_EQ(refusal_of_shape({1, 1, 1024, 1024}), "accepted");

    folder_.write("clip.safetensors",
                  test::safetensors_bytes(R"({"latents":{"dtype":"F32","shape":[16,4000000000,4000000000,64],)"
                                          R"("data_offsets":[0,4]}})",
                                          "abcd"));
    EXPECT_EQ(refusal(Latents::open(path_), ErrorCode::Corrupt),
              "tensor \"latents\": shape [16, 4000000000, 4000000000, 64] has more than 2^62 elements");
}

TEST_F(LatentsTest, RefusesOtherTypes) {
    const std::vector<std::int32_t> numbers(4);
    EXPECT_EQ(refusal(open(
                  test::StoredTensor::of("latents", DType::I32, {1, 1, 2, 2}, std::span<const std::int32_t>(numbers)))),
              "latents are I32, wanted a floating-point type");
    folder_.write("clip.safetensors",
                  test::safetensors_bytes(R"({"latents":{"dtype":"F4","shape":[1,1,1,2],"data_offsets":[0,1]}})", "a"));
    EXPECT_EQ(refusal(Latents::open(path_)), R"(tensor "latents" is "F4", which cannot be read: save it as float32)");
    folder_.write("clip.safetensors",
                  test::safetensors_bytes(R"({"a\nb":{"dtype":"F4","shape":[1,1,1,2],"data_offsets":[0,1]}})", "a"));
    EXPECT_EQ(refusal(Latents::open(path_, {}, {.tensor = "a\nb"})),
              R"(tensor "a\x0ab" is "F4", which cannot be read: save it as float32)");
    const std::vector<double> doubles{1.5, -2};
    EXPECT_EQ(
        open(test::StoredTensor::of("latents", DType::F64, {1, 1, 1, 2}, std::span<const double>(doubles)))->values,
        (std::vector<float>{1.5F, -2}));
}

TEST_F(LatentsTest, SaysWhereAValueIsNotFinite) {
    const auto refusal_at = [&](int c, int t, int y, int x, DType dtype, float poison) {
        std::vector<float> values = counted({2, 3, 4, 5});
        values[static_cast<std::size_t>(((c * 3 + t) * 4 + y) * 5 + x)] = poison;
        return refusal(open(test::stored("latents", dtype, {2, 3, 4, 5}, values)));
    };
    const std::string sentence =
        "latents hold a value that is not finite at (c, t, y, x) = ({}, {}, {}, {}): it would "
        "spread over every later frame";
    for (const auto& [c, t, y, x] : {std::array{0, 0, 0, 0}, {1, 2, 3, 1}, {0, 1, 0, 4}, {1, 0, 2, 3}, {1, 2, 3, 4}}) {
        EXPECT_EQ(refusal_at(c, t, y, x, DType::F32, std::nanf("")), fmt::format(fmt::runtime(sentence), c, t, y, x));
    }
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
        EXPECT_EQ(refusal_at(1, 1, 2, 3, dtype, INFINITY), fmt::format(fmt::runtime(sentence), 1, 1, 2, 3));
    }
}

TEST_F(LatentsTest, OpensTheBundledClips) {
    for (const std::string name : {"orbit", "tunnel", "bounce"}) {
        const auto latents = Latents::open(test::source_tree() / "assets" / (name + ".safetensors"));
        ASSERT_TRUE(latents) << latents.error().message;
        EXPECT_EQ(latents->channels, 16);
        EXPECT_EQ(latents->frames, 16);
        EXPECT_EQ(latents->height, 36);
        EXPECT_EQ(latents->width, 64);
        EXPECT_EQ(latents->fps, 24.0);
        EXPECT_EQ(latents->values.size(), 16U * 16U * 36U * 64U);
    }
}

}  // namespace
}  // namespace kinetograph::vae
