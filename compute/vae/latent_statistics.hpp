// The mean and deviation that undo the normalisation of latents.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::vae {

/// One value per latent channel: z * std + mean is what the decoder takes.
struct LatentStatistics {
    std::vector<float> mean, std;

    /// 0 and 1: latents stay as they are.
    static LatentStatistics identity(std::int64_t z_dim);
    /// Of the published Wan 2.1 VAE, 16 channels. Source: wan/modules/vae.py, Wan-Video/Wan2.1
    static LatentStatistics wan21();
};

/// Reads `latents_mean` and `latents_std`: `z_dim` numbers each, separated by commas, in brackets or not.
/// Returns empty vectors if the metadata has neither. Errors: InvalidArgument, naming `file`: only one of the two, text
/// that is not a list of numbers, the wrong count, a value that is not finite, a deviation that is not above 0.
Result<LatentStatistics> statistics_from_metadata(const std::map<std::string, std::string>& metadata,
                                                  std::int64_t z_dim, std::string_view file);

}  // namespace kinetograph::vae
