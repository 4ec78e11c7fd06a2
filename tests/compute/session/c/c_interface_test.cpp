// kinetograph.h on the CPU: what comes out.
#include "c_fixture.hpp"

#include <array>

namespace kinetograph::c::testing {
namespace {

using CInterface = CTest;

TEST_F(CInterface, ListsTheCpuAndWhyOtherDevicesAreMissing) {
    struct Found {
        std::string name, product, situation;
        bool available = false;
    };
    std::vector<Found> all;
    ASSERT_EQ(kg_list_devices(
                  instance_.get(),
                  [](void* user, const kg_device_info* device) {
                      EXPECT_EQ(device->size, sizeof(kg_device_info));
                      static_cast<std::vector<Found>*>(user)->push_back(
                          {device->name, device->product, device->situation, device->available != 0});
                  },
                  &all),
              KG_OK);
    ASSERT_GE(all.size(), 3U);
    EXPECT_EQ(all[0].name, "cpu:0");
    EXPECT_TRUE(all[0].available);
    EXPECT_NE(all[0].product, "");
    for (const Found& found : all) EXPECT_NE(found.situation, "") << found.name;
}

TEST_F(CInterface, DescribesWeightsModelAndClip) {
    ASSERT_NO_FATAL_FAILURE(open());
    auto weights = sized<kg_weights_info>();
    ASSERT_EQ(kg_weights_describe(weights_.get(), &weights), KG_OK);
    EXPECT_STREQ(weights.name, kWeights);
    EXPECT_STREQ(weights.family, "wan2.1");
    EXPECT_EQ(weights.channels, 16U);
    EXPECT_EQ(weights.latents_std[15], 1.0F);
    auto model = sized<kg_model_info>();
    ASSERT_EQ(kg_model_describe(model_.get(), &model), KG_OK);
    EXPECT_STREQ(model.device_kind, "cpu");
    EXPECT_EQ(model.spatial_scale, 8U);
    EXPECT_EQ(model.frames_of_a_step, 4U);
    EXPECT_EQ(std::string(model.description).rfind("synthetic:wan2.1,dim=2 · fp32 · ", 0), 0U) << model.description;
    EXPECT_EQ(log_, std::vector<std::string>{"opened " + std::string(model.description)});
    const auto made = clip();
    auto info = sized<kg_clip_info>();
    ASSERT_EQ(kg_clip_describe(made.get(), &info), KG_OK);
    EXPECT_EQ(info.width, kFrameWidth);
    EXPECT_EQ(info.height, kFrameHeight);
    EXPECT_EQ(info.slots, 12U);
    EXPECT_EQ(info.unmoved_ns, 0);
    EXPECT_EQ(info.frames, 0);
    EXPECT_EQ(info.fps, 25.0);
    EXPECT_GT(info.state_bytes, 0U);
    EXPECT_GT(info.clip_bytes, info.state_bytes);
    EXPECT_GE(info.device_bytes, info.state_bytes);
}

TEST_F(CInterface, CountsStepsAndFrames) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    const auto values = latents_of(2);
    const kg_latents latents = view_of(values);
    std::uint32_t pushed = 0;
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, &pushed), KG_OK) << kg_last_error();
    EXPECT_EQ(pushed, 2U);
    auto frame = sized<kg_frame>();
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK);
        EXPECT_EQ(frame.index, i);
        EXPECT_EQ(frame.presentation_ns, i * 40'000'000);
        EXPECT_EQ(frame.finite, 1U);
        EXPECT_EQ(frame.row_bytes[0], kFrameWidth * 4);
        auto info = sized<kg_clip_info>();
        ASSERT_EQ(kg_clip_describe(made.get(), &info), KG_OK);
        EXPECT_EQ(info.frames_acquired, 1U);
        EXPECT_EQ(info.frames_waiting, 4U - i);
        EXPECT_EQ(info.steps, 2U);
        ASSERT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    }
    EXPECT_EQ(kg_clip_acquire(made.get(), 0, 0, &frame), KG_TIMEOUT);
}

TEST_F(CInterface, HalvesBfloatsAndAnyStridesAreTheSameLatents) {
    ASSERT_NO_FATAL_FAILURE(open());
    std::vector<float> values(16 * kHeight * kWidth);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.25F * static_cast<float>(i % 7) - 0.5F;
    const auto wanted = decode(clip().get(), values);
    std::vector<std::uint16_t> halves, bfloats;
    for (const float value : values) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        bfloats.push_back(static_cast<std::uint16_t>(bits >> 16));
        const std::uint32_t exponent = (bits >> 23) & 0xFF;
        halves.push_back(value == 0.0F ? 0
                                       : static_cast<std::uint16_t>((bits >> 31) << 15 | (exponent - 112) << 10 |
                                                                    ((bits >> 13) & 0x3FF)));
    }
    std::vector<float> channels_last(values.size());
    for (std::size_t c = 0; c < 16; ++c)
        for (std::size_t x = 0; x < kWidth; ++x) channels_last[x * 16 + c] = values[c * kWidth + x];
    kg_latents latents = view_of(values);
    const auto frame_of = [&] {
        const auto made = clip();
        EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
        auto frame = sized<kg_frame>();
        EXPECT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
        auto bytes = bytes_of(frame);
        EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
        return bytes;
    };
    latents.dtype = KG_FLOAT16;
    latents.data = halves.data();
    EXPECT_EQ(frame_of(), wanted[0]);
    latents.dtype = KG_BFLOAT16;
    latents.data = bfloats.data();
    EXPECT_EQ(frame_of(), wanted[0]);
    latents.dtype = KG_FLOAT32;
    latents.data = channels_last.data();
    latents.strides[0] = 1;
    latents.strides[1] = latents.strides[2] = 16 * kWidth;
    latents.strides[3] = 16;
    EXPECT_EQ(frame_of(), wanted[0]);
}

TEST_F(CInterface, EveryFormatShowsTheSamePixels) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(1);
    const auto rgba = decode(clip().get(), values)[0];
    const auto floats = decode(clip(KG_STORAGE_HOST, KG_FORMAT_RGB32F).get(), values)[0];
    const auto halves = decode(clip(KG_STORAGE_HOST, KG_FORMAT_RGBA16F).get(), values)[0];
    const auto packed = decode(clip(KG_STORAGE_HOST, KG_FORMAT_RGB16F).get(), values)[0];
    const auto nv12 = decode(clip(KG_STORAGE_HOST, KG_FORMAT_NV12).get(), values)[0];
    const auto p010 = decode(clip(KG_STORAGE_HOST, KG_FORMAT_P010).get(), values)[0];
    constexpr std::size_t kPixels = kFrameWidth * kFrameHeight;
    ASSERT_EQ(floats.size(), kPixels * 12);
    ASSERT_EQ(halves.size(), kPixels * 8);
    ASSERT_EQ(packed.size(), kPixels * 6);
    ASSERT_EQ(nv12.size(), kPixels * 3 / 2);
    ASSERT_EQ(p010.size(), kPixels * 3);
    for (std::size_t i = 0; i < kPixels; ++i) {
        std::array<float, 3> rgb{};
        std::memcpy(rgb.data(), floats.data() + 12 * i, sizeof(rgb));
        float luma = 16.0F;
        constexpr std::array kWeightsOfLuma{0.2126F, 0.7152F, 0.0722F};
        for (std::size_t c = 0; c < 3; ++c) {
            EXPECT_NEAR(rgba[4 * i + c], (rgb[c] + 1.0F) * 127.5F, 0.501F);
            EXPECT_NEAR(half_at(packed, 3 * i + c), rgb[c], 0x1p-12F);  // an ulp below 1 is 2^-11
            luma += 219.0F * kWeightsOfLuma[c] * (rgb[c] + 1.0F) / 2.0F;
        }
        EXPECT_NEAR(nv12[i], luma, 0.51F);
        EXPECT_NEAR((p010[2 * i] | p010[2 * i + 1] << 8) / 256.0, luma, 0.13);
        EXPECT_EQ(halves[8 * i + 7] << 8 | halves[8 * i + 6], 0x3C00);  // alpha is 1
    }
}

TEST_F(CInterface, DecodesALatentsFileToItsEnd) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(2);
    const std::string path = latents_file(values);
    kg_clip* opened = nullptr;
    ASSERT_EQ(kg_clip_open(model_.get(), path.c_str(), nullptr, &opened), KG_OK) << kg_last_error();
    const Owned<kg_clip> file(opened);
    ASSERT_EQ(std::remove(path.c_str()), 0);
    const auto wanted = decode(clip().get(), values);
    auto frame = sized<kg_frame>();
    std::size_t index = 0;
    for (kg_result result = KG_OK; (result = kg_clip_acquire(opened, 0, kLong, &frame)) != KG_END;) {
        ASSERT_EQ(result, KG_OK) << kg_last_error();
        EXPECT_EQ(bytes_of(frame), wanted.at(index++));
        ASSERT_EQ(kg_clip_release(opened, frame.id, nullptr), KG_OK);
    }
    EXPECT_EQ(index, wanted.size());
    const kg_latents latents = view_of(values);
    EXPECT_SENTENCE(kg_clip_push(opened, &latents, 0, nullptr), KG_ERROR_INVALID_ARGUMENT, "the clip is a file's");
}

TEST_F(CInterface, OpensWeightsOfAFamilyWithStatisticsThatAreChosen) {
    auto desc = sized<kg_weights_desc>();
    desc.path = kWeights;
    desc.statistics = "wan2.1";
    kg_weights* opened = nullptr;
    ASSERT_EQ(kg_weights_create(instance_.get(), &desc, &opened), KG_OK) << kg_last_error();
    const Owned<kg_weights> weights(opened);
    auto info = sized<kg_weights_info>();
    ASSERT_EQ(kg_weights_describe(opened, &info), KG_OK);
    EXPECT_EQ(info.latents_std[0], 2.8184F);
    desc.statistics = "wan2.2";
    EXPECT_SENTENCE(kg_weights_create(instance_.get(), &desc, &opened), KG_ERROR_INVALID_ARGUMENT,
                    "statistics wan2.2: of 48 latent channels, the decoder has 16");
    desc = sized<kg_weights_desc>();
    EXPECT_SENTENCE(kg_weights_create(instance_.get(), &desc, &opened), KG_ERROR_INVALID_ARGUMENT, "path is NULL");
    desc.path = KINETOGRAPH_ASSETS "/demo_tiny.safetensors";
    desc.family = "wan2.1";
    EXPECT_SENTENCE(kg_weights_create(instance_.get(), &desc, &opened), KG_ERROR_NOT_FOUND, "no tensor of any decoder");
}

TEST_F(CInterface, OpensATensorOfABatchAtARateAndSaysWhatItAssumed) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(2);
    const std::string path = ::testing::TempDir() + "c_batch_" + std::to_string(::getpid()) + ".safetensors";
    std::string header = R"({"other":{"dtype":"F32","shape":[1,2,16,1,2],"data_offsets":[0,256]},)"
                         R"("mine":{"dtype":"F32","shape":[2,1,16,1,2],"data_offsets":[0,256]}})";
    header.replace(header.rfind("[0,256]"), 7, "[256,512]");
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::uint64_t bytes = header.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (int i = 0; i < 2; ++i) file.write(reinterpret_cast<const char*>(values.data()), 256);
    file.close();
    auto desc = sized<kg_clip_desc>();
    kg_clip* opened = nullptr;
    EXPECT_SENTENCE(kg_clip_open(model_.get(), path.c_str(), &desc, &opened), KG_ERROR_INVALID_ARGUMENT,
                    "several tensors could be the latents");
    desc.tensor = "mine";
    EXPECT_SENTENCE(kg_clip_open(model_.get(), path.c_str(), &desc, &opened), KG_ERROR_INVALID_ARGUMENT,
                    "are a batch of 2");
    desc.batch_item = 3;
    EXPECT_SENTENCE(kg_clip_open(model_.get(), path.c_str(), &desc, &opened), KG_ERROR_INVALID_ARGUMENT,
                    "batch item 2: latents [2, 1, 16, 1, 2] are a batch of 2");
    desc.batch_item = 2;
    desc.axes = "BhwCT";
    EXPECT_SENTENCE(kg_clip_open(model_.get(), path.c_str(), &desc, &opened), KG_ERROR_INVALID_ARGUMENT,
                    "[B, h, w, C, T]");
    desc.axes = nullptr;
    desc.fps = 30;
    log_.clear();
    ASSERT_EQ(kg_clip_open(model_.get(), path.c_str(), &desc, &opened), KG_OK) << kg_last_error();
    const Owned<kg_clip> clip(opened);
    EXPECT_EQ(std::remove(path.c_str()), 0);
    auto info = sized<kg_clip_info>();
    ASSERT_EQ(kg_clip_describe(opened, &info), KG_OK);
    EXPECT_EQ(info.frames, 1);
    EXPECT_EQ(info.fps, 30.0);
    ASSERT_FALSE(log_.empty());
    EXPECT_NE(log_.front().find("are read as [B, T, C, h, w], by the 16 channels"), std::string::npos) << log_.front();
}

TEST_F(CInterface, HasTheRateOfTheFamilysVideosWhereNothingSaysOtherwise) {
    ASSERT_NO_FATAL_FAILURE(open());
    auto desc = sized<kg_clip_desc>();
    kg_clip* made = nullptr;
    ASSERT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_OK) << kg_last_error();
    const Owned<kg_clip> clip(made);
    auto info = sized<kg_clip_info>();
    ASSERT_EQ(kg_clip_describe(made, &info), KG_OK);
    EXPECT_EQ(info.fps, 16.0);
}

TEST_F(CInterface, StructuresOfOtherVersionsAreTaken) {
    struct Newer {
        kg_clip_desc known;
        std::uint64_t more;
    };
    ASSERT_NO_FATAL_FAILURE(open());
    Newer newer{};
    newer.known.size = sizeof(newer);
    newer.known.slots = 7;
    kg_clip* made = nullptr;
    ASSERT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &newer.known, &made), KG_OK) << kg_last_error();
    struct NewerInfo {
        kg_clip_info known;
        std::uint64_t more;
    } info{};
    std::memset(&info, 0xFF, sizeof(info));
    info.known.size = sizeof(info);
    EXPECT_EQ(kg_clip_describe(made, &info.known), KG_OK);
    EXPECT_EQ(info.known.slots, 7U);
    EXPECT_EQ(info.known.size, sizeof(info));
    EXPECT_EQ(info.more, 0U);
    kg_clip_info older;
    std::memset(&older, 0xFF, sizeof(older));
    older.size = 16;  // to height
    EXPECT_EQ(kg_clip_describe(made, &older), KG_OK);
    EXPECT_EQ(older.height, kFrameHeight);
    EXPECT_EQ(older.frames_of_a_step, 0xFFFFFFFFU);
    EXPECT_EQ(kg_clip_destroy(made), KG_OK);
    newer.more = 1;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &newer.known, &made), KG_ERROR_UNSUPPORTED,
                    "it is older than the header");
    newer.known.size = 0;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &newer.known, &made), KG_ERROR_INVALID_ARGUMENT,
                    "kg_clip_desc.size is 0");
}

TEST_F(CInterface, ANewerHeaderIsRefusedByVersion) {
    auto desc = sized<kg_instance_desc>();
    desc.header_version = KG_VERSION + 1;
    kg_instance* made = nullptr;
    EXPECT_SENTENCE(kg_instance_create(&desc, &made), KG_ERROR_UNSUPPORTED, "the library of version");
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(kg_version(), KG_VERSION);
}

}  // namespace
}  // namespace kinetograph::c::testing
