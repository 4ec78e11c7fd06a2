// TAEHV: the tiny autoencoder of HunyuanVideo's latents, as a diffusion model makes them. TAEW2.1 has the same network,
// tensor names and number of latent channels. Its latents are scaled: scaling_factor of diffusers'
// AutoencoderKLHunyuanVideo.
#include <kinetograph/compute/families/taehv.hpp>

namespace kinetograph::families {

Family taehv1() {
    Family family = taehv::family("taehv", "TAEHV", "HunyuanVideo", 16, taehv::decoder, taehv::encoder);
    family.relative_of = "taew2.1";
    family.in_file_name = "taehv";
    family.raw = {.mean = std::vector<float>(16, 0.0F), .std = std::vector<float>(16, 1 / 0.476986F)};
    return family;
}

}  // namespace kinetograph::families
