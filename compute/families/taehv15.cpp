// TAEHV 1.5: the tiny decoder of HunyuanVideo 1.5's latents, as a diffusion model makes them.
#include <kinetograph/compute/families/taehv.hpp>

namespace kinetograph::families {

Family taehv15() {
    Family family = taehv::family("taehv1.5", "TAEHV 1.5", "HunyuanVideo 1.5", 32, taehv::decoder_of_blocks,
                                  taehv::encoder_of_blocks);
    family.raw = {.mean = std::vector<float>(32, 0.0F), .std = std::vector<float>(32, 1 / 1.03682F)};
    return family;
}

}  // namespace kinetograph::families
