// Sessions that encode: pictures that are pushed as they come become latents, the same ones however they come.
#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/compute/stream/encoder.hpp>
#include <kinetograph/compute/stream/latent_queue.hpp>
#include <kinetograph/compute/stream/reencoder.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/golden/golden.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kinetograph::session::encoding {
namespace {

constexpr Nanoseconds kLong = std::chrono::seconds(30);
constexpr const char* kWeights = "synthetic:wan2.1,dim=8";  // which the reference was made with
constexpr golden::Limit kFp32{2e-5, 1e-4};                  // of tests/golden/README.md

using Pictures = std::vector<std::vector<float>>;  // [height, width, 3] each
using Latents = std::vector<std::vector<float>>;   // [channels, height, width] each

std::unique_ptr<Session> open(const std::string& weights, SessionOptions options = {}) {
    options.device = "cpu";
    options.model.precision = vae::Precision::Fp32;
    auto session = Session::open(weights, options);
    EXPECT_TRUE(session) << session.error().message;
    return std::move(*session);
}

Pictures pictures_of(const golden::Tensor& cthw) {
    Pictures pictures;
    for (std::int64_t t = 0; t < cthw.shape[1]; ++t) pictures.push_back(golden::thwc(cthw, t, 1));
    return pictures;
}

/// Pushes them all, and takes latents whenever there is no room.
template <class Picture>
Latents encode(stream::Encoder& encoder, const std::vector<Picture>& pictures, std::int64_t left_over = 0) {
    Latents latents;
    const auto take = [&](Nanoseconds timeout) {
        auto made = encoder.take(timeout);
        ASSERT_TRUE(made) << made.error().message;
        if (!*made) return;
        EXPECT_EQ((*made)->index, std::ssize(latents));
        EXPECT_TRUE((*made)->is_finite);
        latents.push_back(std::move((*made)->values));
    };
    for (const Picture& picture : pictures)
        for (bool pushed = false; !pushed;) {
            const auto done = encoder.push(std::span(picture), std::chrono::milliseconds(1));
            EXPECT_TRUE(done) << done.error().message;
            if (!done) return latents;
            pushed = *done;
            if (!pushed) take(kLong);
        }
    EXPECT_EQ(encoder.finish(), left_over);
    while (!encoder.finished()) take(kLong);
    return latents;
}

/// [T, h, w, C] from latent frames of [C, h, w].
std::vector<float> thwc(const Latents& latents, std::int64_t channels) {
    std::vector<float> values;
    for (const std::vector<float>& frame : latents) {
        const std::int64_t pixels = std::ssize(frame) / channels;
        for (std::int64_t i = 0; i < pixels; ++i)
            for (std::int64_t c = 0; c < channels; ++c)
                values.push_back(frame[static_cast<std::size_t>(c * pixels + i)]);
    }
    return values;
}

struct Encoding : testing::Test {
    const golden::File file{"encoders.safetensors"};
    const golden::Tensor moments = file.tensor("wan2.1.moments");           // [32, 3, 3, 5]
    const Pictures pictures = pictures_of(file.tensor("wan2.1.pictures"));  // 9 of 40x24 pixels
    const stream::PictureSize size{24, 40};
    static constexpr std::int64_t kChannels = 16;
    static constexpr std::size_t kLatents = std::size_t{kChannels} * 3 * 5;  // values of a latent frame

    Latents encode_with(const Session& session, const stream::EncoderOptions& options) const {
        const auto encoder = session.encode(size, options);
        EXPECT_TRUE(encoder) << encoder.error().message;
        return encode(**encoder, pictures);
    }
};

TEST_F(Encoding, MakesTheMomentsOfDiffusers) {
    const auto session = open(kWeights);
    const Latents made = encode_with(*session, {.latents = stream::Encoded::Moments});
    EXPECT_TRUE(golden::within(thwc(made, 2 * kChannels), golden::thwc(moments, 0, 3), kFp32));
}

TEST_F(Encoding, GivesTheMeanOrASampleByTheSeedWhichNothingElseChanges) {
    const auto session = open(kWeights);
    const Latents all = encode_with(*session, {.latents = stream::Encoded::Moments});
    const Latents means = encode_with(*session, {});
    const auto sampled = [&](std::uint64_t seed, std::uint32_t ahead) {
        return encode_with(*session, {.latents = stream::Encoded::Sample, .seed = seed, .ahead = ahead});
    };
    const Latents sample = sampled(7, 2);
    ASSERT_EQ(means.size(), 3U);
    for (std::size_t t = 0; t < means.size(); ++t)
        for (std::size_t i = 0; i < kLatents; ++i) {
            EXPECT_EQ(means[t][i], all[t][i]);
            const double noise = stream::noise(7, t * kLatents + i);
            EXPECT_EQ(sample[t][i], all[t][i] + std::exp(0.5F * all[t][kLatents + i]) * static_cast<float>(noise));
        }
    EXPECT_EQ(sampled(7, 5), sample);
    EXPECT_NE(sampled(8, 2), sample);
}

/// Normalised latents or raw ones go in, and the same kind comes out.
TEST_F(Encoding, OfDecodedFramesGivesLatentsAsDecodeTakesThem) {
    for (const auto scale : {vae::LatentScale::Auto, vae::LatentScale::Raw}) {
        SessionOptions options;
        options.model.latents = scale;
        const auto session = open(kWeights, options);
        const vae::LatentSize latents_size{3, 5};
        std::vector<float> latents;
        for (std::size_t i = 0; i < 2 * kLatents; ++i) latents.push_back(std::sin(0.7F * static_cast<float>(i)));
        auto decoded = session->decode(latents_size, {.format = vae::FrameFormat::Float32}).value();
        Pictures frames;
        for (const std::size_t at : {std::size_t{0}, kLatents})
            ASSERT_TRUE(decoded.latents->push(std::span(latents).subspan(at, kLatents), kLong).value());
        decoded.latents->finish();
        while (const auto frame = decoded.frames->take(kLong).value()) {
            const auto* values = reinterpret_cast<const float*>(frame->host.data());
            frames.emplace_back(values, values + frame->host.size() / sizeof(float));
            ASSERT_TRUE(decoded.frames->release(*frame, {}));
        }
        const auto encoder = session->encode(size).value();
        const Latents wanted = encode(*encoder, frames);
        const auto reencoder = session->reencode(latents_size);
        ASSERT_TRUE(reencoder) << reencoder.error().message;
        const auto made = (*reencoder)->reencode(latents);
        ASSERT_TRUE(made) << made.error().message;
        ASSERT_EQ(made->latents.size(), 2U);
        for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(made->latents[i].values, wanted[i]);
    }
}

TEST_F(Encoding, OfDecodedFramesTakesRawLatentsWhereNormalisedOnesArePatches) {
    const auto refused = open("synthetic:flux.2,dim=4")->reencode({4, 4});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("a session with raw latents encodes its frames again"), std::string::npos)
        << refused.error().message;
    SessionOptions raw;
    raw.model.latents = vae::LatentScale::Raw;
    const auto reencoder = open("synthetic:flux.2,dim=4", raw)->reencode({4, 4});
    ASSERT_TRUE(reencoder) << reencoder.error().message;
    EXPECT_EQ((*reencoder)->facts().channels, 32);
}

/// TAEHV's encoders make every latent frame, also the first, of four pictures, and make no moments.
struct EncodingInGroups : Encoding {
    const std::unique_ptr<Session> session = open("synthetic:taew2.1,dim=8");

    Latents encoded(const Pictures& given, const stream::EncoderOptions& options = {}) const {
        const auto encoder = session->encode(size, options);
        EXPECT_TRUE(encoder) << encoder.error().message;
        return encode(**encoder, given);
    }
    Pictures first(std::size_t count) const { return {pictures.begin(), pictures.begin() + std::ptrdiff_t(count)}; }
};

TEST_F(EncodingInGroups, FillsTheLastOneWithTheLastPicture) {
    const Latents all = encoded(pictures, {.ahead = 2});
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].size(), kLatents);
    Pictures filled = pictures;
    filled.resize(12, pictures.back());
    EXPECT_EQ(encoded(filled), all);
    EXPECT_EQ(encoded(first(8)), (Latents{all[0], all[1]}));
    EXPECT_EQ(encoded(first(1), {.one_picture = true}), encoded(first(1)));
    EXPECT_EQ(encoded(first(1)), encoded({pictures[0], pictures[0], pictures[0], pictures[0]}));
}

TEST_F(EncodingInGroups, ForgetsTheLastOneAtARestart) {
    const auto encoder = session->encode(size).value();
    for (const std::size_t i : {0U, 1U}) ASSERT_TRUE(encoder->push(std::span(pictures[i]), kLong).value());
    EXPECT_EQ(encoder->finish(), 0);
    encoder->restart();
    EXPECT_EQ(encode(*encoder, pictures), encoded(pictures));
    EXPECT_EQ(encoder->facts().first_pictures, 4);
}

TEST_F(EncodingInGroups, HaveNeitherMomentsNorASample) {
    for (const auto latents : {stream::Encoded::Moments, stream::Encoded::Sample}) {
        const auto refused = session->encode(size, {.latents = latents});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().message,
                  "TAEW2.1: its encoder makes latents alone: there are no moments, and there is no sample of them");
    }
}

TEST_F(EncodingInGroups, MakesRawLatentsThatItsDecoderKnowsAsSuch) {
    const auto raw = open("synthetic:taew2.1,dim=8", {.model = {.latents = vae::LatentScale::Raw}});
    const auto encoder = raw->encode(size).value();
    const Latents made = encode(*encoder, pictures), normalised = encoded(pictures);
    const families::LatentStatistics& statistics = families::find("taew2.1")->raw;
    ASSERT_EQ(made.size(), normalised.size());
    for (std::size_t c = 0; c < std::size_t{kChannels}; ++c) {
        const float value = normalised[1][c * 15 + 4];
        EXPECT_NEAR(made[1][c * 15 + 4], value * statistics.std[c] + statistics.mean[c], 1e-4);
    }
}

TEST(Noise, IsNormal) {
    constexpr std::uint64_t kCount = 100'000;
    double sum = 0, squares = 0, fourths = 0, products = 0, before = 0;
    for (std::uint64_t i = 0; i < kCount; ++i) {
        const double value = stream::noise(3, i);
        sum += value;
        squares += value * value;
        fourths += value * value * value * value;
        products += value * before;
        before = value;
    }
    // Four deviations: of the mean 1 / sqrt(n), of the square's mean sqrt(2 / n), of the fourth power's sqrt(96 / n).
    constexpr double kDeviation = 4.0 / 316.2;
    EXPECT_NEAR(sum / kCount, 0, kDeviation);
    EXPECT_NEAR(products / kCount, 0, kDeviation);
    EXPECT_NEAR(squares / kCount, 1, kDeviation * std::sqrt(2.0));
    EXPECT_NEAR(fourths / kCount, 3, kDeviation * std::sqrt(96.0));
}

TEST_F(Encoding, TakesTheStatisticsOffThatDecodeApplies) {
    const vae::CheckpointChoices wan{.statistics = "wan2.1"};
    const auto normalizing = open(kWeights, {.checkpoint = wan});
    const auto raw = open(kWeights, {.model = {.latents = vae::LatentScale::Raw}, .checkpoint = wan});
    const Latents normalized = encode_with(*normalizing, {}), as_made = encode_with(*raw, {});
    const auto& statistics = families::find("wan2.1")->statistics;
    for (std::size_t t = 0; t < normalized.size(); ++t)
        for (std::size_t i = 0; i < kLatents; ++i) {
            const std::size_t c = i / 15;
            EXPECT_EQ(normalized[t][i], (as_made[t][i] - statistics.mean[c]) / statistics.std[c]);
        }
    const auto decoded = [](const Session& session, const Latents& latents) {
        vae::Latents clip{
            .name = "clip", .channels = kChannels, .frames = 1, .height = 3, .width = 5, .values = latents.front()};
        const auto stream = session.decode(clip, {.format = vae::FrameFormat::Float32}).value();
        const auto frame = stream->take(kLong).value().value();
        const auto* values = reinterpret_cast<const float*>(frame.host.data());
        std::vector<float> picture(values, values + frame.host.size() / sizeof(float));
        EXPECT_TRUE(stream->release(frame));
        return picture;
    };
    EXPECT_TRUE(golden::within(decoded(*normalizing, normalized), decoded(*raw, as_made), {1e-5, 1e-4}));
}

TEST_F(Encoding, OfOnePictureTakesNoStateAndMakesTheFirstLatentFrameOfAClip) {
    const auto session = open(kWeights);
    const auto one = session->encode(size, {.one_picture = true}).value(), clip = session->encode(size).value();
    const Latents first = encode(*one, Pictures{pictures.front()});
    EXPECT_EQ(first, Latents{encode(*clip, pictures).front()});
    EXPECT_LT(one->facts().memory.histories, 64U << 10U);  // zeros that its convolutions read
    EXPECT_LT(one->facts().memory.clip(), clip->facts().memory.clip() / 2);
    const auto second = one->push(std::span(pictures[1]), {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message, "a clip of this encoder is one picture: restart() begins the next one");
    one->restart();
    EXPECT_EQ(encode(*one, Pictures{pictures.front()}), first);
}

TEST_F(Encoding, ReadsPicturesOfEveryTypeAndOrder) {
    const auto session = open(kWeights);
    std::vector<std::vector<std::uint8_t>> bytes;
    Pictures floats;
    for (const std::vector<float>& picture : pictures) {
        bytes.emplace_back();
        floats.emplace_back();
        for (const float value : picture) {
            bytes.back().push_back(static_cast<std::uint8_t>(std::lround(127.5F * (value + 1.0F))));
            floats.back().push_back(static_cast<float>(bytes.back().back()) / 127.5F - 1.0F);
        }
    }
    const auto encoder = session->encode(size).value();
    const Latents wanted = encode(*encoder, floats);
    encoder->restart();
    EXPECT_EQ(encode(*encoder, bytes), wanted);

    // [3, height, width] of bf16, rows in reverse.
    std::vector<std::uint16_t> planes(floats[0].size());
    std::vector<float> rounded(floats[0].size());
    for (std::int64_t y = 0; y < size.height; ++y)
        for (std::int64_t x = 0; x < size.width; ++x)
            for (std::int64_t c = 0; c < 3; ++c) {
                const auto from = static_cast<std::size_t>((y * size.width + x) * 3 + c);
                const std::int64_t to = (c * size.height + size.height - 1 - y) * size.width + x;
                planes[static_cast<std::size_t>(to)] = tensor::to_bf16(floats[0][from]);
                rounded[from] = tensor::from_bf16(planes[static_cast<std::size_t>(to)]);
            }
    encoder->restart();
    const Latents of_rounded = encode(*encoder, Pictures{rounded});
    encoder->restart();
    ASSERT_TRUE(encoder
                    ->push({.data = reinterpret_cast<const std::byte*>(
                                &planes[static_cast<std::size_t>((size.height - 1) * size.width)]),
                            .dtype = tensor::DType::BF16,
                            .strides = {-size.width, 1, size.height * size.width}},
                           kLong)
                    .value());
    EXPECT_EQ(encode(*encoder, Pictures{}), of_rounded);
}

TEST_F(Encoding, SaysHowManyPicturesMakeNoLatentFrame) {
    const auto session = open(kWeights);
    const auto encoder = session->encode(size).value();
    const Latents whole = encode(*encoder, pictures);
    Pictures longer = pictures;
    longer.insert(longer.end(), {pictures[0], pictures[1], pictures[2]});
    encoder->restart();
    EXPECT_EQ(encode(*encoder, longer, 3), whole);
}

TEST_F(Encoding, WaitsForRoomAndTakesNothingWithoutIt) {
    const auto session = open(kWeights);
    const auto encoder = session->encode(size, {.ahead = 2}).value();
    std::size_t pushed = 0;
    bool is_full = false;
    while (!is_full && pushed < 400) {
        const auto done = encoder->push(std::span(pictures[pushed % pictures.size()]), std::chrono::milliseconds(200));
        ASSERT_TRUE(done) << done.error().message;
        is_full = !*done;
        if (*done) ++pushed;
    }
    ASSERT_TRUE(is_full);
    EXPECT_EQ(pushed % 4, 0U) << "the picture that completes a latent frame was refused";
    Latents made;
    while (made.size() < 2) {
        auto latents = encoder->take(kLong);
        ASSERT_TRUE(latents && *latents);
        made.push_back((*latents)->values);
    }
    EXPECT_TRUE(encoder->push(std::span(pictures[pushed % pictures.size()]), kLong).value());
    encoder->cancel();
    const auto cancelled = encoder->push(std::span(pictures[0]), {});
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
}

TEST_F(Encoding, RefusesWhatIsNoPictureOfItsSizeAndStaysAsItWas) {
    const auto session = open(kWeights);
    const auto encoder = session->encode(size).value();
    std::vector<float> bad = pictures[0];
    bad[static_cast<std::size_t>((2 * size.width + 5) * 3 + 1)] = std::numeric_limits<float>::quiet_NaN();
    const auto refused = encoder->push(std::span(std::as_const(bad)), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "picture 0: value nan at row 2, column 5, colour 1 is not finite");
    const auto small = encoder->push(std::span(pictures[0]).first(12), {});
    ASSERT_FALSE(small);
    EXPECT_EQ(small.error().message, "picture 0: 12 values were given, 40x24 pixels have 2880");
    EXPECT_EQ(encode(*encoder, pictures), encode_with(*session, {}));
    const auto sides = session->encode({24, 44});
    ASSERT_FALSE(sides);
    EXPECT_EQ(sides.error().message, "pictures of 44x24: each side must be a multiple of 8 pixels");
    const auto far = session->encode(size, {.ahead = 1});
    ASSERT_FALSE(far);
    EXPECT_EQ(far.error().message, "1 latent frames ahead: wanted 2 to 64");
}

TEST(Encoders, AreRefusedWhereOnlyTheDecoderIsBuilt) {
    const auto session = open("synthetic:lighttaew2.1,dim=4");
    const auto refused = session->encode({16, 16});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(refused.error().message,
              "synthetic:lighttaew2.1,dim=4: it is a LightTAE for Wan 2.1 VAE, of which only the decoder is built; "
              "`kinetograph families` "
              "says which encode");
}

TEST(Encoders, OfPicturesTakeOne) {
    const auto session = open("synthetic:qwen-image,dim=4");
    const auto encoder = session->encode({16, 24}).value();
    const Pictures pictures(2, std::vector<float>(16 * 24 * 3, 0.25F));
    EXPECT_EQ(encode(*encoder, Pictures{pictures[0]}).size(), 1U);
    EXPECT_FALSE(encoder->push(std::span(pictures[1]), {}));
    EXPECT_EQ(encoder->facts().pictures_of_a_latent, 1);
}

}  // namespace
}  // namespace kinetograph::session::encoding
