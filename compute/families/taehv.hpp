// The TAEHV decoders: small, and distilled from the decoders of video VAEs, whose latents they take.
#pragma once

#include <kinetograph/compute/families/family.hpp>

namespace kinetograph::families::taehv {

/// The values of black and white in the output of the published last layer.
enum class Range : std::uint8_t { ZeroToOne, MinusOneToOne };

/// What the networks of these families differ in, besides their widths.
struct Variant {
    float negative_slope = 0;  ///< of every ReLU
    Range range = Range::ZeroToOne;
};

/// ReLU of the sum of `x` and three 3x3 convolutions with ReLU between them, the first of which sees `x` in this frame
/// and in the one before.
nn::Value memory_block(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels,
                       Variant variant = {});

/// The whole decoder: ReLU, 3x3 convolutions within a frame, and memory blocks. Stages are 4, 2, 1 and 1 times `dim`
/// wide. Of the frames made from a clip's first latent only the last is kept; each of the others is dropped at the
/// first point after which no memory block remembers it. Output in [-1, 1]: an original output in [0, 1] is doubled and
/// lowered by one. Source: taehv.py, madebyollin/taehv.
nn::Network decoder(const Widths& widths);
/// The same with a last layer of 12 channels, which are 2 x 2 pixels: 16 times the side of the latents.
nn::Network decoder_of_blocks(const Widths& widths);
nn::Network decoder_of_blocks(const Widths& widths, Variant variant);

/// The whole encoder, `dim` wide: pictures in [0, 1] to latents, of which each is made of four frames, also the first.
/// 3x3 and ReLU, then three times: a 1x1 over the channels of two frames (the third time of one), 3x3 of stride 2,
/// three memory blocks; 3x3. Source: taehv.py, madebyollin/taehv.
nn::Network encoder(const Widths& widths);
/// The same of blocks of 2 x 2 pixels, 12 channels.
nn::Network encoder_of_blocks(const Widths& widths);

/// What all families of this kind have in common; name, title, latents, their channels and the networks are parameters.
Family family(std::string name, std::string title, std::string latents, std::int64_t z_dim,
              nn::Network (*decoder)(const Widths& widths), nn::Network (*encoder)(const Widths& widths) = nullptr);

}  // namespace kinetograph::families::taehv
