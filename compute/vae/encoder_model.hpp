// The encoder of a checkpoint as a Model: pictures go in, moments of latents come out.
#pragma once

#include <kinetograph/compute/vae/model.hpp>

namespace kinetograph::vae {

/// What a clip of an encoder is.
enum class Pictures : std::uint8_t {
    Clip,  ///< a first picture (a first group where nn::Rates::first says so), then groups that become a latent frame
    One,   ///< the first latent frame alone, as for image to video: nothing is kept for later ones
};

/// Of the file that `decoder` was opened from. Its output are the moments, mean and logarithm of the variance of each
/// raw latent value, [h, w, 2 z_dim] float32, or latents, [h, w, z_dim], if the network ends in these; its input are
/// pictures, [frames, 3, height, width] in [-1, 1]. Clips of a family for pictures are one picture in any case. Of
/// `options`: precision, sums and preferred_backend. Errors: those of Checkpoint::encoder and Model::create;
/// Unsupported (the device has no convolutions of stride 2 in that precision, or none of 8-bit sums for encoders).
Result<std::shared_ptr<Model>> create_encoder(accel::Device& device, const Checkpoint& decoder,
                                              const ModelOptions& options = {}, Pictures pictures = Pictures::Clip,
                                              const CallLimits& limits = {});

/// Whether `decoder`'s file has an encoder that a device could run. Reads no values.
bool can_encode(const accel::DeviceInfo& device, const Checkpoint& decoder, const ModelOptions& options);

}  // namespace kinetograph::vae
