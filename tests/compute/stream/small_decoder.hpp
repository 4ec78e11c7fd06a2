// A decoder that is small enough to decode a clip in milliseconds, the clip, and the expected frames.
#pragma once

#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/stream/decoder.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace kinetograph::stream::testing {

constexpr std::int64_t kHeight = 1, kWidth = 2;  // latent pixels
constexpr std::uint32_t kFrameWidth = 16, kFrameHeight = 8;

/// For devices that may be lost: returns the error, where small_model() fails the test.
inline Result<std::shared_ptr<vae::Model>> create_small_model(accel::Device& device) {
    KG_TRY(const auto checkpoint, vae::Checkpoint::open("synthetic:wan2.1,dim=2"));
    const vae::Precision precision = device.info().kind == "cpu" ? vae::Precision::Fp32 : vae::Precision::Bf16;
    return vae::Model::create(device, checkpoint, {.precision = precision});
}

inline std::shared_ptr<vae::Model> small_model(accel::Device& device) {
    const auto model = create_small_model(device);
    EXPECT_TRUE(model) << model.error().message;
    return *model;
}

inline std::unique_ptr<stream::Decoder> small_decoder(accel::Device& device, std::int64_t width = kWidth) {
    auto decoder = stream::Decoder::create(small_model(device), {kHeight, width});
    EXPECT_TRUE(decoder) << decoder.error().message;
    return std::move(*decoder);
}

/// `frames` latent frames, no two alike.
inline vae::Latents small_clip(std::int64_t frames, std::int64_t width = kWidth) {
    vae::Latents clip{"clip", 16, frames, kHeight, width, {}, 25.0, 0};
    for (std::int64_t i = 0; i < 16 * frames * kHeight * width; ++i)
        clip.values.push_back(3.0F * std::sin(0.7F * static_cast<float>(i)));
    return clip;
}

/// The clip's frames as the blocking interface of a decoder gives them, as RGBA.
inline std::vector<std::vector<std::uint8_t>> expected_frames(stream::Decoder& decoder, const vae::Latents& clip) {
    std::vector<std::vector<std::uint8_t>> frames;
    for (std::int64_t t = 0; t < clip.frames; ++t) {
        const auto step = decoder.step(clip.frame(t));
        EXPECT_TRUE(step) << step.error().message;
        for (const std::span<const float> picture : step->pictures) {
            std::vector<std::uint8_t>& rgba = frames.emplace_back();
            for (std::size_t v = 0; v < picture.size(); ++v) {
                rgba.push_back(nn::to_unorm8(picture[v]));
                if (v % 3 == 2) rgba.push_back(255);
            }
        }
    }
    return frames;
}

}  // namespace kinetograph::stream::testing
