// LightTAE for Wan 2.2: the network of TAEW2.2, trained for the latents that Wan 2.2's own decoder takes, which are not
// normalised. Source: lightx2v/models/video_encoders/hf/wan/vae_tiny.py, ModelTC/LightX2V.
#include <kinetograph/compute/families/taehv.hpp>
#include <kinetograph/compute/families/wan22.hpp>

namespace kinetograph::families {

Family lighttaew22() {
    Family family = taehv::family("lighttaew2.2", "LightTAE for Wan 2.2", "Wan 2.2", 48, taehv::decoder_of_blocks);
    family.relative_of = "taew2.2";
    family.in_file_name = "lighttae";
    family.statistics = wan_2_2::statistics();
    return family;
}

}  // namespace kinetograph::families
