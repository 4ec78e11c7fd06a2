// TAEW2.2: the tiny decoder of Wan 2.2's latents, as a diffusion model makes them.
#include <kinetograph/compute/families/taehv.hpp>
#include <kinetograph/compute/families/wan22.hpp>

namespace kinetograph::families {

Family taew22() {
    Family family =
        taehv::family("taew2.2", "TAEW2.2", "Wan 2.2", 48, taehv::decoder_of_blocks, taehv::encoder_of_blocks);
    family.raw = wan_2_2::statistics();
    return family;
}

}  // namespace kinetograph::families
