// The --size option: a picture size in pixels, WIDTHxHEIGHT.
#pragma once

#include <kinetograph/compute/vae/model.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kinetograph::cli {

struct FrameSize {
    std::int64_t width = 0, height = 0;  ///< pixels, even
    /// Errors: InvalidArgument for a size that the family's frames cannot have.
    Result<vae::LatentSize> latents(const families::Family& family) const;
};

/// "832x480"; none for any other text, and for sides that are odd, below 2 or above 8192.
std::optional<FrameSize> parse_frame_size(std::string_view word);

/// Adds --size; anything other than WIDTHxHEIGHT, and sides that are odd, below 2 or above 8192, are bad usage.
CLI::Option* add_frame_size(CLI::App& command, FrameSize& size,
                            const std::string& description = "Size of the picture, up to 11 million pixels at dim 96");

}  // namespace kinetograph::cli
