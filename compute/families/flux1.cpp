// FLUX.1: 16 latent channels, and no convolutions between them and the networks.
#include <kinetograph/compute/families/autoencoder_kl.hpp>

namespace kinetograph::families {

Family flux1() { return kl::family("flux.1", "FLUX.1", "FLUX.1", 16, 0.3611F, 0.1159F); }

}  // namespace kinetograph::families
