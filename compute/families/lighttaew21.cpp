// LightTAE for Wan 2.1: the network of TAEW2.1, trained for the latents that Wan 2.1's own decoder takes, which are not
// normalised. Source: lightx2v/models/video_encoders/hf/wan/vae_tiny.py, ModelTC/LightX2V.
#include <kinetograph/compute/families/taehv.hpp>
#include <kinetograph/compute/families/wan21.hpp>

namespace kinetograph::families {

Family lighttaew21() {
    Family family = taehv::family("lighttaew2.1", "LightTAE for Wan 2.1", "Wan 2.1", 16, taehv::decoder);
    family.relative_of = "taew2.1";
    family.in_file_name = "lighttae";
    family.fps = 16;
    family.statistics = wan::statistics();
    return family;
}

}  // namespace kinetograph::families
