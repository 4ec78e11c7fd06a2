// TAESDXL: the tiny autoencoder of Stable Diffusion XL, with TAESD's network and names. Raw latents: scaling_factor of
// the model's AutoencoderKL.
#include <kinetograph/compute/families/taesd.hpp>

namespace kinetograph::families {

Family taesdxl() {
    Family family = taesd::family("taesdxl", "TAESDXL", "Stable Diffusion XL", 4, 0, 1 / 0.13025F);
    family.diffusers_class = "";
    family.relative_of = "taesd";
    family.in_file_name = "taesdxl";
    return family;
}

}  // namespace kinetograph::families
