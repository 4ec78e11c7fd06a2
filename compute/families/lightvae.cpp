// LightVAE: the Wan 2.1 network with three quarters of its channels pruned away: stages of 96, 96, 48 and 24. Its
// tensors have Wan 2.1's names, so their width distinguishes it. Source: lightx2v/Autoencoders, huggingface.co.
#include <kinetograph/compute/families/wan21.hpp>

namespace kinetograph::families {

Family lightvae() {
    Family family = wan21();
    family.name = "lightvae";
    family.title = "LightVAE";
    family.diffusers_class = "";
    family.relative_of = "wan2.1";
    family.published = {.dim = 24, .z_dim = 16};
    return family;
}

}  // namespace kinetograph::families
