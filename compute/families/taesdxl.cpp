// TAESDXL: the tiny autoencoder of Stable Diffusion XL, with TAESD's network and names. Raw latents: scaling_factor of
// the model's AutoencoderKL.
#include <kinetograph/compute/families/taesd.hpp>

namespace kinetograph::families {

Family taesdxl() { return taesd::family("taesdxl", "TAESDXL", "Stable Diffusion XL", 4, 0, 1 / 0.13025F, "taesd"); }

}  // namespace kinetograph::families
