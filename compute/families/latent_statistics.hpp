// LatentStatistics: how a latent space is normalised.
#pragma once

#include <vector>

namespace kinetograph::families {

/// One value per latent channel: z * std + mean undoes the normalisation of latents.
struct LatentStatistics {
    std::vector<float> mean, std;
};

}  // namespace kinetograph::families
