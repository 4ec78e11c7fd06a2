// TAEHV: the tiny decoder of HunyuanVideo's latents, as a diffusion model makes them. TAEW2.1 has the same network,
// tensor names and number of latent channels.
#include <kinetograph/compute/families/taehv.hpp>

namespace kinetograph::families {

Family taehv1() {
    Family family = taehv::family("taehv", "TAEHV", "HunyuanVideo", 16, taehv::decoder);
    family.relative_of = "taew2.1";
    family.in_file_name = "taehv";
    return family;
}

}  // namespace kinetograph::families
