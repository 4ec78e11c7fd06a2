// TAEF1: the tiny autoencoder of FLUX.1. Raw latents: scaling_factor and shift_factor of the model's AutoencoderKL.
#include <kinetograph/compute/families/taesd.hpp>

namespace kinetograph::families {

Family taef1() { return taesd::family("taef1", "TAEF1", "FLUX.1", 16, 0.1159F, 1 / 0.3611F); }

}  // namespace kinetograph::families
