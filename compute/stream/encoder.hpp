// Encoder: pictures go in, latents come out, both as they are made. A clip's first picture becomes one latent frame,
// each later one is made of as many pictures as the family says (Wan 2.1: 4); of TAEHV's encoders the first one, too.
#pragma once

#include <kinetograph/compute/families/latent_statistics.hpp>
#include <kinetograph/compute/stream/latent_queue.hpp>
#include <kinetograph/compute/vae/latent_patches.hpp>
#include <kinetograph/compute/vae/step_options.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace kinetograph::interop {
class Bridge;
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

struct EncoderOptions {
    Encoded latents = Encoded::Mean;
    std::uint64_t seed = 0;    ///< of Sample
    bool one_picture = false;  ///< a clip is one picture: it takes no state, and only one picture's working memory
    /// Latent frames that are encoded ahead of their reader, 2 to 64.
    std::uint32_t ahead = 4;
    /// Of these: placement, batches, recorder and limits.
    vae::StepOptions steps{};
};

/// One picture in the host's memory, [height, width, 3] with any strides.
struct PictureView {
    const std::byte* data = nullptr;
    tensor::DType dtype = tensor::DType::U8;  ///< U8: 0 to 255, value / 127.5 - 1; or F32, F16, BF16 in [-1, 1]
    std::array<std::int64_t, 3> strides{};    ///< of rows, columns and colours, in elements; all 0: contiguous
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

/// Over a StepLoop, whose thread encodes. One thread pushes, any takes.
///
///   encoder->push(picture, timeout) ...  ->  encoder->finish()  ->  while (auto latents = encoder->take(timeout)) ...
class Encoder {
  public:
    /// `model`: of vae::create_encoder. `statistics`: of the latent space, taken off the latents, (z - mean) / std;
    /// empty: they stay raw. Of a `patch` above 1 latents that are no moments have patches as channels. Errors: those
    /// of StepLoop::of_pushed; InvalidArgument (EncoderOptions::ahead; a sample or moments of an encoder that makes
    /// latents alone; pictures that are no whole number of patches).
    static Result<std::unique_ptr<Encoder>> create(std::shared_ptr<interop::Bridge> bridge,
                                                   const std::shared_ptr<vae::Model>& model, PictureSize size,
                                                   families::LatentStatistics statistics,
                                                   const EncoderOptions& options = {});

    /// Takes the next picture, which is copied, and returns before it is encoded. False: nothing was done, because for
    /// the whole of `timeout` as many pictures as fit waited; take() makes room. Errors: InvalidArgument (a value that
    /// is not finite, with its place; a second picture of a clip that is one), which leaves the clip as it was;
    /// Cancelled; what has ended the clip.
    Result<bool> push(const PictureView& picture, Nanoseconds timeout);
    /// [height, width, 3].
    Result<bool> push(std::span<const std::uint8_t> rgb, Nanoseconds timeout);
    Result<bool> push(std::span<const float> rgb, Nanoseconds timeout);
    /// No more pictures come. Returns how many of the last ones make no latent frame and are dropped: a clip of 1 + 4 n
    /// pictures has none. Where the first latent frame is made of as many pictures as later ones, the last ones are
    /// filled up with the last picture instead, and none is dropped (taehv.py, encode_video).
    std::int64_t finish();
    /// The next latent frame; nothing if `timeout` passes without one, or at the end. Errors: those of
    /// FrameSource::take.
    Result<std::optional<EncodedLatents>> take(Nanoseconds timeout);
    bool finished() const { return source_.frames->finished(); }

    /// The next picture is a clip's first; latents that were not taken are dropped. A call of the thread that pushes.
    void restart();
    /// Ends waits of push() and take() within 50 ms, which return Cancelled until restart().
    void cancel() { source_.frames->cancel(); }
    /// FrameSource::close.
    bool close(Nanoseconds timeout) { return source_.frames->close(timeout); }

    const EncoderFacts& facts() const { return facts_; }
    PictureSize size() const { return size_; }
    SourceStats stats() const { return source_.frames->stats(); }
    void collect() { source_.frames->collect(); }

  private:
    Encoder(PictureSize size, families::LatentStatistics statistics, const EncoderOptions& options)
        : size_(size), statistics_(std::move(statistics)), latents_(options.latents), seed_(options.seed) {}
    Result<void> state_facts(const vae::Model& model);
    Result<bool> push_group(Nanoseconds timeout);
    void fill_group(std::int64_t from);
    Result<void> push_last_group();
    template <class Element>
    Result<bool> push_contiguous(std::span<const Element> rgb, tensor::DType dtype, Nanoseconds timeout);
    std::vector<float> made_of(std::span<const float> moments, std::int64_t index) const;

    const PictureSize size_;
    const families::LatentStatistics statistics_;
    const Encoded latents_;
    const std::uint64_t seed_;
    bool one_picture_ = false;
    bool fills_groups_ = false;     ///< with copies of the last picture
    std::int64_t made_values_ = 0;  ///< of a latent pixel: latents, or twice as many moments
    vae::PatchedShape raw_{};       ///< of a latent frame before its patches become channels
    EncoderFacts facts_;
    Mutex last_mutex_;
    bool last_waits_ KG_GUARDED_BY(last_mutex_) = false;  ///< group_ is the last one, for which there was no room yet
    // Of the thread that pushes, until the last group waits:
    std::vector<float> group_;   ///< [pictures, 3, height, width] of the next latent frame
    std::int64_t gathered_ = 0;  ///< pictures in it
    std::int64_t pushed_ = 0;    ///< pictures of the clip
    PushedSource source_;
};

}  // namespace kinetograph::stream
