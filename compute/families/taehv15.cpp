// TAEHV 1.5: the tiny decoder of HunyuanVideo 1.5's latents, as a diffusion model makes them.
#include <kinetograph/compute/families/taehv.hpp>

namespace kinetograph::families {

Family taehv15() { return taehv::family("taehv1.5", "TAEHV 1.5", "HunyuanVideo 1.5", 32, taehv::decoder_of_blocks); }

}  // namespace kinetograph::families
