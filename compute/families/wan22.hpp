// What related families share with Wan 2.2: the statistics of its latents.
#pragma once

#include <kinetograph/compute/families/family.hpp>

namespace kinetograph::families::wan_2_2 {

/// Of the published checkpoint. Source: wan/modules/vae2_2.py, Wan-Video/Wan2.2.
LatentStatistics statistics();

}  // namespace kinetograph::families::wan_2_2
