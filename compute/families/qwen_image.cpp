// Qwen-Image: the Wan 2.1 network with a decoder trained for pictures; a clip is one latent frame. Its file has the
// names of Wan 2.1 in diffusers, so that its config.json tells them apart.
// Source: diffusers' AutoencoderKLQwenImage (base_dim 96, z_dim 16, dim_mult 1 2 4 4, latents_mean, latents_std).
#include <kinetograph/compute/families/wan21.hpp>

namespace kinetograph::families {

Family qwen_image() {
    return {.name = "qwen-image",
            .title = "Qwen-Image",
            .diffusers_class = "AutoencoderKLQwenImage",
            .has_keys_of_its_own = false,
            .factors = {.time = 4, .space = 8},
            .one_latent_frame = true,
            .published = {.dim = 96, .z_dim = 16},
            .dim = {"decoder.head.0.gamma", 0},
            .z_dim = {"decoder.conv1.weight", 1},
            .statistics = {.mean = {-0.7571F, -0.7089F, -0.9113F, 0.1075F, -0.1745F, 0.9653F, -0.1517F, 1.5508F,
                                    0.4134F, -0.0715F, 0.5517F, -0.3632F, -0.1922F, -0.9497F, 0.2503F, -0.2921F},
                           .std = {2.8184F, 1.4541F, 2.3275F, 2.6558F, 1.2196F, 1.7708F, 2.6052F, 2.0743F, 3.2687F,
                                   2.1526F, 2.8652F, 1.5579F, 1.6382F, 1.1253F, 2.8251F, 1.9160F}},
            .decoder = wan::decoder,
            .diffusers_name = wan::diffusers_name};
}

}  // namespace kinetograph::families
