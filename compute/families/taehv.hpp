// The TAEHV decoders: small, and distilled from the decoders of video VAEs, whose latents they take.
#pragma once

#include <kinetograph/compute/families/family.hpp>

namespace kinetograph::families::taehv {

/// The values that the published last layer gives black and white.
enum class Range : std::uint8_t { ZeroToOne, MinusOneToOne };

/// In what members' networks differ beside their widths.
struct Variant {
    float negative_slope = 0;  ///< of every ReLU
    Range range = Range::ZeroToOne;
};

/// ReLU of the sum of `x` and three 3x3 convolutions with ReLU between them, the first of which sees `x` in this frame
/// and in the one before.
nn::Value memory_block(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels,
                       Variant variant = {});

/// The whole decoder: ReLU, 3x3 convolutions within a frame, and memory blocks. Stages are 4, 2, 1 and 1 times `dim`
/// wide. The frames that a first latent makes before its last are dropped as early as nothing later remembers them.
/// Output in [-1, 1]: an original of [0, 1] times two less one. Source: taehv.py, madebyollin/taehv.
nn::Network decoder(const Widths& widths);
/// The same with a last layer of 12 channels, which are 2 x 2 pixels: 16 times the side of the latents.
nn::Network decoder_of_blocks(const Widths& widths);
nn::Network decoder_of_blocks(const Widths& widths, Variant variant);

/// What members of this kind have in common; name, title, latents, their channels and the network are their own.
Family family(std::string name, std::string title, std::string latents, std::int64_t z_dim,
              nn::Network (*decoder)(const Widths& widths));

}  // namespace kinetograph::families::taehv
