// Encoder: pictures go in, latents come out, both as they are made. A clip's first picture becomes one latent frame,
// each later one is made of as many pictures as the family says (Wan 2.1: 4); of TAEHV's encoders the first one, too.
#pragma once

#include <kinetograph/compute/stream/latent_queue.hpp>
#include <kinetograph/compute/stream/moments.hpp>
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

struct EncoderOptions {
    Encoded latents = Encoded::Mean;
    std::uint64_t seed = 0;    ///< of Sample
    bool one_picture = false;  ///< a clip is one picture: it takes no state, and only one picture's working memory
    /// Latent frames that are encoded ahead of their reader, 2 to 64.
    std::uint32_t ahead = 4;
    /// Of these: placement, batches, recorder and limits.
    vae::StepOptions steps{};
};

/// Of a Reencoder (reencoder.hpp).
struct ReencoderOptions {
    MomentChoices moments{};
    bool frames = false;  ///< give the frames, too
    /// Of these: placement, bands of the decoder, batches, recorder and limits.
    vae::StepOptions steps{};
};

/// One picture in the host's memory, [height, width, 3] with any strides.
struct PictureView {
    const std::byte* data = nullptr;
    tensor::DType dtype = tensor::DType::U8;  ///< U8: 0 to 255, value / 127.5 - 1; or F32, F16, BF16 in [-1, 1]
    std::array<std::int64_t, 3> strides{};    ///< of rows, columns and colours, in elements; all 0: contiguous
};

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
    Encoder(PictureSize size, Moments moments) : size_(size), moments_(std::move(moments)) {}
    Result<bool> push_group(Nanoseconds timeout);
    void fill_group(std::int64_t from);
    Result<void> push_last_group();
    template <class Element>
    Result<bool> push_contiguous(std::span<const Element> rgb, tensor::DType dtype, Nanoseconds timeout);

    const PictureSize size_;
    const Moments moments_;
    bool one_picture_ = false;
    bool fills_groups_ = false;  ///< with copies of the last picture
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
