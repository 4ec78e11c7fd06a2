#include <kinetograph/compute/families/family.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace kinetograph::families {

std::string any_of(std::string Family::*member, std::int64_t z_dim) {
    std::vector<std::string_view> names;
    for (const Family& family : all())
        if (z_dim == 0 || family.published.z_dim == z_dim) names.push_back(family.*member);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
    return text;
}

nn::Network decoder_of(const Family& family, const Widths& widths) {
    nn::Network network = family.decoder(widths);
    return family.one_latent_frame ? network.of_first_step() : network;
}

std::string takers_of(std::int64_t channels) {
    if (const std::string takers = any_of(&Family::latents, channels); !takers.empty())
        return fmt::format(" ({} channels are latents of {})", channels, takers);
    for (const Family& family : all())
        if (const std::int64_t patch = family.statistics.patch;
            patch > 1 && family.published.z_dim * patch * patch == channels)
            return fmt::format(" ({} channels are latents of {} in patches of {} x {})", channels, family.latents,
                               patch, patch);
    return "";
}

}  // namespace kinetograph::families
