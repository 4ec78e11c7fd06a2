// Stable Diffusion 3: the network and names of FLUX.1.
#include <kinetograph/compute/families/autoencoder_kl.hpp>

namespace kinetograph::families {

Family sd3() { return kl::family("sd3", "Stable Diffusion 3", "Stable Diffusion 3", 16, 1.5305F, 0.0609F, "flux.1"); }

}  // namespace kinetograph::families
