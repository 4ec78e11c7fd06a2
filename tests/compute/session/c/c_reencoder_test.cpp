// Reencoders through kinetograph.h, on the CPU.
#include "c_fixture.hpp"

namespace kinetograph::c::testing {
namespace {

constexpr std::size_t kOfALatent = std::size_t{16} * kHeight * kWidth;       // values of a latent frame
constexpr std::size_t kFrame = std::size_t{3} * kFrameHeight * kFrameWidth;  // of a frame

/// Room for what a call makes of so many latent frames.
struct Room {
    explicit Room(std::size_t latent_frames)
        : latents(latent_frames * kOfALatent), pictures(latent_frames * 4 * kFrame) {
        made.latents = latents.data();
        made.latents_count = latents.size();
        made.pictures = pictures.data();
        made.pictures_count = pictures.size();
    }
    /// What was made.
    std::vector<float> taken() {
        latents.resize(made.latent_frames * kOfALatent);
        pictures.resize(made.frames * kFrame);
        return latents;
    }
    std::vector<float> latents, pictures;
    kg_reencoded made = sized<kg_reencoded>();
};

class CReencoders : public CTest {
  protected:
    Owned<kg_reencoder> reencoder(std::uint32_t frames = 1) {
        auto desc = sized<kg_reencoder_desc>();
        desc.frames = frames;
        kg_reencoder* made = nullptr;
        EXPECT_EQ(kg_reencoder_create(model_.get(), kHeight, kWidth, &desc, &made), KG_OK) << kg_last_error();
        return Owned<kg_reencoder>(made);
    }
    /// By a clip of floats and an encoder, [latent frames, 16, kHeight, kWidth].
    std::vector<float> in_two_steps(const std::vector<float>& values, std::vector<float>& frames) {
        const auto decoding = clip(KG_STORAGE_HOST, KG_FORMAT_RGB32F);
        for (const std::vector<std::uint8_t>& bytes : decode(decoding.get(), values)) {
            const auto at = frames.size();
            frames.resize(at + bytes.size() / sizeof(float));
            std::memcpy(frames.data() + at, bytes.data(), bytes.size());
        }
        kg_encoder* made = nullptr;
        EXPECT_EQ(kg_encoder_create(model_.get(), kFrameHeight, kFrameWidth, nullptr, &made), KG_OK);
        const Owned<kg_encoder> encoding(made);
        auto pictures = sized<kg_pictures>();
        pictures.type = KG_PICTURE_FLOAT32;
        pictures.data = frames.data();
        const std::int64_t shape[] = {static_cast<std::int64_t>(frames.size() / kFrame), kFrameHeight, kFrameWidth, 3};
        std::memcpy(pictures.shape, shape, sizeof(shape));
        EXPECT_EQ(kg_encoder_push(made, &pictures, kLong, nullptr), KG_OK) << kg_last_error();
        EXPECT_EQ(kg_encoder_finish(made, nullptr), KG_OK);
        std::vector<float> all, latents(kOfALatent);
        while (kg_encoder_take(made, kLong, latents.data(), latents.size(), nullptr) == KG_OK)
            all.insert(all.end(), latents.begin(), latents.end());
        return all;
    }
};

TEST_F(CReencoders, GiveWhatAClipOfFloatsAndAnEncoderGive) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(3);
    std::vector<float> frames;
    const auto wanted = in_two_steps(values, frames);
    ASSERT_EQ(wanted.size(), 3 * kOfALatent);
    const auto made = reencoder();
    const kg_latents latents = view_of(values);
    Room room(3);
    ASSERT_EQ(kg_reencode(made.get(), &latents, nullptr, &room.made), KG_OK) << kg_last_error();
    EXPECT_EQ(room.made.finite, static_cast<std::uint32_t>(KG_FINITE_YES));
    EXPECT_EQ(room.taken(), wanted);
    EXPECT_EQ(room.pictures, frames);
    Room rest(1);
    ASSERT_EQ(kg_reencoder_finish(made.get(), nullptr, &rest.made), KG_OK) << kg_last_error();
    EXPECT_EQ(rest.made.latent_frames, 0U);
    ASSERT_EQ(kg_reencoder_reset(made.get()), KG_OK) << kg_last_error();
    auto info = sized<kg_encoder_info>();
    ASSERT_EQ(kg_reencoder_describe(made.get(), &info), KG_OK);
    EXPECT_EQ(info.channels, 16U);
    EXPECT_GT(info.encoder_bytes, info.state_bytes);
    EXPECT_GT(info.state_bytes, 0U);
}

TEST_F(CReencoders, RefuseWhatDoesNotFitAndStayAsTheyWere) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = reencoder();
    const auto values = latents_of(2);
    kg_latents latents = view_of(values);
    Room room(2);
    const auto reencode = [&] { return kg_reencode(made.get(), &latents, nullptr, &room.made); };
    --room.made.latents_count;
    EXPECT_SENTENCE(reencode(), KG_ERROR_INVALID_ARGUMENT,
                    "room for 63 values of latents, 2 latent frames [16, 1, 2] have 64");
    ++room.made.latents_count;
    --room.made.pictures_count;
    EXPECT_SENTENCE(reencode(), KG_ERROR_INVALID_ARGUMENT,
                    "room for 3071 values of frames, up to 8 frames [8, 16, 3] have 3072");
    ++room.made.pictures_count;
    room.made.pictures = nullptr;
    EXPECT_SENTENCE(reencode(), KG_ERROR_INVALID_ARGUMENT, "kg_reencoded.pictures is NULL");
    room.made.pictures = room.pictures.data();
    latents.memory = KG_MEMORY_DEVICE;
    latents.ready.kind = KG_MOMENT_STREAM;
    EXPECT_SENTENCE(reencode(), KG_ERROR_UNSUPPORTED, "kg_reencode reads the host's memory");
    latents = view_of(values);
    ++latents.shape[3];
    EXPECT_SENTENCE(reencode(), KG_ERROR_INVALID_ARGUMENT, "the clip takes [16, frames, 1, 2]");
    latents = view_of(values);
    EXPECT_EQ(reencode(), KG_OK) << kg_last_error();
    EXPECT_EQ(room.made.latent_frames, 2U);
    auto desc = sized<kg_reencoder_desc>();
    desc.frames = 2;
    kg_reencoder* refused = nullptr;
    EXPECT_SENTENCE(kg_reencoder_create(model_.get(), kHeight, kWidth, &desc, &refused), KG_ERROR_INVALID_ARGUMENT,
                    "kg_reencoder_desc.frames is 2, wanted 0 or 1");
    EXPECT_SENTENCE(kg_reencoder_create(model_.get(), 0, kWidth, nullptr, &refused), KG_ERROR_INVALID_ARGUMENT, "0");
}

TEST_F(CReencoders, EndTheClipWhereAStopEndsTheCall) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = reencoder(0);
    const auto values = latents_of(2);
    const kg_latents latents = view_of(values);
    kg_stop* stop = nullptr;
    ASSERT_EQ(kg_stop_create(instance_.get(), 0, &stop), KG_OK);
    const Owned<kg_stop> owned(stop);
    Room room(2);
    EXPECT_EQ(kg_reencode(made.get(), &latents, stop, &room.made), KG_ERROR_CANCELLED);
    EXPECT_EQ(kg_reencode(made.get(), &latents, nullptr, &room.made), KG_ERROR_CANCELLED);
    ASSERT_EQ(kg_reencoder_reset(made.get()), KG_OK);
    EXPECT_EQ(kg_reencode(made.get(), &latents, nullptr, &room.made), KG_OK) << kg_last_error();
    EXPECT_EQ(room.made.frames, 0U);
}

}  // namespace
}  // namespace kinetograph::c::testing
