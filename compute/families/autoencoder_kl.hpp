// The autoencoders of image models after latent-diffusion's AutoencoderKL: group norms and attention over the picture.
#pragma once

#include <kinetograph/compute/families/family.hpp>

namespace kinetograph::families::kl {

/// What all families of this kind have in common, pictures of 8 times the side of their latents. Latents of `z_dim`
/// channels are normalised, (z - shift) * scale: scaling_factor and shift_factor of the model's config.json.
/// `relative_of`: the family of as many latent channels, from which the scale that a file states or its name tells this
/// one; empty: it is that family.
///
/// Decoder: 1x1 (`post_quant_conv`) if there is one, 3x3; residual, attention, residual; four stages of three residual
/// blocks, 4, 4, 2 and 1 times `dim` wide, with nearest 2x and 3x3 between them; group norm, SiLU, 3x3. Encoder: 3x3;
/// four stages of two residual blocks, 1, 2, 4 and 4 times `dim` wide, with 3x3 of stride 2, zeros after, between them;
/// residual, attention, residual; group norm, SiLU, 3x3; 1x1 (`quant_conv`) if there is one. A residual block is twice
/// group norm, SiLU and 3x3, plus its input, through 1x1 where the widths differ. All norms have 32 groups.
/// Source: ldm/modules/diffusionmodules/model.py, CompVis/stable-diffusion; names of diffusers' AutoencoderKL.
Family family(std::string name, std::string title, std::string latents, std::int64_t z_dim, float scale, float shift,
              std::string relative_of = "");

/// Family::config of theirs.
std::vector<std::pair<std::string, std::string>> config(const Widths& widths);

}  // namespace kinetograph::families::kl
