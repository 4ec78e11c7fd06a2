// The --size option: a picture size in pixels, WIDTHxHEIGHT.
#pragma once

#include <kinetograph/compute/vae/decoder.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>

namespace kinetograph::cli {

struct FrameSize {
    std::int64_t width = 0, height = 0;  ///< pixels, multiples of 8
    vae::LatentSize latents() const { return {.height = height / 8, .width = width / 8}; }
};

/// Adds --size; a word that is no WIDTHxHEIGHT, or sides that are no multiples of 8 up to 8192, are bad usage.
CLI::Option* add_frame_size(CLI::App& command, FrameSize& size);

}  // namespace kinetograph::cli
