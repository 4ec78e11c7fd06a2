// Family: everything specific to one kind of VAE. Each is one source of this folder, which the build picks up.
#pragma once

#include <kinetograph/compute/families/latent_statistics.hpp>
#include <kinetograph/compute/nn/byte_layers.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kinetograph::families {

/// The sizes that a checkpoint's shapes determine.
struct Widths {
    std::int64_t dim = 0;    ///< channels of the last and narrowest stage
    std::int64_t z_dim = 0;  ///< latent channels
    /// Channels of the last layer: 3, or 4 with an alpha, of a pixel or of 2 x 2 pixels. 0: the family's own.
    std::int64_t end = 0;
    bool pictures = false;   ///< filters without a time axis: every latent frame becomes one frame
    bool quantiser = false;  ///< a 1x1 convolution between the latents and the network, of families that may have one
    friend bool operator==(const Widths&, const Widths&) = default;
};

/// The last layer of a network whose checkpoint has one of Widths::end channels: the first three colours of each pixel.
struct End {
    std::int64_t side = 1;  ///< pixels of a block, each way
    std::int64_t channels() const { return 3 * side * side; }
};
/// Of `end` channels, or of `own` if that is 0. None for other numbers than 3, 4, 12 and 16.
constexpr std::optional<End> end_of(std::int64_t end, std::int64_t own) {
    switch (end == 0 ? own : end) {
        case 3:
        case 4:
            return End{1};
        case 12:
        case 16:
            return End{2};
        default:
            return std::nullopt;
    }
}

/// The dimension of a tensor that gives a width of the model.
struct WidthIn {
    std::string tensor;
    std::size_t axis = 0;
};

struct Family {
    std::string name;             ///< "wan2.1": in commands and in "synthetic:wan2.1"
    std::string title;            ///< "Wan 2.1": in sentences
    std::string diffusers_class;  ///< its class in config.json: "AutoencoderKLWan"
    /// Whose latents it takes, in sentences: "Wan 2.1". Families with the same word decode the same latents.
    std::string latents;
    /// The family whose tensor names it shares: "wan2.1". Files of the two are told apart by `diffusers_class`; if this
    /// family has none, by a scaling_factor that the file states, or by `in_file_name`; if that is empty too, by the
    /// published width. Empty: no other family with as
    /// many latent channels has its tensor names.
    std::string relative_of{};
    std::string in_file_name{};     ///< a part of its files' names, in lower case, without '_' and '-': "lighttae"
    nn::Rates rates;                ///< of its decoder's network
    bool one_latent_frame = false;  ///< for pictures: a clip is one latent frame
    bool is_small = false;          ///< made to be fast: suits previews of the other families that take its latents
    double fps = 24;                ///< of the videos whose latents it takes, where nothing says otherwise
    Widths published;               ///< of the published checkpoint
    WidthIn dim, z_dim;             ///< where a checkpoint has them
    std::string end{};              ///< key of the last layer
    std::string quantiser{};        ///< key of what Widths::quantiser is about; empty: the family has no such variants
    bool is_causal = false;         ///< there are variants for pictures, whose filters have no time axis
    /// Of the latent space, which decoders of every width share; of a `patch` above 1 each checkpoint has its own, and
    /// these are 0 and 1.
    LatentStatistics statistics;
    /// Of raw latents, if `statistics` are not: a decoder that takes normalised latents applies none.
    LatentStatistics raw{};
    /// What config.json says of a decoder of those widths: keys and their values in JSON. Other fields may have any
    /// value. Null: the family does not come as a folder with a config.json.
    std::vector<std::pair<std::string, std::string>> (*config)(const Widths& widths) = nullptr;
    nn::Network (*decoder)(const Widths& widths) = nullptr;
    /// Pictures to moments of latents, or to latents as the decoder takes them; null: not built.
    nn::Network (*encoder)(const Widths& widths) = nullptr;
    float encoder_scale = 1, encoder_shift = 0;  ///< of pictures in [-1, 1], as the encoder takes them
    WidthIn encoder_dim{};                       ///< where a checkpoint has the encoder's Widths::dim
    std::int64_t published_encoder_dim = 0;      ///< the same of the published checkpoint; 0: `published.dim`
    std::string encoder_quantiser{};             ///< as `quantiser`, of the encoder
    std::vector<nn::ByteRecipe> bytes{};  ///< of `decoder`, the default first; empty: none is known to keep the picture
    std::string (*diffusers_name)(std::string_view original) = nullptr;  ///< of a parameter of either network
};

/// Every family, by the name of its source.
const std::vector<Family>& all();

/// Null if no family has that name.
inline const Family* find(std::string_view name) {
    for (const Family& family : all())
        if (family.name == name) return &family;
    return nullptr;
}

/// What decodes: of a family whose clips are one latent frame, with the temporal taps of that alone.
nn::Network decoder_of(const Family& family, const Widths& widths);

/// "qwen-image or wan2.1", "HunyuanVideo or Wan 2.1": one member of every family, or of every one whose latents have
/// `z_dim` channels, each value once, for a sentence. Empty if there is none.
std::string any_of(std::string Family::*member, std::int64_t z_dim = 0);

/// " (48 channels are latents of Wan 2.2)", for a sentence; empty if no family takes so many.
std::string takers_of(std::int64_t channels);

}  // namespace kinetograph::families
