// Reencoder: latents go in, the latents of their frames come out: decoded and encoded on one device, in whose memory
// the frames stay.
#pragma once

#include <kinetograph/compute/stream/encoder.hpp>
#include <kinetograph/compute/vae/runner.hpp>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace kinetograph::stream {

/// What a call has made.
struct Reencoded {
    std::vector<EncodedLatents> latents;     ///< of the latent frames whose pictures are complete
    std::vector<std::vector<float>> frames;  ///< if they are wanted: [height, width, 3] of each, in [-1, 1]
};

/// A blocking loop over a clip of a decoder and one of its encoder, whose steps take turns on one lane. Frames go from
/// one to the other as float32, [height, width, 3], in the device's memory: unrounded to 8 bits, limited to [-1, 1]
/// where the family limits them. Latents are bit for bit those that an Encoder makes of FrameFormat::Float32 frames of
/// the same decoder. Streaming state stays on the device from call to call, on both sides, so that it does not matter
/// how a clip is cut into calls. Used by one thread at a time.
///
///   reencoder->reencode(latents) ...  ->  reencoder->finish()  ->  reencoder->restart()
class Reencoder {
  public:
    /// `encoder`: of vae::create_encoder, on the device of `decoder`, which `bridge` keeps. `size`: of the latents that
    /// go in. `statistics`: as in Moments::create. Errors: those of vae::Clip::create, vae::Runner::create and
    /// Moments::create; InvalidArgument (frames of which the encoder makes no whole number of latent pixels);
    /// Unsupported (a decoder that several devices compute, one that does not end in pictures of three channels).
    static Result<std::unique_ptr<Reencoder>> create(std::shared_ptr<interop::Bridge> bridge,
                                                     const std::shared_ptr<vae::Model>& decoder,
                                                     const std::shared_ptr<vae::Model>& encoder, vae::LatentSize size,
                                                     families::LatentStatistics statistics,
                                                     const ReencoderOptions& options = {});
    Reencoder(const Reencoder&) = delete;
    Reencoder& operator=(const Reencoder&) = delete;
    ~Reencoder() = default;

    /// Decodes the next latent frames, [latent frames, channels, height, width] as the decoder takes them, and encodes
    /// their frames. Of most families each gives one (Wan 2.1: one frame, then four); TAEHV's encoders make every
    /// latent frame of four frames, so that a clip's first call gives one fewer, and finish() the last. Errors:
    /// InvalidArgument (element count, a value that is not finite, a second latent frame of a clip that is one), which
    /// leaves the clip as it was. All others end it until restart(): OutOfRange (frames that are not finite), those of
    /// the steps, Cancelled.
    Result<Reencoded> reencode(std::span<const float> latents, const CallLimits& limits = {});
    /// No more latents come: frames that do not fill a latent frame are filled up with copies of the last one. Errors:
    /// those of the steps; Cancelled.
    Result<Reencoded> finish(const CallLimits& limits = {});
    /// The next latents are a clip's first. Errors: those of the device.
    Result<void> restart();

    /// Of the latents that come out; the memory is that of both directions.
    const EncoderFacts& facts() const { return facts_; }
    std::int64_t channels() const { return decoding_.clip->model().channels(); }  ///< of the latents that go in
    vae::LatentSize latent_size() const { return decoding_.clip->latent_size(); }
    PictureSize frame_size() const { return size_; }

  private:
    static constexpr std::size_t kUnderWay = 2;  ///< steps of each direction, so that the device waits for no call
    /// A step's graph, declared once for each kind, and what is bound anew for each step.
    struct StepGraph {
        graph::FrameGraph frame;
        graph::Buffer in, not_finite;
        std::vector<graph::Buffer> out, copies;
    };
    struct UnderWay {
        vae::EnqueuedStep step;
        std::size_t slot = 0;
    };
    /// Memory of the steps under way, [slot].
    struct Side {
        std::unique_ptr<vae::Clip> clip;
        std::map<vae::StepKind, StepGraph> graphs;
        std::deque<UnderWay> under_way;
        std::size_t steps = 0;
        std::unique_ptr<accel::Memory> flags;  ///< pinned, [slot]: 1 once a step makes a value that is not finite
    };
    Reencoder(std::shared_ptr<interop::Bridge> bridge, PictureSize size, Moments moments, bool keeps_frames)
        : bridge_(std::move(bridge)), size_(size), moments_(std::move(moments)), keeps_frames_(keeps_frames) {}
    Result<void> make(const std::shared_ptr<vae::Model>& decoder, const std::shared_ptr<vae::Model>& encoder,
                      vae::LatentSize size, const ReencoderOptions& options);
    Result<void> allocate();
    void state_memory();
    Result<void> check(std::span<const float> latents) const;
    Result<void> decode(std::span<const float> latent, Reencoded& made, const CallLimits& limits);
    Result<void> encode(Reencoded& made, const CallLimits& limits);
    Result<void> take_frames(Reencoded& made, const CallLimits& limits);
    Result<void> take_latents(Reencoded& made, const CallLimits& limits);
    Result<Reencoded> take_all(Reencoded made, const CallLimits& limits);
    Result<StepGraph*> decoding(vae::StepKind kind);
    Result<StepGraph*> encoding(vae::StepKind kind);
    std::uint64_t frame_bytes() const;
    std::uint64_t moment_bytes() const;  ///< of a latent frame
    std::int64_t group() const;          ///< frames of the next latent frame that comes out
    graph::Physical place_of_next(std::int64_t after) const;

    const std::shared_ptr<interop::Bridge> bridge_;
    const PictureSize size_;
    const Moments moments_;
    const bool keeps_frames_;
    EncoderFacts facts_;
    std::int64_t groups_ = 0;    ///< latent frames that were encoded
    std::int64_t gathered_ = 0;  ///< frames of the next one
    std::optional<Error> ended_;
    std::unique_ptr<accel::Memory> frames_;  ///< on the device, [2 groups][most][height, width, 3]
    std::unique_ptr<accel::Memory> staged_, made_, copied_frames_;  ///< pinned: latents in, moments out, frames out
    Side decoding_, encoding_;
    std::unique_ptr<vae::Runner> runner_;  ///< declared last: waits before what its steps use is released
};

}  // namespace kinetograph::stream
