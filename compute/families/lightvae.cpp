// LightVAE: the Wan 2.1 network with three quarters of its channels pruned away: stages of 96, 96, 48 and 24. Its
// tensors have Wan 2.1's names, so their width distinguishes it. Source: lightx2v/Autoencoders, huggingface.co.
#include <kinetograph/compute/families/wan21.hpp>

namespace kinetograph::families {

Family lightvae() {
    return {.name = "lightvae",
            .title = "LightVAE",
            .diffusers_class = "",
            .latents = "Wan 2.1",
            .relative_of = "wan2.1",
            .rates = {.time = {1, 4}, .space = {1, 8}},
            .fps = 16,
            .published = {.dim = 24, .z_dim = 16},
            .dim = {"decoder.head.0.gamma", 0},
            .z_dim = {"conv2.bias", 0},
            .end = "decoder.head.2",
            .is_causal = true,
            .statistics = wan::statistics(),
            .config = wan::config,
            .decoder = wan::decoder,
            .diffusers_name = wan::diffusers_name};
}

}  // namespace kinetograph::families
