#include <kinetograph/compute/stream/frame_stream.hpp>

#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <pthread.h>

#include <algorithm>

namespace kinetograph::stream {
namespace {

constexpr Nanoseconds kStopPoll = std::chrono::milliseconds(20);  // how soon a wait for a slot notices the end

/// On a queue that draws too, a copy that waits for the decoder would hold up the pictures behind it.
Copies copies_on(const vulkan::Device* display, graph::Lane lane) {
    const bool draws =
        display != nullptr && display->queue(lane).handle == display->queue(graph::Lane::Graphics).handle;
    return draws ? Copies::OnceDecoded : Copies::Ahead;
}

}  // namespace

Result<std::unique_ptr<FrameStream>> FrameStream::create(interop::Bridge& bridge, std::unique_ptr<vae::Decoder> decoder,
                                                         const vae::Latents& clip, const FrameStreamOptions& options) {
    KG_CHECK(vae::check_fit(*decoder, clip));
    std::unique_ptr<FrameStream> stream(new FrameStream(clip.frames, options.loop));
    KG_CHECK(stream->upload(bridge.accelerator(), clip));
    KG_TRY(stream->decoder_, RingDecoder::create(bridge, std::move(decoder),
                                                 {.storage = options.storage,
                                                  .slots = options.slots,
                                                  .copy_lane = options.copy_lane,
                                                  .copies = copies_on(bridge.display(), options.copy_lane),
                                                  .fps = clip.fps,
                                                  .recorder = options.recorder}));
    stream->thread_ = std::thread([raw = stream.get()] { raw->run(); });
    pthread_setname_np(stream->thread_.native_handle(), "frame stream");
    return stream;
}

/// All of the clip: a latent frame is a three-hundredth of the pixels that it becomes.
Result<void> FrameStream::upload(accel::Device& device, const vae::Latents& clip) {
    latent_bytes_ = static_cast<std::uint64_t>(clip.channels * clip.height * clip.width) * sizeof(float);
    KG_TRY(latents_, device.allocate("latents of a clip", latent_bytes_ * static_cast<std::uint64_t>(frames_)));
    KG_TRY(auto stream, device.create_stream("latents of a clip"));
    for (std::int64_t t = 0; t < frames_; ++t) {
        const std::vector<float> values = clip.frame(t);
        if (auto finite = vae::check_finite(values, t, clip.height * clip.width); !finite && !bad_) {
            first_bad_ = t;
            bad_ = std::move(finite.error());
        }
        std::byte* to = latents_->data() + static_cast<std::uint64_t>(t) * latent_bytes_;
        KG_CHECK(stream->upload(to, std::as_bytes(std::span(values))));
    }
    return {};
}

LatentFrame FrameStream::latent(std::int64_t index) const {
    return {latents_->data() + static_cast<std::uint64_t>(index) * latent_bytes_, latent_bytes_, {}};
}

FrameStream::~FrameStream() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void FrameStream::run() {
    while (!stop_) {
        auto more = without_exceptions("decoding", [this]() -> Result<bool> {
            if (follow_restart()) KG_CHECK(decoder_->begin_clip(decoded_generation_));
            return decode_next();
        });
        if (!more)
            end(std::move(more.error()));
        else if (!*more)
            end(std::nullopt);
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || !at_end_; });
    }
}

/// True if the next step is a clip's first: after a restart, and where a loop begins again.
bool FrameStream::follow_restart() {
    std::lock_guard lock(mutex_);
    const bool restarted = generation_ != decoded_generation_;
    const bool around = loop_ && next_ == frames_;
    decoded_generation_ = generation_;
    if (restarted || around) next_ = 0;
    return restarted || around;
}

/// False at the clip's end.
Result<bool> FrameStream::decode_next() {
    if (next_ == frames_) return false;
    if (next_ == first_bad_) return fail(*bad_);
    const auto stepped = decoder_->step(latent(next_), kStopPoll);
    if (!stepped) return fail(stepped.error(), fmt::format("latent frame {}", next_));
    if (*stepped == Stepped::Enqueued) ++next_;
    return true;
}

/// Unless what has ended has been thrown away meanwhile.
void FrameStream::end(std::optional<Error> error) {
    std::lock_guard lock(mutex_);
    if (generation_ != decoded_generation_ || (!error && loop_)) return;
    error_ = std::move(error);
    at_end_ = true;
}

Result<std::optional<interop::FrameRecord>> FrameStream::try_take() {
    // Asked before the ring: whatever was decoded before an error is in there by then.
    std::optional<Error> error;
    {
        std::lock_guard lock(mutex_);
        error = error_;
    }
    auto record = decoder_->ring().try_take_ready();
    if (auto status = record ? decoder_->status() : Result<void>{}; !status) {
        static_cast<void>(decoder_->ring().release(*record, {}));
        return fail(std::move(status.error()));
    }
    // Frames that wait behind a lost device are never decoded.
    const bool is_last = error && (error->code == ErrorCode::DeviceLost || decoder_->ring().stats().waiting == 0);
    if (!record && is_last) return fail(std::move(*error));
    return record;
}

Result<std::optional<interop::FrameRecord>> FrameStream::try_take_ahead() {
    std::optional<Error> error;
    {
        std::lock_guard lock(mutex_);
        error = error_;
    }
    auto record = decoder_->ring().try_take();
    if (!record && error) return fail(std::move(*error));
    return record;
}

void FrameStream::restart() {
    {
        std::lock_guard lock(mutex_);
        generation_ = decoder_->ring().restart();
        at_end_ = false;
        error_.reset();
    }
    changed_.notify_all();
}

void FrameStream::set_loop(bool loop) {
    {
        std::lock_guard lock(mutex_);
        loop_ = loop;
        if (loop && !error_) at_end_ = false;
    }
    changed_.notify_all();
}

bool FrameStream::finished() const {
    std::lock_guard lock(mutex_);
    return at_end_ && !error_ && decoder_->ring().stats().waiting == 0;
}

FrameStreamStats FrameStream::stats() const {
    std::lock_guard lock(mutex_);  // before the ring is asked: at the end all frames are in it
    const interop::FrameRingStats ring = decoder_->ring().stats();
    return {ring.waiting, decoder_->ring().desc().slots, decoder_->times(), at_end_ && !error_};
}

}  // namespace kinetograph::stream
