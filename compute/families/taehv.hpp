// The TAEHV decoders: small, and distilled from the decoders of video VAEs, whose latents they take.
#pragma once

#include <kinetograph/compute/families/family.hpp>

namespace kinetograph::families::taehv {

/// ReLU of the sum of `x` and three 3x3 convolutions with ReLU between them, the first of which sees `x` in this frame
/// and in the one before.
nn::Value memory_block(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels);

/// The whole decoder: ReLU, 3x3 convolutions within a frame, and memory blocks. Stages are 4, 2, 1 and 1 times `dim`
/// wide. The frames that a first latent makes before its last are dropped as early as nothing later remembers them.
/// Output in [-1, 1], of which the original's [0, 1] is twice less one. Source: taehv.py, madebyollin/taehv.
nn::Network decoder(const Widths& widths);
/// The same with a last layer of 12 channels, which are 2 x 2 pixels: 16 times the side of the latents.
nn::Network decoder_of_blocks(const Widths& widths);

/// What members of this kind have in common; name, title, latents, their channels and the network are their own.
Family family(std::string name, std::string title, std::string latents, std::int64_t z_dim,
              nn::Network (*decoder)(const Widths& widths));

}  // namespace kinetograph::families::taehv
