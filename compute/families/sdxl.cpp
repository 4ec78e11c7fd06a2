// Stable Diffusion XL: the network and names of Stable Diffusion.
#include <kinetograph/compute/families/autoencoder_kl.hpp>

namespace kinetograph::families {

Family sdxl() { return kl::family("sdxl", "Stable Diffusion XL", "Stable Diffusion XL", 4, 0.13025F, 0, "sd"); }

}  // namespace kinetograph::families
