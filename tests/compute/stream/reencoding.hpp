// Decoded frames that are encoded from the device's memory, beside decoding and encoding by way of the host.
#pragma once

#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/stream/encoder.hpp>
#include <kinetograph/compute/stream/reencoder.hpp>
#include <kinetograph/compute/vae/encoder_model.hpp>
#include <kinetograph/engine/interop/bridge.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kinetograph::stream::testing {

using Values = std::vector<std::vector<float>>;  // latent frames, or frames

/// Both directions of a checkpoint on a device, whose latents are of 1 x 2 pixels.
struct Directions {
    std::shared_ptr<interop::Bridge> bridge;
    std::shared_ptr<vae::Model> decoder, encoder;
    vae::LatentSize size{1, 2};
    std::uint64_t seed = 7;  ///< of samples, of encoders that make moments

    static Directions of(accel::Device& device, const std::string& weights, vae::Pictures pictures) {
        const auto checkpoint = vae::Checkpoint::open(weights);
        EXPECT_TRUE(checkpoint) << checkpoint.error().message;
        const auto precision = device.info().kind == "cpu" ? vae::Precision::Fp32 : vae::Precision::Bf16;
        auto bridge = interop::Bridge::create(device, nullptr);
        auto decoder = vae::Model::create(device, *checkpoint, {.precision = precision});
        auto encoder = vae::create_encoder(device, *checkpoint, {.precision = precision}, pictures);
        EXPECT_TRUE(bridge && decoder && encoder);
        return {std::move(*bridge), *decoder, *encoder};
    }
    MomentChoices choices() const {
        const bool makes_moments = encoder->network().network.ends().output == nn::End::Moments;
        return {makes_moments ? Encoded::Sample : Encoded::Mean, seed};
    }
    /// [frames, channels, 1, 2], no two alike.
    std::vector<float> latents(std::int64_t frames) const {
        std::vector<float> values;
        for (std::int64_t i = 0; i < frames * decoder->channels() * size.height * size.width; ++i)
            values.push_back(3.0F * std::sin(0.7F * static_cast<float>(i)));
        return values;
    }
    std::size_t latent_values() const {
        return static_cast<std::size_t>(decoder->channels() * size.height * size.width);
    }
    std::unique_ptr<Reencoder> reencoder(bool frames = true) const {
        auto made = Reencoder::create(bridge, decoder, encoder, size, {}, {.moments = choices(), .frames = frames});
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }
};

/// By the blocking decoder, whose frames the host has, and the encoder that pictures are pushed to.
inline Reencoded in_two_steps(const Directions& both, const std::vector<float>& latents) {
    constexpr Nanoseconds kLong = std::chrono::minutes(5);
    Reencoded made;
    const auto decoder = Decoder::create(both.decoder, both.size).value();
    for (std::size_t at = 0; at < latents.size(); at += both.latent_values()) {
        const auto step = decoder->step(std::span(latents).subspan(at, both.latent_values()));
        EXPECT_TRUE(step) << step.error().message;
        for (const std::span<const float> picture : step->pictures)
            made.frames.emplace_back(picture.begin(), picture.end());
    }
    const vae::StepFrames frames = both.decoder->step_frames(both.size);
    const auto encoder = Encoder::create(both.bridge, both.encoder, {frames.height, frames.width}, {},
                                         {.latents = both.choices().latents, .seed = both.seed, .ahead = 64})
                             .value();
    for (const std::vector<float>& frame : made.frames) EXPECT_TRUE(encoder->push(std::span(frame), kLong).value());
    encoder->finish();
    while (!encoder->finished()) {
        auto taken = encoder->take(kLong);
        EXPECT_TRUE(taken) << taken.error().message;
        if (*taken) made.latents.push_back(std::move(**taken));
    }
    return made;
}

/// The clip cut into calls of so many latent frames each; the last `finish()`.
inline Reencoded in_calls(Reencoder& reencoder, const Directions& both, std::span<const float> latents,
                          const std::vector<std::size_t>& calls) {
    Reencoded made;
    const auto add = [&](Result<Reencoded> part) {
        ASSERT_TRUE(part) << part.error().message;
        std::ranges::move(part->latents, std::back_inserter(made.latents));
        std::ranges::move(part->frames, std::back_inserter(made.frames));
    };
    for (const std::size_t count : calls) {
        add(reencoder.reencode(latents.first(count * both.latent_values())));
        latents = latents.subspan(count * both.latent_values());
    }
    EXPECT_TRUE(latents.empty());
    add(reencoder.finish());
    return made;
}

inline void expect_same(const Reencoded& made, const Reencoded& wanted) {
    EXPECT_EQ(made.frames, wanted.frames);
    ASSERT_EQ(made.latents.size(), wanted.latents.size());
    for (std::size_t i = 0; i < made.latents.size(); ++i) {
        EXPECT_EQ(made.latents[i].index, static_cast<std::int64_t>(i));
        EXPECT_EQ(made.latents[i].is_finite, wanted.latents[i].is_finite);
        EXPECT_EQ(made.latents[i].values, wanted.latents[i].values) << "latent frame " << i;
    }
}

/// Bit for bit, however the clip is cut into calls, and again after a restart.
inline void expect_reencoded_as_in_two_steps(accel::Device& device, const std::string& weights,
                                             const std::vector<std::vector<std::size_t>>& cuts,
                                             vae::Pictures pictures = vae::Pictures::Clip) {
    const Directions both = Directions::of(device, weights, pictures);
    std::int64_t frames = 0;
    for (const std::size_t count : cuts.front()) frames += static_cast<std::int64_t>(count);
    const auto latents = both.latents(frames);
    const Reencoded wanted = in_two_steps(both, latents);
    ASSERT_FALSE(wanted.latents.empty());
    const auto reencoder = both.reencoder();
    for (const auto& calls : cuts) {
        expect_same(in_calls(*reencoder, both, latents, calls), wanted);
        ASSERT_TRUE(reencoder->restart());
    }
}

}  // namespace kinetograph::stream::testing
