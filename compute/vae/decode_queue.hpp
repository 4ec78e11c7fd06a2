// DecodeQueue: decodes a clip on its own thread, ahead of display, into a bounded queue of displayable frames.
#pragma once

#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/compute/vae/latents.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace kinetograph::vae {

/// One displayable frame.
struct Frame {
    std::int64_t index = 0;        ///< in the clip, from 0
    std::int64_t step = 0;         ///< latent frame it came from
    std::uint64_t generation = 0;  ///< grows with every restart; older generations are never returned afterwards
    std::int64_t width = 0, height = 0;
    Nanoseconds presentation_time{};  ///< from the clip's start: index / fps
    Nanoseconds decoded_at{};         ///< host axis
    std::int64_t not_finite = 0;      ///< values of its step that were infinite or no number: black here
    std::vector<std::uint8_t> rgba;   ///< [height, width, 4], sRGB-encoded as the model makes it, alpha 255
};

struct DecodeQueueOptions {
    std::size_t capacity = 16;  ///< frames, at least those of a step
    bool loop = false;          ///< start over at the end of the clip: frame indices begin at 0 again, same generation
};

struct DecodeQueueStats {
    std::size_t depth = 0;  ///< frames ready
    std::size_t capacity = 0;
    std::uint64_t steps = 0;     ///< decoded since the start
    Nanoseconds last_step{};     ///< latency of the last step
    Nanoseconds average_step{};  ///< of steps that give as many frames as any
    bool finished = false;       ///< clip decoded to its end (never with loop)
};

class DecodeQueue {
  public:
    /// Starts decoding at once. `decoder` belongs to the queue until destruction.
    /// Errors: those of check_fit().
    static Result<std::unique_ptr<DecodeQueue>> create(std::unique_ptr<Decoder> decoder, Latents clip,
                                                       const DecodeQueueOptions& options = {});
    virtual ~DecodeQueue() = default;

    /// The next frame in order, or nothing if none is ready. Never blocks on decoding.
    /// An Error from the decoder is returned once all frames before it are taken, and from then on until restart().
    virtual Result<std::optional<Frame>> try_pop() = 0;
    /// Blocks until a frame is ready or the clip is finished (nothing then).
    virtual Result<std::optional<Frame>> pop() = 0;
    /// Drops all queued frames and starts again at the clip's first frame, with a new generation.
    virtual void restart() = 0;
    virtual void set_loop(bool loop) = 0;
    virtual DecodeQueueStats stats() const = 0;
    virtual const Latents& clip() const = 0;
    virtual const Decoder& decoder() const = 0;
};

/// Packs [pixels, 3] float32 into [pixels, 4] 8-bit pixels, alpha 255, each value by nn::to_unorm8().
void to_rgba8(std::span<const float> rgb, std::span<std::uint8_t> rgba);

}  // namespace kinetograph::vae
