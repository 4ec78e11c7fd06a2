// Qwen-Image: the Wan 2.1 network with a decoder trained for pictures; a clip is one latent frame. In diffusers its
// tensors have Wan 2.1's names, so config.json distinguishes them. Source: diffusers' AutoencoderKLQwenImage (base_dim
// 96, z_dim 16, dim_mult 1 2 4 4).
#include <kinetograph/compute/families/wan21.hpp>

namespace kinetograph::families {

Family qwen_image() {
    return {.name = "qwen-image",
            .title = "Qwen-Image",
            .diffusers_class = "AutoencoderKLQwenImage",
            .latents = "Wan 2.1",
            .relative_of = "wan2.1",
            .rates = {.time = {1, 4}, .space = {1, 8}},
            .one_latent_frame = true,
            .published = {.dim = 96, .z_dim = 16},
            .dim = {"decoder.head.0.gamma", 0},
            .z_dim = {"conv2.bias", 0},
            .end = "decoder.head.2",
            .is_causal = true,
            .statistics = wan::statistics(),
            .config = wan::config,
            .decoder = wan::decoder,
            .bytes = wan::byte_recipes(),
            .diffusers_name = wan::diffusers_name};
}

}  // namespace kinetograph::families
