// The TAESD autoencoders: small, and distilled from the VAEs of image models, whose latents they take and make.
#pragma once

#include <kinetograph/compute/families/family.hpp>

namespace kinetograph::families::taesd {

/// What all families of this kind have in common, pictures of 8 times the side of their latents. `raw`: of latents as
/// the model's own VAE makes them, z * std + mean for each of the `z_dim` channels.
/// Decoder: limit of 3, 3x3, ReLU; three times three blocks, nearest 2x and 3x3; block, 3x3. Encoder: 3x3, block; three
/// times 3x3 of stride 2 and three blocks; 3x3. A block is ReLU of its input and three 3x3 with ReLU between them.
/// All are `dim` wide. Source: taesd.py, madebyollin/taesd; names: diffusers' AutoencoderTiny. `relative_of`: the
/// family of as many latent channels, from which a file's name tells this one; empty: it is that family.
Family family(std::string name, std::string title, std::string latents, std::int64_t z_dim, float raw_mean,
              float raw_std, std::string relative_of = "");

}  // namespace kinetograph::families::taesd
