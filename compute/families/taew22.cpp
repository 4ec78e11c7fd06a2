// TAEW2.2: the tiny decoder of Wan 2.2's latents, as a diffusion model makes them.
#include <kinetograph/compute/families/taehv.hpp>

namespace kinetograph::families {

Family taew22() { return taehv::family("taew2.2", "TAEW2.2", "Wan 2.2", 48, taehv::decoder_of_blocks); }

}  // namespace kinetograph::families
