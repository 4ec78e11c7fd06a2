// What tests of kinetograph.h share. They link libkinetograph.so alone, as an application does.
#pragma once

#include <kinetograph.h>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kinetograph::c::testing {

constexpr const char* kWeights = "synthetic:wan2.1,dim=2";
constexpr std::uint32_t kHeight = 1, kWidth = 2;  // latent pixels
constexpr std::uint32_t kFrameHeight = 8, kFrameWidth = 16;
constexpr std::uint64_t kLong = 60'000'000'000;

/// Expects `result` to be `code` and kg_last_error() to contain `part`.
#define EXPECT_SENTENCE(result, code, part)                                           \
    do {                                                                              \
        EXPECT_EQ(result, code);                                                      \
        EXPECT_NE(std::string(kg_last_error()).find(part), std::string::npos)         \
            << "\"" << kg_last_error() << "\" does not contain \"" << (part) << "\""; \
    } while (false)

template <class Struct>
Struct sized() {
    Struct made{};
    made.size = sizeof(Struct);
    return made;
}

struct Destroy {
    void operator()(kg_instance* handle) const { kg_instance_destroy(handle); }
    void operator()(kg_vulkan* handle) const { kg_vulkan_destroy(handle); }
    void operator()(kg_weights* handle) const { kg_weights_destroy(handle); }
    void operator()(kg_model* handle) const { kg_model_destroy(handle); }
    void operator()(kg_stop* handle) const { kg_stop_destroy(handle); }
    void operator()(kg_memory* handle) const { kg_memory_destroy(handle); }
    void operator()(kg_state* handle) const { kg_state_destroy(handle); }
    void operator()(kg_encoder* handle) const { EXPECT_EQ(kg_encoder_destroy(handle), KG_OK) << kg_last_error(); }
    void operator()(kg_reencoder* handle) const { EXPECT_EQ(kg_reencoder_destroy(handle), KG_OK) << kg_last_error(); }
    void operator()(kg_clip* handle) const { EXPECT_EQ(kg_clip_destroy(handle), KG_OK) << kg_last_error(); }
};
template <class Handle>
using Owned = std::unique_ptr<Handle, Destroy>;

/// Latent frames [16, frames, kHeight, kWidth], no two alike.
inline std::vector<float> latents_of(std::int64_t frames) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < 16 * frames * kHeight * kWidth; ++i)
        values.push_back(3.0F * std::sin(0.7F * static_cast<float>(i)));
    return values;
}

inline kg_latents view_of(const std::vector<float>& values) {
    auto latents = sized<kg_latents>();
    latents.data = values.data();
    const auto frames = static_cast<std::int64_t>(values.size() / (16 * kHeight * kWidth));
    const std::int64_t shape[] = {16, frames, kHeight, kWidth};
    std::memcpy(latents.shape, shape, sizeof(shape));
    return latents;
}

/// Writes a file of two latent frames; returns its path.
inline std::string latents_file(const std::vector<float>& values) {
    const std::string path = ::testing::TempDir() + "c_interface_" + std::to_string(::getpid()) + ".safetensors";
    std::string header = R"({"latents":{"dtype":"F32","shape":[16,2,1,2],"data_offsets":[0,256]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::uint64_t bytes = header.size();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(&bytes), sizeof(bytes))
        .write(header.data(), static_cast<std::streamsize>(header.size()))
        .write(reinterpret_cast<const char*>(values.data()), 256);
    return path;
}

/// The float16 number at `index` of `bytes`; subnormal ones read as 0.
inline float half_at(const std::vector<std::uint8_t>& bytes, std::size_t index) {
    const unsigned bits = bytes[2 * index] | static_cast<unsigned>(bytes[2 * index + 1]) << 8U;
    const int exponent = static_cast<int>(bits >> 10U & 31U);
    const float magnitude =
        exponent == 0 ? 0.0F : std::ldexp(static_cast<float>(1024U + (bits & 1023U)), exponent - 25);
    return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

class CTest : public ::testing::Test {
  protected:
    void SetUp() override {
        auto desc = sized<kg_instance_desc>();
        desc.header_version = KG_VERSION;
        desc.log = [](void* user, std::uint32_t level, const char* message) {
            auto* const test = static_cast<CTest*>(user);
            const std::lock_guard lock(test->log_mutex_);
            test->log_.emplace_back(level == KG_LOG_INFO ? message : "! " + std::string(message));
        };
        desc.log_user = this;
        kg_instance* instance = nullptr;
        ASSERT_EQ(kg_instance_create(&desc, &instance), KG_OK) << kg_last_error();
        instance_.reset(instance);
    }
    void open(const char* device = "cpu", kg_vulkan* vulkan = nullptr) {
        kg_weights* weights = nullptr;
        ASSERT_EQ(kg_weights_open(instance_.get(), kWeights, &weights), KG_OK) << kg_last_error();
        weights_.reset(weights);
        auto desc = sized<kg_model_desc>();
        desc.device = device;
        desc.vulkan = vulkan;
        desc.precision = std::strcmp(device, "cpu") == 0 ? KG_PRECISION_FP32 : KG_PRECISION_BF16;
        kg_model* model = nullptr;
        ASSERT_EQ(kg_model_create(weights, &desc, &model), KG_OK) << kg_last_error();
        model_.reset(model);
    }
    Owned<kg_clip> clip(std::uint32_t storage = KG_STORAGE_HOST, std::uint32_t format = KG_FORMAT_RGBA8,
                        std::uint32_t slots = 0) {
        auto desc = sized<kg_clip_desc>();
        desc.storage = storage;
        desc.format = format;
        desc.slots = slots;
        desc.fps = 25.0;
        kg_clip* made = nullptr;
        EXPECT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_OK) << kg_last_error();
        return Owned<kg_clip>(made);
    }
    static std::vector<std::uint8_t> bytes_of(const kg_frame& frame) {
        const auto* bytes = static_cast<const std::uint8_t*>(frame.planes[0]);
        std::vector<std::uint8_t> all(bytes, bytes + frame.row_bytes[0] * frame.height);
        const auto* second = static_cast<const std::uint8_t*>(frame.planes[1]);
        if (second != nullptr) all.insert(all.end(), second, second + frame.row_bytes[1] * frame.height / 2);
        return all;
    }
    std::vector<std::vector<std::uint8_t>> decode(kg_clip* clip, const std::vector<float>& values) {
        return decode(clip, view_of(values));
    }
    /// Pushes latent frames from host memory one by one, and acquires, copies and releases the frames of each.
    std::vector<std::vector<std::uint8_t>> decode(kg_clip* clip, const kg_latents& all) {
        std::vector<std::vector<std::uint8_t>> frames;
        const std::size_t frame_bytes = kHeight * kWidth * (all.dtype == KG_FLOAT32 ? 4U : 2U);
        for (std::int64_t t = 0; t < all.shape[1]; ++t) {
            kg_latents one = all;
            one.data = static_cast<const std::byte*>(all.data) + static_cast<std::size_t>(t) * frame_bytes;
            one.shape[1] = 1;
            const std::int64_t strides[] = {all.shape[1] * kHeight * kWidth, kHeight * kWidth, kWidth, 1};
            std::memcpy(one.strides, strides, sizeof(strides));
            EXPECT_EQ(kg_clip_push(clip, &one, kLong, nullptr), KG_OK) << kg_last_error();
            for (int i = 0; i < (t == 0 ? 1 : 4); ++i) {
                auto frame = sized<kg_frame>();
                EXPECT_EQ(kg_clip_acquire(clip, 0, kLong, &frame), KG_OK) << kg_last_error();
                if (frame.id == 0) return frames;
                EXPECT_EQ(frame.index, static_cast<std::int64_t>(frames.size()));
                frames.push_back(bytes_of(frame));
                EXPECT_EQ(kg_clip_release(clip, frame.id, nullptr), KG_OK) << kg_last_error();
            }
        }
        return frames;
    }

    std::mutex log_mutex_;
    std::vector<std::string> log_;
    Owned<kg_instance> instance_;
    Owned<kg_weights> weights_;
    Owned<kg_model> model_;
};

}  // namespace kinetograph::c::testing
