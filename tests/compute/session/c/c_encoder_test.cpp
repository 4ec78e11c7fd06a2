// Encoders through kinetograph.h, on the CPU.
#include "c_fixture.hpp"

#include <numeric>
#include <thread>

namespace kinetograph::c::testing {
namespace {

constexpr std::uint32_t kPictureHeight = 16, kPictureWidth = 24;
constexpr std::size_t kValues = std::size_t{3} * kPictureHeight * kPictureWidth, kLatents = std::size_t{16} * 2 * 3;

/// Pictures [count, kPictureHeight, kPictureWidth, 3], no two alike.
std::vector<float> pictures_of(std::size_t count) {
    std::vector<float> values;
    for (std::size_t i = 0; i < count * kValues; ++i) values.push_back(std::sin(0.013F * static_cast<float>(i)));
    return values;
}

kg_pictures view_of_pictures(const std::vector<float>& values) {
    auto pictures = sized<kg_pictures>();
    pictures.type = KG_PICTURE_FLOAT32;
    pictures.data = values.data();
    const std::int64_t shape[] = {static_cast<std::int64_t>(values.size() / kValues), kPictureHeight, kPictureWidth, 3};
    std::memcpy(pictures.shape, shape, sizeof(shape));
    return pictures;
}

class CEncoders : public CTest {
  protected:
    Owned<kg_encoder> encoder(const kg_encoder_desc* desc = nullptr) {
        kg_encoder* made = nullptr;
        EXPECT_EQ(kg_encoder_create(model_.get(), kPictureHeight, kPictureWidth, desc, &made), KG_OK)
            << kg_last_error();
        return Owned<kg_encoder>(made);
    }
    /// To KG_END.
    static std::vector<std::vector<float>> latents_of_all(kg_encoder* encoder) {
        std::vector<std::vector<float>> all;
        for (;;) {
            std::vector<float> latents(kLatents);
            auto frame = sized<kg_encoded_frame>();
            const kg_result result = kg_encoder_take(encoder, kLong, latents.data(), latents.size(), &frame);
            if (result == KG_END) return all;
            EXPECT_EQ(result, KG_OK) << kg_last_error();
            if (result != KG_OK) return all;
            EXPECT_EQ(frame.index, static_cast<std::int64_t>(all.size()));
            EXPECT_EQ(frame.finite, static_cast<std::uint32_t>(KG_FINITE_YES));
            all.push_back(latents);
        }
    }
    static std::vector<std::vector<float>> encode(kg_encoder* encoder, const kg_pictures& pictures,
                                                  std::uint32_t left_over = 0) {
        std::uint32_t pushed = 0, left = 0;
        EXPECT_EQ(kg_encoder_push(encoder, &pictures, kLong, &pushed), KG_OK) << kg_last_error();
        EXPECT_EQ(pushed, pictures.shape[0]);
        EXPECT_EQ(kg_encoder_finish(encoder, &left), KG_OK);
        EXPECT_EQ(left, left_over);
        return latents_of_all(encoder);
    }
};

TEST_F(CEncoders, EncodeWhatTheyAreGivenInEveryTypeAndOrder) {
    ASSERT_NO_FATAL_FAILURE(open());
    auto model = sized<kg_model_info>();
    ASSERT_EQ(kg_model_describe(model_.get(), &model), KG_OK);
    EXPECT_EQ(model.encodes, 1U);
    const auto made = encoder();
    auto info = sized<kg_encoder_info>();
    ASSERT_EQ(kg_encoder_describe(made.get(), &info), KG_OK);
    EXPECT_EQ(info.channels, 16U);
    EXPECT_EQ(info.height, 2U);
    EXPECT_EQ(info.width, 3U);
    EXPECT_EQ(info.pictures_of_a_latent, 4U);
    EXPECT_GT(info.state_bytes, 0U);
    EXPECT_GT(info.encoder_bytes, info.state_bytes);

    const auto values = pictures_of(9);
    const auto wanted = encode(made.get(), view_of_pictures(values));
    ASSERT_EQ(wanted.size(), 3U);
    // [3, pictures, height, width]
    std::vector<float> planes(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) planes[i % 3 * (values.size() / 3) + i / 3] = values[i];
    kg_pictures other = view_of_pictures(planes);
    const std::int64_t pixels = kPictureHeight * kPictureWidth, strides[] = {pixels, kPictureWidth, 1, 9 * pixels};
    std::memcpy(other.strides, strides, sizeof(strides));
    ASSERT_EQ(kg_encoder_reset(made.get()), KG_OK);
    EXPECT_EQ(encode(made.get(), other), wanted);

    std::vector<std::uint8_t> bytes;
    std::vector<float> rounded;
    for (const float value : values) {
        bytes.push_back(static_cast<std::uint8_t>(std::lround(127.5F * (value + 1.0F))));
        rounded.push_back(static_cast<float>(bytes.back()) / 127.5F - 1.0F);
    }
    ASSERT_EQ(kg_encoder_reset(made.get()), KG_OK);
    const auto of_rounded = encode(made.get(), view_of_pictures(rounded));
    kg_pictures of_bytes = view_of_pictures(rounded);
    of_bytes.type = KG_PICTURE_UINT8;
    of_bytes.data = bytes.data();
    ASSERT_EQ(kg_encoder_reset(made.get()), KG_OK);
    EXPECT_EQ(encode(made.get(), of_bytes), of_rounded);
}

TEST_F(CEncoders, GiveMeansSamplesAndMomentsOfClipsAndOfOnePicture) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = pictures_of(2);
    const kg_pictures pictures = view_of_pictures(values);
    const auto clip = encoder();
    const auto first = encode(clip.get(), pictures, 1);
    auto desc = sized<kg_encoder_desc>();
    desc.one_picture = 1;
    const auto one = encoder(&desc);
    kg_pictures only = pictures;
    only.shape[0] = 1;
    EXPECT_EQ(encode(one.get(), only), first);
    EXPECT_SENTENCE(kg_encoder_push(one.get(), &only, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "a clip of this encoder is one picture");
    desc.encoded = KG_ENCODED_SAMPLE;
    desc.seed = 5;
    const auto sample = encode(encoder(&desc).get(), only);
    EXPECT_NE(sample, first);
    EXPECT_EQ(encode(encoder(&desc).get(), only), sample);
    desc.encoded = KG_ENCODED_MOMENTS;
    const auto moments = encoder(&desc);
    ASSERT_EQ(kg_encoder_push(moments.get(), &only, kLong, nullptr), KG_OK);
    std::vector<float> all(2 * kLatents);
    EXPECT_SENTENCE(kg_encoder_take(moments.get(), kLong, all.data(), kLatents, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "room for 96 values, a latent frame [32, 2, 3] has 192");
    ASSERT_EQ(kg_encoder_take(moments.get(), kLong, all.data(), all.size(), nullptr), KG_OK) << kg_last_error();
    EXPECT_TRUE(std::equal(first[0].begin(), first[0].end(), all.begin()));
    EXPECT_EQ(kg_encoder_take(moments.get(), 0, all.data(), all.size(), nullptr), KG_TIMEOUT);
}

TEST_F(CEncoders, RefuseWhatTheyCannotTakeInASentence) {
    ASSERT_NO_FATAL_FAILURE(open());
    kg_encoder* none = nullptr;
    EXPECT_SENTENCE(kg_encoder_create(model_.get(), 16, 20, nullptr, &none), KG_ERROR_INVALID_ARGUMENT,
                    "pictures of 20x16: each side must be a multiple of 8 pixels");
    auto desc = sized<kg_encoder_desc>();
    desc.encoded = 3;
    EXPECT_SENTENCE(kg_encoder_create(model_.get(), 16, 24, &desc, &none), KG_ERROR_INVALID_ARGUMENT,
                    "3 is no kg_encoded");
    EXPECT_EQ(none, nullptr);
    const auto made = encoder();
    const auto values = pictures_of(1);
    kg_pictures pictures = view_of_pictures(values);
    pictures.shape[3] = 4;
    EXPECT_SENTENCE(kg_encoder_push(made.get(), &pictures, 0, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "pictures are [1, 16, 24, 4], the encoder takes [pictures, 16, 24, 3]");
    pictures = view_of_pictures(values);
    pictures.type = 4;
    EXPECT_SENTENCE(kg_encoder_push(made.get(), &pictures, 0, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "4 is no kg_picture_type");
    pictures.type = KG_PICTURE_FLOAT32;
    pictures.strides[0] = 5;
    EXPECT_SENTENCE(kg_encoder_push(made.get(), &pictures, 0, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "pictures [1, 16, 24, 3] have the strides [5, 0, 0, 0], one value each: copy them");
    pictures.data = nullptr;
    EXPECT_SENTENCE(kg_encoder_push(made.get(), &pictures, 0, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "kg_pictures.data is NULL");
    EXPECT_SENTENCE(kg_encoder_push(reinterpret_cast<kg_encoder*>(model_.get()), &pictures, 0, nullptr),
                    KG_ERROR_INVALID_ARGUMENT, "kg_encoder");
    EXPECT_EQ(kg_encoder_cancel(made.get()), KG_OK);
    std::vector<float> latents(kLatents);
    EXPECT_EQ(kg_encoder_take(made.get(), kLong, latents.data(), latents.size(), nullptr), KG_ERROR_CANCELLED);
    EXPECT_EQ(kg_encoder_reset(made.get()), KG_OK);
    EXPECT_EQ(kg_encoder_take(made.get(), 0, latents.data(), latents.size(), nullptr), KG_TIMEOUT);
}

}  // namespace
}  // namespace kinetograph::c::testing
