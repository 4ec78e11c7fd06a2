// The sizes of what a step takes and makes.
#pragma once

#include <compare>
#include <cstdint>

namespace kinetograph::vae {

/// Size of a clip in latent pixels.
struct LatentSize {
    std::int64_t height = 0, width = 0;
    friend bool operator==(const LatentSize&, const LatentSize&) = default;
};

/// The frames that a step makes: how many at most, their size in pixels, and values of a pixel.
struct StepFrames {
    std::int64_t most = 0, height = 0, width = 0, channels = 0;
};

/// What distinguishes the graphs of one decoder: temporal upsampling is skipped in the first step of a clip.
struct StepKind {
    bool first = true;
    std::int64_t frames = 1;  ///< latent frames that go in
    friend auto operator<=>(const StepKind&, const StepKind&) = default;
};

/// Parts of the picture that a step computes one after the other (bands.hpp).
struct Bands {
    std::int64_t count = 1;       ///< 1: the picture is computed whole
    std::int64_t upsampling = 0;  ///< which of the network's spatial upsamplings the bands begin with, from 0
    friend auto operator<=>(const Bands&, const Bands&) = default;
};

/// What steps take in.
struct StackSize {
    std::int64_t height = 0, width = 0;  ///< of the input, in its own pixels
    std::int64_t max_frames = 1;         ///< latent frames that one step may take
    Bands bands{};                       ///< of the picture, which the end of a step computes one after the other
    friend bool operator==(const StackSize&, const StackSize&) = default;
};

enum class FrameFormat : std::uint8_t {
    Rgba8,    ///< [height, width, 4], 8 bits, sRGB-encoded as the model makes it, alpha 255
    Float32,  ///< [height, width, channels], of a picture 3, nominal range [-1, 1]
    Float16,  ///< the same as IEEE half, rounded once
};
constexpr std::uint64_t bytes_per_pixel(FrameFormat format, std::int64_t channels = 3) {
    return format == FrameFormat::Rgba8
               ? 4
               : static_cast<std::uint64_t>(channels) * (format == FrameFormat::Float32 ? 4 : 2);
}

}  // namespace kinetograph::vae
