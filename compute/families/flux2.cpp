// FLUX.2: 32 latent channels, and convolutions between them and the networks. Diffusion models have 2 x 2 pixels of
// them as 128 channels, normalised by a batch norm whose statistics are in the checkpoint. Source: diffusers'
// AutoencoderKLFlux2 and Flux2Pipeline.
#include <kinetograph/compute/families/autoencoder_kl.hpp>

namespace kinetograph::families {

namespace {

/// The encoder's stages may have other widths, which its tensors tell.
std::vector<std::pair<std::string, std::string>> flux2_config(const Widths& widths) {
    auto fields = kl::config(widths);
    for (auto& [key, value] : fields)
        if (key == "block_out_channels") key = "decoder_block_out_channels";
    fields.emplace_back("patch_size", "[2,2]");
    return fields;
}

}  // namespace

Family flux2() {
    constexpr std::int64_t kChannels = 32, kPatch = 2;
    constexpr std::size_t kOfPatches = kChannels * kPatch * kPatch;
    Family family = kl::family("flux.2", "FLUX.2", "FLUX.2", kChannels, 1, 0);
    family.diffusers_class = "AutoencoderKLFlux2";
    family.published.quantiser = true;
    family.statistics = {std::vector<float>(kOfPatches, 0.0F), std::vector<float>(kOfPatches, 1.0F), kPatch};
    family.config = flux2_config;
    return family;
}

}  // namespace kinetograph::families
