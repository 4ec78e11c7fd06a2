// What calls of kinetograph.h answer arguments with that make no sense, before anything is done.
#include "c_fixture.hpp"

#include <limits>

namespace kinetograph::c::testing {
namespace {

using CArguments = CTest;

TEST_F(CArguments, SaysWhatIsMissing) {
    kg_weights* weights = nullptr;
    EXPECT_SENTENCE(kg_weights_open(instance_.get(), "/nowhere/vae.safetensors", &weights), KG_ERROR_NOT_FOUND,
                    "/nowhere/vae.safetensors");
    EXPECT_SENTENCE(kg_weights_open(nullptr, kWeights, &weights), KG_ERROR_INVALID_ARGUMENT, "the handle is NULL");
    EXPECT_SENTENCE(kg_weights_open(instance_.get(), nullptr, &weights), KG_ERROR_INVALID_ARGUMENT, "path is NULL");
    ASSERT_NO_FATAL_FAILURE(open());
    auto desc = sized<kg_model_desc>();
    kg_model* model = nullptr;
    desc.device = "gpu";
    EXPECT_SENTENCE(kg_model_create(weights_.get(), &desc, &model), KG_ERROR_INVALID_ARGUMENT,
                    "lane gpu: there are cpu, cuda");
    desc.device = "cpu";
    desc.precision = 9;
    EXPECT_SENTENCE(kg_model_create(weights_.get(), &desc, &model), KG_ERROR_INVALID_ARGUMENT, "9 is no kg_precision");
    desc.precision = KG_PRECISION_FP8;
    EXPECT_SENTENCE(kg_model_create(weights_.get(), &desc, &model), KG_ERROR_UNSUPPORTED, "no lane decodes in it");
    kg_clip* made = nullptr;
    auto clip_desc = sized<kg_clip_desc>();
    clip_desc.storage = KG_STORAGE_IMAGE;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &clip_desc, &made), KG_ERROR_UNSUPPORTED,
                    "opened without Vulkan");
    clip_desc.format = KG_FORMAT_NV12;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &clip_desc, &made), KG_ERROR_INVALID_ARGUMENT,
                    "frames as images are RGBA8, not NV12");
    EXPECT_SENTENCE(kg_clip_create(model_.get(), 0, kWidth, nullptr, &made), KG_ERROR_INVALID_ARGUMENT, "0");
    kg_memory* memory = nullptr;
    EXPECT_SENTENCE(kg_memory_import(model_.get(), 0, 4096, 0, &memory), KG_ERROR_UNSUPPORTED, "");
}

TEST_F(CArguments, RefusesLatentsThatDoNotFitAndGoesOn) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    auto values = latents_of(1);
    const auto wanted = decode(clip().get(), values);
    kg_latents latents = view_of(values);
    const auto refuses = [&](const char* sentence) {
        EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT, sentence);
        latents = view_of(values);
    };
    latents.shape[0] = 48;
    refuses("latents has 48 latent channels");
    latents.shape[3] = 3;
    refuses("latents are [16, 1, 1, 3], the clip takes [16, frames, 1, 2]");
    latents.shape[1] = 0;
    refuses("latents are [16, 0, 1, 2]");
    latents.dtype = 3;
    refuses("3 is no kg_dtype");
    latents.data = nullptr;
    refuses("kg_latents.data is NULL");
    latents.memory = KG_MEMORY_DEVICE;
    latents.strides[0] = latents.strides[3] = 2;
    refuses("each [height, width] is contiguous");
    latents.strides[0] = 2;  // one value for both columns
    latents.strides[1] = latents.strides[2] = 1;
    refuses("latents [16, 1, 1, 2] have the strides [2, 1, 1, 0], and an extent above 1 has one above 0");
    latents.strides[1] = latents.strides[2] = latents.strides[3] = 1;  // and for all channels
    refuses("broadcast or reversed are copied first");
    latents.strides[0] = 2;
    latents.strides[1] = latents.strides[2] = 2;
    latents.strides[3] = -1;  // from right to left
    refuses("have the strides [2, 2, 2, -1], and an extent above 1 has one above 0");
    latents.memory = KG_MEMORY_DEVICE;
    latents.ready.kind = KG_MOMENT_STREAM;
    refuses("has no streams of a caller's");
    latents.memory = KG_MEMORY_DEVICE;
    latents.ready.kind = KG_MOMENT_SEMAPHORE;
    refuses("the model has no Vulkan device");
    values[3] = std::numeric_limits<float>::quiet_NaN();
    refuses("latent frame 0: value nan at channel 1, pixel 1 is not finite");
    values = latents_of(1);
    EXPECT_EQ(decode(made.get(), values), wanted);
}

TEST_F(CArguments, StridesThatLeaveTheMemoryAreRefused) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    const auto values = latents_of(3);
    const kg_latents all = view_of(values);
    constexpr std::uint64_t kBytes = 16 * 3 * kHeight * kWidth * sizeof(float);
    kg_latents latents = all;
    std::uint32_t pushed = 7;
    const auto refuses = [&](const char* sentence) {
        EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, &pushed), KG_ERROR_INVALID_ARGUMENT, sentence);
        EXPECT_EQ(pushed, 0U);
        latents = all;
    };
    latents.bytes = kBytes - 1;
    refuses(
        "latents [16, 3, 1, 2] with the strides [6, 2, 2, 1] end 384 bytes after kg_latents.data, and "
        "kg_latents.bytes is 383");
    const auto stride = [&](std::size_t axis, std::int64_t elements) {
        const std::int64_t contiguous[] = {6, 2, 2, 1};
        std::memcpy(latents.strides, contiguous, sizeof(contiguous));
        latents.strides[axis] = elements;
    };
    stride(0, 7);
    latents.bytes = kBytes;
    refuses("end 444 bytes after kg_latents.data, and kg_latents.bytes is 384");
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    for (const std::size_t axis : {0U, 1U, 3U}) {
        stride(axis, kMost);
        refuses("end beyond the last address");
        stride(axis, kMost / 4);
        latents.bytes = kBytes;
        refuses("end beyond the last address");
        stride(axis, std::numeric_limits<std::int64_t>::min());
        refuses("an extent above 1 has one above 0");
    }
    latents.shape[1] = kMost;
    refuses("latents are [16, 9223372036854775807, 1, 2], the clip takes [16, frames, 1, 2]");
    latents.shape[1] = std::int64_t{1} << 32;
    refuses("latents are [16, 4294967296, 1, 2]");
    latents.shape[1] = (std::int64_t{1} << 32) - 1;
    latents.bytes = kBytes;
    refuses("and kg_latents.bytes is 384");

    latents.bytes = kBytes;
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, &pushed), KG_OK) << kg_last_error();
    EXPECT_EQ(pushed, 3U);
}

TEST_F(CArguments, TheStrideOfAnExtentOfOneMayBeAnything) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(1);
    const auto wanted = decode(clip().get(), values);
    const auto made = clip();
    kg_latents latents = view_of(values);
    const std::int64_t strides[] = {2, std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max(), 1};
    std::memcpy(latents.strides, strides, sizeof(strides));
    latents.bytes = values.size() * sizeof(float);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
    EXPECT_EQ(bytes_of(frame), wanted[0]);
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
}

TEST_F(CArguments, LatentsOfTheHostAreThereBeforeTheCall) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    const auto values = latents_of(1);
    for (const std::uint32_t kind : {1U, 2U, 9U}) {
        kg_latents latents = view_of(values);
        latents.ready.kind = kind;
        EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                        "kg_latents.ready.kind is " + std::to_string(kind));
    }
}

TEST_F(CArguments, AddressesOfADeviceAreAligned) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    const auto values = latents_of(2);
    kg_latents latents = view_of(values);
    latents.shape[1] = 1;
    latents.memory = KG_MEMORY_DEVICE;
    latents.data = reinterpret_cast<const std::byte*>(values.data()) + 2;
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "kg_latents.data is no address of 4-byte numbers");
    latents.memory = KG_MEMORY_HOST;
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
}

TEST_F(CArguments, ChoicesOfAModelAndOfItsWeightsAreThoseOfTheHeader) {
    ASSERT_NO_FATAL_FAILURE(open());
    kg_model* model = nullptr;
    const auto refuses = [&](auto member, std::uint32_t value, kg_result result, const char* sentence) {
        auto desc = sized<kg_model_desc>();
        desc.device = "cpu";
        desc.*member = value;
        EXPECT_SENTENCE(kg_model_create(weights_.get(), &desc, &model), result, sentence);
        EXPECT_EQ(model, nullptr);
    };
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    refuses(&kg_model_desc::precision, kMost, KG_ERROR_INVALID_ARGUMENT, "4294967295 is no kg_precision");
    refuses(&kg_model_desc::sums, 3, KG_ERROR_INVALID_ARGUMENT, "3 is no kg_sums");
    refuses(&kg_model_desc::latent_scale, 3, KG_ERROR_INVALID_ARGUMENT, "3 is no kg_latent_scale");
    refuses(&kg_model_desc::unclamped, 2, KG_ERROR_INVALID_ARGUMENT, "kg_model_desc.unclamped is 2, wanted 0 or 1");
    refuses(&kg_model_desc::unused, 1, KG_ERROR_INVALID_ARGUMENT, "kg_model_desc.unused is 1, wanted 0");

    kg_memory* memory = nullptr;
    EXPECT_SENTENCE(kg_memory_import(model_.get(), 0, 4096, 2, &memory), KG_ERROR_INVALID_ARGUMENT,
                    "dedicated is 2, wanted 0 or 1");
    EXPECT_SENTENCE(kg_memory_import(model_.get(), -1, 4096, 0, &memory), KG_ERROR_INVALID_ARGUMENT,
                    "memory of 4096 bytes by the descriptor -1");
    EXPECT_SENTENCE(kg_memory_import(model_.get(), 0, 0, 0, &memory), KG_ERROR_INVALID_ARGUMENT, "memory of 0 bytes");

    kg_weights* weights = nullptr;
    auto desc = sized<kg_weights_desc>();
    desc.path = kWeights;
    desc.bytes = 8;
    EXPECT_SENTENCE(kg_weights_create(instance_.get(), &desc, &weights), KG_ERROR_INVALID_ARGUMENT,
                    "contents is NULL, of 8 bytes");
    desc.bytes = 0;
    desc.unused = 1;
    EXPECT_SENTENCE(kg_weights_create(instance_.get(), &desc, &weights), KG_ERROR_INVALID_ARGUMENT,
                    "kg_weights_desc.unused is 1");
    desc.unused = 0;
    desc.path = "";
    EXPECT_SENTENCE(kg_weights_create(instance_.get(), &desc, &weights), KG_ERROR_NOT_FOUND, "");
    EXPECT_EQ(weights, nullptr);
}

TEST_F(CArguments, ChoicesOfAClipAreThoseOfTheHeader) {
    ASSERT_NO_FATAL_FAILURE(open());
    kg_clip* made = nullptr;
    const auto refuses = [&](auto member, auto value, const char* sentence) {
        auto desc = sized<kg_clip_desc>();
        desc.*member = value;
        EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_ERROR_INVALID_ARGUMENT,
                        sentence);
        EXPECT_SENTENCE(kg_clip_open(model_.get(), "/nowhere", &desc, &made), KG_ERROR_INVALID_ARGUMENT, sentence);
        EXPECT_EQ(made, nullptr);
    };
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    refuses(&kg_clip_desc::storage, 3U, "3 is no kg_storage");
    refuses(&kg_clip_desc::format, kMost, "4294967295 is no kg_format");
    refuses(&kg_clip_desc::slots, kMost, "4294967295 slots: there are up to 65536");
    refuses(&kg_clip_desc::loop, 2U, "kg_clip_desc.loop is 2, wanted 0 or 1");
    for (const double fps : {-1.0, 1e-300, 0.009, 1000.1, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()})
        refuses(&kg_clip_desc::fps, fps, "frames a second: wanted 0.01 to 1000");
    for (const std::uint32_t side : {0U, 1025U, kMost}) {
        EXPECT_SENTENCE(kg_clip_create(model_.get(), side, kWidth, nullptr, &made), KG_ERROR_INVALID_ARGUMENT,
                        "each side must be 1 to 1024 latent pixels");
        EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, side, nullptr, &made), KG_ERROR_INVALID_ARGUMENT,
                        "each side must be 1 to 1024 latent pixels");
    }
}

TEST_F(CArguments, MomentsAreOfTheHeadersKinds) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip();
    const auto values = latents_of(1);
    const kg_latents latents = view_of(values);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
    kg_moment done{};
    done.kind = KG_MOMENT_STREAM + 1;
    EXPECT_SENTENCE(kg_clip_release(made.get(), frame.id, &done), KG_ERROR_INVALID_ARGUMENT, "3 is no kg_moment_kind");
    done.kind = KG_MOMENT_PAST;
    done.unused = 1;
    EXPECT_SENTENCE(kg_clip_release(made.get(), frame.id, &done), KG_ERROR_INVALID_ARGUMENT, "kg_moment.unused is 1");
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK) << kg_last_error();
}

TEST_F(CArguments, NamesThatAreNoTextStayReadableInTheSentence) {
    ASSERT_NO_FATAL_FAILURE(open());
    const char* const garbage = "a\x1b[31m\n\x7f\xff";
    kg_weights* weights = nullptr;
    auto weights_desc = sized<kg_weights_desc>();
    weights_desc.path = KINETOGRAPH_ASSETS "/demo_tiny.safetensors";
    const auto is_readable = [](const char* what) {
        const std::string sentence = kg_last_error();
        EXPECT_NE(sentence.find("a\\x1b[31m"), std::string::npos) << what << ": " << sentence;
        for (const char c : sentence) EXPECT_FALSE(c > 0 && c < ' ') << what << ": " << sentence;
    };
    weights_desc.family = garbage;
    EXPECT_LT(kg_weights_create(instance_.get(), &weights_desc, &weights), KG_OK);
    is_readable("family");
    weights_desc.family = nullptr;
    weights_desc.statistics = garbage;
    EXPECT_LT(kg_weights_create(instance_.get(), &weights_desc, &weights), KG_OK);
    is_readable("statistics");
    EXPECT_LT(kg_weights_open(instance_.get(), garbage, &weights), KG_OK);
    is_readable("path");
    auto model_desc = sized<kg_model_desc>();
    model_desc.device = garbage;
    kg_model* model = nullptr;
    EXPECT_LT(kg_model_create(weights_.get(), &model_desc, &model), KG_OK);
    is_readable("device");
    const std::string path = latents_file(latents_of(2));
    auto clip_desc = sized<kg_clip_desc>();
    clip_desc.tensor = garbage;
    kg_clip* made = nullptr;
    EXPECT_LT(kg_clip_open(model_.get(), path.c_str(), &clip_desc, &made), KG_OK);
    is_readable("tensor");
    EXPECT_EQ(std::remove(path.c_str()), 0);
}

}  // namespace
}  // namespace kinetograph::c::testing
