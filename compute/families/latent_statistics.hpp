// LatentStatistics: how a latent space is normalised.
#pragma once

#include <cstdint>
#include <vector>

namespace kinetograph::families {

/// One value per latent channel: z * std + mean undoes the normalisation of latents.
struct LatentStatistics {
    std::vector<float> mean, std;
    /// Above 1: normalised latents have `patch` x `patch` pixels of the decoder's as channels, value (c, dy, dx) as
    /// channel (c * patch + dy) * patch + dx, and the statistics are of these.
    std::int64_t patch = 1;
};

}  // namespace kinetograph::families
