// What encoders and reencoders share.
#pragma once

#include "kinetograph.h"

#include <kinetograph/compute/stream/encoder.hpp>

#include <array>

namespace kinetograph::c {

/// [kg_encoded]
constexpr std::array kEncoded{stream::Encoded::Mean, stream::Encoded::Sample, stream::Encoded::Moments};

inline kg_encoder_info info_of(const stream::EncoderFacts& facts) {
    kg_encoder_info info{};
    info.channels = static_cast<std::uint32_t>(facts.channels);
    info.height = static_cast<std::uint32_t>(facts.height);
    info.width = static_cast<std::uint32_t>(facts.width);
    info.pictures_of_a_latent = static_cast<std::uint32_t>(facts.pictures_of_a_latent);
    info.first_pictures = static_cast<std::uint32_t>(facts.first_pictures);
    info.state_bytes = facts.memory.state();
    info.encoder_bytes = facts.memory.clip();
    info.weights_bytes = facts.memory.parameters;
    return info;
}

}  // namespace kinetograph::c
