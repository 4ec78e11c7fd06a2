// Qwen-Image: the Wan 2.1 network with a decoder trained for pictures; a clip is one latent frame. In diffusers its
// tensors have Wan 2.1's names, so config.json distinguishes them. Source: diffusers' AutoencoderKLQwenImage (base_dim
// 96, z_dim 16, dim_mult 1 2 4 4).
#include <kinetograph/compute/families/wan21.hpp>

namespace kinetograph::families {

Family qwen_image() {
    Family family = wan21();
    family.name = "qwen-image";
    family.title = "Qwen-Image";
    family.diffusers_class = "AutoencoderKLQwenImage";
    family.relative_of = "wan2.1";
    family.one_latent_frame = true;
    family.fps = Family{}.fps;
    return family;
}

}  // namespace kinetograph::families
