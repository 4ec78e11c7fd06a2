// LightTAE for HunyuanVideo 1.5: the tensors of TAEHV 1.5 in a network with leaky activations, trained for the latents
// that HunyuanVideo 1.5's own decoder takes, which are not scaled, and for pictures in [-1, 1].
// Source: lightx2v/models/video_encoders/hf/tae.py and hunyuanvideo15/lighttae_hy15.py, ModelTC/LightX2V.
#include <kinetograph/compute/families/taehv.hpp>

namespace kinetograph::families {

Family lighttaehy15() {
    Family family = taehv::family(
        "lighttaehy1.5", "LightTAE for HunyuanVideo 1.5", "HunyuanVideo 1.5", 32, [](const Widths& widths) {
            return taehv::decoder_of_blocks(widths, {.negative_slope = 0.2F, .range = taehv::Range::MinusOneToOne});
        });
    family.relative_of = "taehv1.5";
    family.in_file_name = "lighttae";
    family.statistics.std.assign(32, 1 / 1.03682F);  // the diffusion model's latents are scaled by 1.03682
    return family;
}

}  // namespace kinetograph::families
