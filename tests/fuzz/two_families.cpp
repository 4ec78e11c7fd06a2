// Two families in the place of the build's table, which would need all of the networks.
#include <kinetograph/compute/families/family.hpp>

namespace kinetograph::families {

const std::vector<Family>& all() {
    static const std::vector<Family> families{
        {.name = "wan2.1", .title = "Wan 2.1", .latents = "Wan 2.1", .published = {.dim = 96, .z_dim = 16}},
        {.name = "wan2.2", .title = "Wan 2.2", .latents = "Wan 2.2", .published = {.dim = 256, .z_dim = 48}}};
    return families;
}

}  // namespace kinetograph::families
