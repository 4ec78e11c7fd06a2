// What is made of the moments that steps of an encoder write: the mean, a sample, or both moments, normalised or not.
#pragma once

#include <kinetograph/compute/families/latent_statistics.hpp>
#include <kinetograph/compute/vae/latent_patches.hpp>
#include <kinetograph/compute/vae/stack_memory.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace kinetograph::vae {
class Model;
}

namespace kinetograph::stream {

struct PictureSize {
    std::int64_t height = 0, width = 0;  ///< pixels, multiples of what becomes one latent pixel (Wan 2.1: 8)
    friend bool operator==(const PictureSize&, const PictureSize&) = default;
};

/// What is made of an encoder's moments; of an encoder that makes latents alone (TAEHV), Mean are these.
enum class Encoded : std::uint8_t {
    Mean,     ///< the mean: what image-to-video pipelines and training caches take
    Sample,   ///< mean + deviation * noise(), with the logarithm of the variance limited to [-30, 20]
    Moments,  ///< means, then logarithms of variances, twice the channels, of raw latents as the network makes them
};

/// Which latents an encoder gives.
struct MomentChoices {
    Encoded latents = Encoded::Mean;
    std::uint64_t seed = 0;  ///< of Sample
};

/// One latent frame.
struct EncodedLatents {
    std::int64_t index = 0;  ///< in the clip
    bool is_finite = true;
    std::vector<float> values{};  ///< [channels, height, width]
};

struct EncoderFacts {
    std::int64_t channels = 0, height = 0, width = 0;  ///< of what take() gives
    std::int64_t first_pictures = 1;                   ///< that become a clip's first latent frame
    std::int64_t pictures_of_a_latent = 1;             ///< that become a later one
    vae::StackMemory memory{};
};

/// The value of a standard normal distribution for value `index` of a clip's latents, [frames, channels, height,
/// width]: u and v are the upper 53 bits of splitmix64's outputs 2 index and 2 index + 1 from the state `seed`, as
/// numbers in (0, 1] and [0, 1); sqrt(-2 ln u) cos(2 pi v) (Box and Muller). It depends on nothing else: neither on the
/// device nor on how pictures are pushed.
double noise(std::uint64_t seed, std::uint64_t index);

/// How latents are made of the moments of one size of pictures.
class Moments {
  public:
    /// Those of pictures of that size by `model`, of vae::create_encoder. `statistics`: of the latent space, taken off
    /// the latents, (z - mean) / std; empty: they stay raw. Of a `patch` above 1 latents that are no moments have
    /// patches as channels. Errors: InvalidArgument (a sample or moments of an encoder that makes latents alone;
    /// pictures that are no whole number of patches).
    static Result<Moments> create(const vae::Model& model, PictureSize size, families::LatentStatistics statistics,
                                  const MomentChoices& choices);

    /// Of latent frame `index` of a clip. `moments` are [height, width, values of a pixel], means first.
    std::vector<float> latents(std::span<const float> moments, std::int64_t index) const;
    /// Values of what a step writes for a latent frame.
    std::int64_t values() const { return raw_.height * raw_.width * made_values_; }
    EncoderFacts facts() const;  ///< without the memory

  private:
    Moments() = default;

    families::LatentStatistics statistics_;
    MomentChoices choices_;
    std::int64_t made_values_ = 0;  ///< of a latent pixel: latents, or twice as many moments
    vae::PatchedShape raw_{};       ///< of a latent frame before its patches become channels
    std::int64_t first_pictures_ = 1, pictures_of_a_latent_ = 1;
};

}  // namespace kinetograph::stream
