// TAESD3: the tiny autoencoder of Stable Diffusion 3, with TAEF1's network and names. Raw latents: scaling_factor and
// shift_factor of the model's AutoencoderKL.
#include <kinetograph/compute/families/taesd.hpp>

namespace kinetograph::families {

Family taesd3() { return taesd::family("taesd3", "TAESD3", "Stable Diffusion 3", 16, 0.0609F, 1 / 1.5305F, "taef1"); }

}  // namespace kinetograph::families
