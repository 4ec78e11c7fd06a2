// Latents: a clip's latent frames, checked when they are read.
#pragma once

#include <kinetograph/compute/families/latent_statistics.hpp>
#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/compute/vae/note.hpp>

#include <optional>
#include <span>
#include <vector>

namespace kinetograph::formats {
class TensorSource;
}

namespace kinetograph::vae {

class Checkpoint;

enum class LatentScale : std::uint8_t {
    Auto,        ///< normalised, but a file that says that it is raw is read as raw
    Normalized,  ///< as a diffusion model makes them: z * std + mean is applied
    Raw,         ///< with z * std + mean applied already, as ComfyUI keeps them
};

/// What a decoder takes, so that a file is read accordingly. The default takes any [C, T, h, w].
struct LatentsWanted {
    std::int64_t channels = 0;  ///< 0: any
    bool pictures = false;      ///< a clip is one latent frame: several are a batch
    double fps = 24;            ///< where the file says none
    LatentScale scale = LatentScale::Auto;
    /// Of raw latents: taken off the values of a raw file, because the decoder applies them, or takes normalised
    /// latents only. Empty: raw latents are read as they are. Of a `patch` above 1 the decoder takes raw latents of
    /// `channels` alone: latents with patches as channels are brought to these, and are normalised where Auto is asked,
    /// others raw.
    families::LatentStatistics raw{};
    std::string decoder{};  ///< "vae.safetensors is a Wan 2.1 VAE"
    std::string latents{};  ///< "Wan 2.1"
};
LatentsWanted wanted_by(const Checkpoint& checkpoint, LatentScale scale = LatentScale::Auto);

/// What the person who opens a file says about it.
struct LatentsChoices {
    std::string tensor{};                      ///< its name; empty: see Latents::open
    std::optional<std::int64_t> batch_item{};  ///< of a batch, from 0
    double fps = 0;                            ///< 0.01 to 1000; 0: the file's, else the decoder's
    std::string axes{};                        ///< their order in the tensor: "BTChw"; empty: see Latents::open
};

/// A latent clip in memory: [C, T, h, w] float32.
struct Latents {
    std::string name;  ///< the file, for messages
    std::int64_t channels = 0, frames = 0, height = 0, width = 0;
    std::vector<float> values;
    double fps = 24.0;               ///< of the decoded video, 0.01 to 1000
    std::uint64_t content_hash = 0;  ///< XXH3-64 of the file
    std::vector<Note> notes{};       ///< what was assumed, and what the values contradict

    /// Reads the latents from a file of any format of compute/formats. The tensor is `latents`, or has another name
    /// that tools give it (latent, samples, latent_tensor, latents_5x16x16_bfloat16 ...), or is the only one that can
    /// be them. Its axes are in the first order that has the wanted channels, or those of patches: [C,T,h,w], [T,C,h,w]
    /// or [T,h,w,C], each also with a batch before it, or [C,h,w] or [h,w,C]; of several, in the one whose channels the
    /// values show. A tensor `latent_format_version_0` marks raw latents (ComfyUI). Errors: those of formats::open;
    /// NotFound without such a tensor; InvalidArgument for several that could be, a type that is not floating-point, a
    /// shape in which no axis has the wanted channels (with what each order would have) or only one that the values
    /// contradict, a batch of which no item is chosen, zero frames, a latent side above 1024, or a value that is not
    /// finite (with its position: the usual cause of black frames); Cancelled.
    static Result<Latents> open(const std::filesystem::path& path, const LatentsWanted& wanted = {},
                                const LatentsChoices& choices = {}, const tensor::ReadOptions& options = {});
    /// The same of a file that is open.
    static Result<Latents> read(const formats::TensorSource& file, const LatentsWanted& wanted,
                                const LatentsChoices& choices);

    /// Latent frame `t` as [C, h, w]: what Decoder::step takes.
    std::vector<float> frame(std::int64_t t) const;
};

/// A sentence if the values look raw though they are to be decoded as normalised: the means and deviations of their
/// channels differ from one another as `wanted.raw` does. `values` is [channels, n]; `name` begins the sentence. None
/// where wanted.raw is of patches: a decoder of these takes raw latents.
std::optional<std::string> doubt_scale(std::string_view name, std::span<const float> values,
                                       const LatentsWanted& wanted);

/// Refuses a value that is not finite, because it would spread over the whole picture and every later frame. `latent`
/// is latent frame `index` of a clip, [C, pixels]. Errors: InvalidArgument, saying where.
Result<void> check_finite(std::span<const float> latent, std::int64_t index, std::int64_t pixels);

}  // namespace kinetograph::vae
