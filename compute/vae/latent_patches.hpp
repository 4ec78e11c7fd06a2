// Latents whose channels are those of patches of pixels, as FLUX.2's diffusion models have them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kinetograph::vae {

/// Latents of pixels [channels, frames, height, width]: with patches of `patch` x `patch` pixels as channels they are
/// [channels * patch * patch, frames, height / patch, width / patch], and value (c, dy, dx) of a patch is its channel
/// (c * patch + dy) * patch + dx. Source: Flux2Pipeline._patchify_latents of diffusers.
struct PatchedShape {
    std::int64_t channels = 0, frames = 1, height = 0, width = 0;
    std::int64_t patch = 1;  ///< which divides height and width

    /// The channel with patches that has the value of channel `c` of pixel (y, x).
    std::int64_t channel_of(std::int64_t c, std::int64_t y, std::int64_t x) const {
        return (c * patch + y % patch) * patch + x % patch;
    }
};

std::vector<float> to_patches(std::span<const float> pixels, const PatchedShape& shape);
std::vector<float> from_patches(std::span<const float> patches, const PatchedShape& shape);

}  // namespace kinetograph::vae
