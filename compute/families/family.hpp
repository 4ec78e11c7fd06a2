// Family: all that is known of one kind of VAE. Each is one source of this folder, found by being there.
#pragma once

#include <kinetograph/compute/nn/network.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::families {

/// One value per latent channel: z * std + mean undoes the normalisation of latents.
struct LatentStatistics {
    std::vector<float> mean, std;
};

/// The numbers that a checkpoint's shapes tell.
struct Widths {
    std::int64_t dim = 0;    ///< channels of the last and narrowest stage
    std::int64_t z_dim = 0;  ///< latent channels
    friend bool operator==(const Widths&, const Widths&) = default;
};

/// A dimension of a tensor that is a width of the model.
struct WidthIn {
    std::string tensor;
    std::size_t axis = 0;
};

struct Family {
    std::string name;             ///< "wan2.1": in commands and in "synthetic:wan2.1"
    std::string title;            ///< "Wan 2.1": in sentences
    std::string diffusers_class;  ///< what config.json calls it: "AutoencoderKLWan"
    /// Whether the names of its tensors tell it from every other family; otherwise the class does.
    bool has_keys_of_its_own = true;
    nn::Factors factors;            ///< what its decoder's network makes of a latent frame
    bool one_latent_frame = false;  ///< of pictures: a clip is one latent frame
    Widths published;               ///< of the published checkpoint
    WidthIn dim, z_dim;             ///< where a checkpoint tells them
    LatentStatistics statistics;    ///< of the published checkpoint
    nn::Network (*decoder)(const Widths& widths) = nullptr;
    std::string (*diffusers_name)(std::string_view original) = nullptr;  ///< of a parameter of `decoder`

    /// The first latent frame of a clip is one frame; each later one is factors.time.
    std::int64_t frames_of(std::int64_t latent_frames) const {
        return latent_frames < 1 ? 0 : 1 + factors.time * (latent_frames - 1);
    }
};

/// Every family, by the name of its source.
const std::vector<Family>& all();

/// Null for a name that no family has.
inline const Family* find(std::string_view name) {
    for (const Family& family : all())
        if (family.name == name) return &family;
    return nullptr;
}

/// "qwen-image or wan2.1", "Qwen-Image or Wan 2.1": one member of every family, for a sentence.
inline std::string any_of(std::string Family::*member) {
    std::string text;
    for (const Family& family : all())
        text += (text.empty() ? "" : &family == &all().back() ? " or " : ", ") + family.*member;
    return text;
}

}  // namespace kinetograph::families
