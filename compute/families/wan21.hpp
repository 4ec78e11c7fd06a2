// The blocks of the Wan 2.1 decoder, shared with related families.
#pragma once

#include <kinetograph/compute/families/family.hpp>

#include <array>

namespace kinetograph::families {

/// Relatives differ in a few members.
Family wan21();

}  // namespace kinetograph::families

namespace kinetograph::families::wan {

/// Whether filters see the frames before, or only the one that they make: then their tensors have no time axis.
enum class Time : std::uint8_t { Causal, None };
constexpr Time time_of(const Widths& widths) { return widths.pictures ? Time::None : Time::Causal; }

/// RMS norm, SiLU, causal 3x3x3, twice, plus `x`, through a 1x1x1 `shortcut` where the widths differ.
nn::Value residual_block(nn::Network& network, nn::Value x, const std::string& key, std::int64_t c_in,
                         std::int64_t c_out, Time time = Time::Causal);
/// RMS norm, 1x1 to query, key and value, attention within each frame, 1x1 (`Conv::projected_by`), plus `x`. A norm has
/// to read the result: the attention's pass adds and norms.
nn::Value attention_block(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels);
/// Latents to the first stage: 1x1x1 (`conv2`), causal 3x3x3 to `widest` channels, residual, attention, residual.
nn::Value middle(nn::Network& network, std::int64_t z_dim, std::int64_t widest, Time time = Time::Causal);
/// RMS norm, SiLU, causal 3x3x3 to `channels`, which are stored as float32.
nn::Value head(nn::Network& network, nn::Value x, std::int64_t dim, std::int64_t channels, Time time = Time::Causal);
/// Nearest 2x, then 3x3.
nn::Value upsample_space(nn::Network& network, nn::Value x, const std::string& key, std::int64_t c_in,
                         std::int64_t c_out);
/// Twice the frames: causal 3x1x1 to twice the channels, whose halves are two frames. Skipped in a clip's first step.
nn::Value upsample_time(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels);

/// A stage of an encoder: two residual blocks, then half the pixels a side and half the frames where it says so.
struct DownStage {
    std::int64_t c_in, c_out;
    bool fewer_pixels, fewer_frames;  ///< frames: of filters that see them
};
std::array<DownStage, 4> down_stages(std::int64_t dim);
/// 3x3 of stride 2, zeros after; then, if `fewer_frames`, a causal 3x1x1 of stride 2 in time, which a clip's first step
/// skips and keeps its last frame for.
nn::Value downsample(nn::Network& network, nn::Value x, const std::string& key, std::int64_t channels,
                     bool fewer_frames);
/// The end of an encoder: residual, attention, residual, RMS norm, SiLU, causal 3x3x3 to the moments of `z_dim` latent
/// channels, 1x1x1 (`conv1`), which are stored as float32.
void moments(nn::Network& network, nn::Value x, std::int64_t widest, std::int64_t z_dim, Time time);

/// The whole decoder. Stages are 4, 4, 2 and 1 times `dim` wide. A last layer of 12 channels makes 2 x 2 pixels, as
/// torch's pixel_shuffle does.
/// Source: wan/modules/vae.py, Wan-Video/Wan2.1.
nn::Network decoder(const Widths& widths);

/// The whole encoder: pictures to mean and logarithm of the variance, `z_dim` channels each, as float32. Two residual
/// blocks and a 3x3 of stride 2 a stage, 1, 2, 4 and 4 times `dim` wide; the second and third stage also halve the
/// frames of the steps after a clip's first, of which the last frame before them is seen. Latents are not normalised.
/// Source: wan/modules/vae.py, Wan-Video/Wan2.1.
nn::Network encoder(const Widths& widths);

/// Family::bytes of such a decoder. `stages`: what the keys of each stage's residual blocks begin with, after the first
/// doubling; of three blocks a stage these are 18 layers, of the last two stages 12, of the last one 6. Quality:
/// docs/eight-bits.md.
std::vector<nn::ByteRecipe> byte_recipes(const std::array<std::vector<std::string>, 3>& stages);

/// Family::config of Wan 2.1 and its relatives.
std::vector<std::pair<std::string, std::string>> config(const Widths& widths);

/// Of the published checkpoints of Wan 2.1 and Qwen-Image. Source: wan/modules/vae.py, Wan-Video/Wan2.1; latents_mean
/// and latents_std of diffusers' AutoencoderKLQwenImage.
LatentStatistics statistics();

/// The key that diffusers gives to a parameter of either network: "decoder.conv1.weight" is "decoder.conv_in.weight".
/// Source: scripts/convert_wan_to_diffusers.py, huggingface/diffusers.
std::string diffusers_name(std::string_view original);
/// The same within a residual block: "residual.2.weight" is "conv1.weight"; other names stay.
std::string diffusers_name_in_block(std::string_view original);

}  // namespace kinetograph::families::wan
