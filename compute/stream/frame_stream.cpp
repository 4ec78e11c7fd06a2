#include <kinetograph/compute/stream/frame_stream.hpp>
#include <kinetograph/compute/stream/ring_decoder.hpp>

#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

namespace kinetograph::stream {
namespace {

using interop::FrameRecord;
using interop::FrameRingDesc;

constexpr Nanoseconds kPoll = std::chrono::milliseconds(20);  // how soon a wait for a device notices a cancel
constexpr Nanoseconds kNever = Nanoseconds::max();            // on the host axis

/// The time left until `until`, at most one poll.
Nanoseconds poll_until(Nanoseconds until) { return std::clamp(until - host_now(), Nanoseconds{}, kPoll); }

/// On a queue that also draws, a copy that waits for the decoder would delay later pictures.
Copies copies_on(const vulkan::Device* display, graph::Lane lane) {
    const bool draws =
        display != nullptr && display->queue(lane).handle == display->queue(graph::Lane::Graphics).handle;
    return draws ? Copies::OnceDecoded : Copies::Ahead;
}

/// The latents of a whole clip, uploaded to the accelerator.
struct UploadedClip {
    std::int64_t frames = 0;
    std::uint64_t frame_bytes = 0;
    std::unique_ptr<accel::Memory> latents{};  ///< [frames, z_dim, h, w] float32
    std::int64_t first_bad = -1;               ///< the first latent frame with a value that is not finite; -1: none
    std::optional<Error> bad{};                ///< which value

    static Result<UploadedClip> create(accel::Device& device, const vae::Latents& clip, const CallLimits& limits) {
        UploadedClip made{
            .frames = clip.frames,
            .frame_bytes = static_cast<std::uint64_t>(clip.channels * clip.height * clip.width) * sizeof(float)};
        const std::uint64_t bytes = made.frame_bytes * static_cast<std::uint64_t>(clip.frames);
        KG_TRY(made.latents, device.allocate("latents of a clip", bytes));
        KG_TRY(auto stream, device.create_stream("latents of a clip"));
        for (std::int64_t t = 0; t < clip.frames; ++t) {
            KG_CHECK(limits.check(clip.name));
            const std::vector<float> values = clip.frame(t);
            if (auto finite = vae::check_finite(values, t, clip.height * clip.width); !finite && !made.bad) {
                made.first_bad = t;
                made.bad = std::move(finite.error());
            }
            std::byte* to = made.latents->data() + static_cast<std::uint64_t>(t) * made.frame_bytes;
            KG_CHECK(stream->upload(to, std::as_bytes(std::span(values))));
        }
        return made;
    }
    LatentFrame part(std::int64_t first, std::int64_t count) const {
        return {.address = latents->data() + static_cast<std::uint64_t>(first) * frame_bytes,
                .bytes = static_cast<std::uint64_t>(count) * frame_bytes,
                .count = count};
    }
};

/// Whether the next step is a clip's first.
enum class Begin : std::uint8_t {
    No,
    Around,  ///< a loop begins again, in the same generation
    Anew,    ///< after a restart: frames of the previous clip are discarded
};

Error cancelled() { return {ErrorCode::Cancelled, "the stream was cancelled"}; }

class DecodingStream final : public FrameStream {
  public:
    explicit DecodingStream(std::shared_ptr<interop::Bridge> bridge) : bridge_(std::move(bridge)) {}
    ~DecodingStream() override;
    DecodingStream(const DecodingStream&) = delete;
    DecodingStream& operator=(const DecodingStream&) = delete;
    Result<void> make(const std::shared_ptr<vae::Model>& model, vae::LatentSize size, const vae::Latents* clip,
                      const FrameStreamOptions& options);

    Result<bool> push(const LatentFrame& latent, Nanoseconds timeout) override;
    Result<bool> push(std::span<const float> latent, Nanoseconds timeout) override;
    Result<std::optional<FrameRecord>> take(Nanoseconds timeout) override;
    Result<std::optional<FrameRecord>> try_take_ahead() override;
    Result<void> release(const FrameRecord& record, const interop::TimelinePoint& done) override {
        return decoder_->ring().release(record, done);
    }
    void restart() override;
    void cancel() override;
    bool close(Nanoseconds timeout) override;
    void set_loop(bool loop) override;
    bool finished() const override;
    FrameStreamStats stats() const override;
    StreamHealth health() const override;
    const FrameStreamFacts& facts() const override { return facts_; }
    std::optional<Nanoseconds> decoded_at(const FrameRecord& record) const override {
        return decoder_->decoded_at(record);
    }
    std::optional<bool> is_finite(const FrameRecord& record) const override { return decoder_->is_finite(record); }
    void collect() override { decoder_->collect(); }

  private:
    /// Pushed latents whose step the thread starts.
    struct Handed {
        LatentFrame latent;
        std::int64_t number = 0;  ///< of the clip's latent frames
    };
    RingDecoderOptions ring_options(const vae::Latents* clip, const FrameStreamOptions& options);
    Result<void> allocate(std::shared_ptr<vae::Model> model, vae::LatentSize size, const vae::Latents* clip,
                          const FrameStreamOptions& options);
    Result<void> make_staging(const vae::Model& model, vae::LatentSize size);
    vae::StackMemory memory_beside_clip(const vae::Model& model, vae::LatentSize size, const vae::Latents* clip,
                                        const FrameStreamOptions& options);
    void state_facts(const vae::Latents* clip, const FrameStreamOptions& options);
    void run();
    void decode_all();
    void start_all();
    bool wait_for_start() const;
    void follow_restart();
    Result<bool> decode_next();
    Result<bool> wait_for_newest(Nanoseconds until);
    Result<bool> begin_clip(Nanoseconds until);
    Result<bool> step(const LatentFrame& latent, Nanoseconds timeout);
    Result<bool> begin_push(Nanoseconds until);
    void end(std::optional<Error> error);
    Result<void> finish();
    Result<std::uint64_t> begin_take() const;
    Result<std::optional<FrameRecord>> tell(Error error, std::uint64_t generation);
    template <class Take>
    Result<std::optional<FrameRecord>> take_by(const Take& take);
    Result<std::optional<FrameRecord>> take_now();
    Result<void> wait_for_frame(Nanoseconds timeout);
    Result<std::optional<FrameRecord>> with_good_status(const std::optional<FrameRecord>& record);
    std::optional<Error> ended_with() const;
    bool is_over(const interop::TimelinePoint& point, Nanoseconds timeout) const;
    bool is_cancelled() const;

    const std::shared_ptr<interop::Bridge> bridge_;
    FrameStreamFacts facts_;
    std::optional<UploadedClip> clip_;  ///< none if latents are pushed
    /// For latents that are pushed from the host, which the accelerator reads in place: of the newest two steps, which
    /// may not have read theirs, and of the next one.
    std::array<std::unique_ptr<accel::Memory>, 3> staging_;
    std::uint64_t latent_bytes_ = 0;  ///< of one latent frame
    std::size_t next_staging_ = 0;    ///< of the thread that pushes
    std::unique_ptr<RingDecoder> decoder_;
    bool hands_over_ = false;               ///< push() leaves the start of steps to the thread
    std::int64_t latent_frames_ = 1;        ///< of a clip, that a step takes after its first
    std::int64_t next_ = 0;                 ///< latent frame; of the thread that decodes a clip or pushes
    std::uint64_t decoded_generation_ = 0;  ///< the same thread's
    Begin begin_ = Begin::No;               ///< the same thread's: what has to be done before the next step

    mutable Mutex mutex_;
    mutable Condition changed_;
    std::optional<Handed> handed_ KG_GUARDED_BY(mutex_);  ///< until its step has been started: the decoder is in use
    std::uint64_t generation_ KG_GUARDED_BY(mutex_) = 0;  ///< of the ring
    bool loop_ KG_GUARDED_BY(mutex_) = false;
    bool at_end_ KG_GUARDED_BY(mutex_) = false;         ///< no more steps, until something changes
    bool cancelled_ KG_GUARDED_BY(mutex_) = false;      ///< until restart()
    std::optional<Error> error_ KG_GUARDED_BY(mutex_);  ///< that ends the clip after the frames before it
    std::optional<Error> told_ KG_GUARDED_BY(mutex_);   ///< returned to a reader: take() returns it until restart()
    bool has_stopped_ KG_GUARDED_BY(mutex_) = false;    ///< the thread has ended
    mutable std::uint64_t seen_reached_ KG_GUARDED_BY(mutex_) = 0;  ///< sum of the lanes' values, seen by health()
    mutable Nanoseconds moved_ KG_GUARDED_BY(mutex_) = host_now();  ///< when that was seen to grow
    std::atomic<bool> stop_{false};
    std::thread thread_;  ///< last: starts when everything else exists
};

Result<void> DecodingStream::make(const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                  const vae::Latents* clip, const FrameStreamOptions& options) {
    set_loop(options.loop);
    latent_frames_ = options.latent_frames;
    auto allocated = allocate(model, size, clip, options);
    if (!allocated && allocated.error().code == ErrorCode::OutOfMemory) {
        clip_.reset();
        staging_ = {};
        const vae::StackSize steps{size.height, size.width, clip != nullptr ? options.latent_frames : 1};
        return fail(model->explain_refusal(std::move(allocated.error()), steps,
                                           memory_beside_clip(*model, size, clip, options), options.limits));
    }
    KG_CHECK(allocated);
    state_facts(clip, options);
    // Work is submitted to an application's Vulkan queue in push() itself, which the application calls where it may.
    hands_over_ = clip == nullptr && !decoder_->submits_to_display();
    if (clip == nullptr && !hands_over_) return {};
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "frame stream");
    return {};
}

RingDecoderOptions DecodingStream::ring_options(const vae::Latents* clip, const FrameStreamOptions& options) {
    return {.storage = options.storage,
            .format = options.format,
            .slots = options.slots,
            .max_latent_frames = clip != nullptr ? options.latent_frames : 1,
            .copy_lane = options.copy_lane,
            .copies = copies_on(bridge_->display(), options.copy_lane),
            .fps = clip != nullptr ? clip->fps : options.fps,
            .recorder = options.recorder,
            .passes = options.passes,
            .limits = options.limits,
            .gives_up = [this] { return is_cancelled(); }};
}

/// Latents and frames first, so that the clip is planned for what they leave.
Result<void> DecodingStream::allocate(std::shared_ptr<vae::Model> model, vae::LatentSize size, const vae::Latents* clip,
                                      const FrameStreamOptions& options) {
    if (clip != nullptr) {
        KG_CHECK(model->check_takes(*clip));
        KG_TRY(clip_, UploadedClip::create(bridge_->accelerator(), *clip, options.limits));
    } else {
        KG_CHECK(make_staging(*model, size));
    }
    KG_TRY(decoder_, RingDecoder::create(*bridge_, std::move(model), size, ring_options(clip, options)));
    return {};
}

/// Latents and frames, as StackMemory::io and stream.
vae::StackMemory DecodingStream::memory_beside_clip(const vae::Model& model, vae::LatentSize size,
                                                    const vae::Latents* clip, const FrameStreamOptions& options) {
    vae::StackMemory memory = RingDecoder::memory_of_frames(*bridge_, model, size, ring_options(clip, options));
    const std::uint64_t latent = vae::input_bytes(model.network(), {.height = size.height, .width = size.width}, 1);
    if (clip != nullptr)
        memory.stream += vae::whole_pages(static_cast<std::uint64_t>(clip->frames) * latent);
    else
        memory.io += staging_.size() * vae::whole_pages(latent);
    return memory;
}

Result<void> DecodingStream::make_staging(const vae::Model& model, vae::LatentSize size) {
    const vae::StackSize stack{.height = size.height, .width = size.width};
    KG_CHECK(model.check(stack));
    latent_bytes_ = vae::input_bytes(model.network(), stack, 1);
    for (auto& memory : staging_) {
        KG_TRY(memory, bridge_->accelerator().allocate_pinned("a latent frame", latent_bytes_));
    }
    return {};
}

void DecodingStream::state_facts(const vae::Latents* clip, const FrameStreamOptions& options) {
    const vae::Clip& decoded = decoder_->clip();
    const vae::StepFrames frames = decoded.step_frames();
    const interop::FrameRing& ring = decoder_->ring();
    facts_ = {.width = frames.width,
              .height = frames.height,
              .frames = clip != nullptr ? decoded.model().factors().frames_of(clip->frames) : 0,
              .frames_of_a_step = frames.most * (clip != nullptr ? options.latent_frames : 1),
              .fps = clip != nullptr ? clip->fps : options.fps,
              .slots = ring.desc().slots,
              .route = bridge_->choice().reason,
              .memory = decoded.memory()};
    const vae::StackMemory beside = memory_beside_clip(decoded.model(), decoded.latent_size(), clip, options);
    facts_.memory.io = beside.io;
    facts_.memory.stream = beside.stream;
    facts_.shown_bytes = decoder_->shown_bytes();
}

DecodingStream::~DecodingStream() {
    {
        const Lock lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (!decoder_) return;
    const vulkan::Device* display = bridge_->display();
    const bool stands_still = display != nullptr && display->losses().gave_up();  // what it reads it may read for ever
    const auto is_read = [&](const interop::TimelinePoint& read) { return is_over(read, graph::kPatience); };
    if (!stands_still && std::ranges::all_of(decoder_->ring().reusable(), is_read)) return;
    bridge_->accelerator().log().error(
        "at the end of a stream: what reads its frames does not end, and their memory is never released");
    decoder_->leak_frames();
}

void DecodingStream::run() {
    bridge_->accelerator().enter_thread();
    if (clip_)
        decode_all();
    else
        start_all();
    {
        const Lock lock(mutex_);
        handed_.reset();
        has_stopped_ = true;
    }
    changed_.notify_all();
}

void DecodingStream::decode_all() {
    while (!stop_) {
        auto more = without_exceptions("decoding", [this]() -> Result<bool> {
            follow_restart();
            KG_CHECK(begin_clip(kNever));
            KG_TRY(const bool decodes, decode_next());
            if (!decodes) KG_CHECK(finish());
            return decodes;
        });
        if (!more)
            end(std::move(more.error()));
        else if (!*more)
            end(std::nullopt);
        Lock lock(mutex_);
        changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return stop_ || (!at_end_ && !cancelled_); });
    }
}

/// Starts the steps of the latents that push() hands over.
void DecodingStream::start_all() {
    for (;;) {
        Handed next;
        {
            Lock lock(mutex_);
            changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return stop_ || handed_; });
            if (stop_) return;
            next = *handed_;
        }
        auto started = without_exceptions("decoding", [&] { return decoder_->start(next.latent); });
        if (!started)
            end(Error{started.error().code, fmt::format("latent frame {}: {}", next.number, started.error().message)});
        {
            const Lock lock(mutex_);
            handed_.reset();
        }
        changed_.notify_all();
    }
}

/// Waits until the thread has started the step of the newest latents. False once cancelled.
bool DecodingStream::wait_for_start() const {
    Lock lock(mutex_);
    changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return !handed_ || cancelled_ || stop_; });
    return !handed_;
}

void DecodingStream::follow_restart() {
    const Lock lock(mutex_);
    const bool restarted = generation_ != decoded_generation_;
    const bool around = loop_ && clip_ && next_ == clip_->frames;
    decoded_generation_ = generation_;
    if (restarted || around) next_ = 0;
    if (restarted)
        begin_ = Begin::Anew;
    else if (around)
        begin_ = Begin::Around;
}

/// False if `until` passes first. Errors: the first of the steps so far, which the decoder keeps, because readers ask
/// it about every frame.
Result<bool> DecodingStream::wait_for_newest(Nanoseconds until) {
    for (;;) {
        if (is_cancelled()) return fail(cancelled());
        const Nanoseconds timeout = poll_until(until);
        KG_TRY(const bool done, bridge_->wait(decoder_->newest(), timeout));
        if (done) break;
        if (timeout == Nanoseconds{}) return false;
    }
    KG_CHECK(decoder_->status());
    return true;
}

/// Begins a clip once the steps of the previous one are done, and clears their errors in the decoder. False if `until`
/// passes first: the next call continues to wait.
Result<bool> DecodingStream::begin_clip(Nanoseconds until) {
    if (begin_ == Begin::No) return true;
    auto done = wait_for_newest(until);
    const bool ends = begin_ == Begin::Around || is_cancelled();
    if (done ? !*done : ends) return done;
    KG_CHECK(decoder_->begin_clip(decoded_generation_));
    begin_ = Begin::No;
    return true;
}

/// False at the clip's end.
Result<bool> DecodingStream::decode_next() {
    if (next_ == clip_->frames) return false;
    if (next_ == clip_->first_bad) return fail(*clip_->bad);
    const std::int64_t end = clip_->first_bad < next_ ? clip_->frames : clip_->first_bad;
    KG_CHECK(step(clip_->part(next_, next_ == 0 ? 1 : std::min(latent_frames_, end - next_)), kPoll));
    return true;
}

/// Enqueues a step, or hands it to the thread, and wakes who waits for that.
Result<bool> DecodingStream::step(const LatentFrame& latent, Nanoseconds timeout) {
    KG_TRY_IN(fmt::format("latent frame {}", next_), const Stepped stepped,
              hands_over_ ? decoder_->prepare(latent, timeout) : decoder_->step(latent, timeout));
    if (stepped != Stepped::Enqueued) return false;
    {
        const Lock lock(mutex_);  // a reader either sees the frames in the ring or already waits
        if (hands_over_) handed_ = Handed{latent, next_};
    }
    next_ += latent.count;
    changed_.notify_all();
    return true;
}

/// At the clip's end: waits for the last step. An error of a step stays in the decoder: frames after it may be wrong.
Result<void> DecodingStream::finish() {
    KG_CHECK(wait_for_newest(kNever));
    return decoder_->wait_for_steps();
}

/// Ends the clip, unless it has been restarted meanwhile. The first Error is kept.
void DecodingStream::end(std::optional<Error> error) {
    {
        const Lock lock(mutex_);
        if (generation_ != decoded_generation_ || (!error && loop_)) return;
        if (!error_) error_ = std::move(error);
        at_end_ = true;
    }
    changed_.notify_all();
}

std::optional<Error> DecodingStream::ended_with() const {
    const Lock lock(mutex_);
    if (cancelled_ || stop_) return cancelled();
    return error_;
}

bool DecodingStream::is_cancelled() const {
    const Lock lock(mutex_);
    return cancelled_ || stop_;
}

/// False if `until` passes while steps from before a restart run. Once it has returned, the decoder is this thread's
/// until a step is handed over.
Result<bool> DecodingStream::begin_push(Nanoseconds until) {
    if (clip_) return fail(ErrorCode::InvalidArgument, "the stream decodes a clip: no latents are pushed to it");
    if (!wait_for_start()) return fail(cancelled());
    follow_restart();
    KG_TRY(const bool begun, begin_clip(until));
    if (auto error = ended_with()) return fail(std::move(*error));
    return begun;
}

/// Waits in short intervals, to notice cancel().
Result<bool> DecodingStream::push(const LatentFrame& latent, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    for (;;) {
        KG_TRY(const bool begun, begin_push(until));
        const std::uint64_t given = latent.address == nullptr ? 0 : latent.bytes,
                            wanted = decoder_->clip().latent_bytes(latent.dtype);
        if (given < wanted)
            return fail(ErrorCode::InvalidArgument, "latent frame {}: {} bytes were given, {} are wanted", next_, given,
                        wanted);
        if (!begun) return false;
        const Nanoseconds poll = poll_until(until);
        auto pushed = step(latent, poll);
        if (!pushed && pushed.error().code != ErrorCode::InvalidArgument) end(pushed.error());
        if (!pushed || *pushed || poll == Nanoseconds{}) return pushed;
    }
}

Result<bool> DecodingStream::push(std::span<const float> latent, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    KG_TRY(const bool begun, begin_push(until));
    if (latent.size_bytes() != latent_bytes_)
        return fail(ErrorCode::InvalidArgument, "latent frame {}: {} values were given, {} are wanted", next_,
                    latent.size(), latent_bytes_ / sizeof(float));
    const vae::LatentSize size = decoder_->clip().latent_size();
    KG_CHECK(vae::check_finite(latent, next_, size.height * size.width));
    if (!begun) return false;
    const accel::Memory& staging = *staging_[next_staging_];
    std::memcpy(staging.host_data(), latent.data(), latent.size_bytes());
    KG_TRY(const bool pushed, push({staging.data(), latent_bytes_}, std::max(until - host_now(), Nanoseconds{})));
    if (pushed) next_staging_ = (next_staging_ + 1) % staging_.size();
    return pushed;
}

/// The record, unless a step is known to have failed: the frame's contents are then undefined.
Result<std::optional<FrameRecord>> DecodingStream::with_good_status(const std::optional<FrameRecord>& record) {
    auto status = record ? decoder_->status() : Result<void>{};
    if (status) return record;
    static_cast<void>(decoder_->ring().release(*record, {}));
    return fail(std::move(status.error()));
}

/// The generation whose frames are taken; the Error if no more of them are handed out.
Result<std::uint64_t> DecodingStream::begin_take() const {
    const Lock lock(mutex_);
    if (cancelled_ || stop_) return fail(cancelled());
    if (told_) return fail(*told_);
    return generation_;
}

/// An Error that a reader meets ends the clip: every later call returns it, even if frames are left. Nothing if that
/// generation is over.
Result<std::optional<FrameRecord>> DecodingStream::tell(Error error, std::uint64_t generation) {
    {
        const Lock lock(mutex_);
        if (generation != generation_) return std::nullopt;
        if (cancelled_ || stop_) return fail(cancelled());
        if (!told_) told_ = std::move(error);
        if (!error_) error_ = told_;
        at_end_ = true;
        error = *told_;
    }
    changed_.notify_all();
    return fail(std::move(error));
}

template <class Take>
Result<std::optional<FrameRecord>> DecodingStream::take_by(const Take& take) {
    KG_TRY(const std::uint64_t generation, begin_take());
    Result<std::optional<FrameRecord>> record = take();
    if (!record) return tell(std::move(record.error()), generation);
    return record;
}

/// Nothing if no frame is complete; an Error if none will come.
Result<std::optional<FrameRecord>> DecodingStream::take_now() {
    // Read before the ring: frames decoded before an error are in the ring by then.
    auto error = ended_with();
    KG_TRY(auto record, with_good_status(decoder_->ring().try_take_ready()));
    if (record) record->is_finite = decoder_->is_finite(*record).value_or(true);
    // Frames that wait for a lost device are never decoded.
    const bool is_last = error && (error->code == ErrorCode::DeviceLost || decoder_->ring().stats().waiting == 0);
    if (!record && is_last) return fail(std::move(*error));
    return record;
}

/// Waits until the next frame may be complete, or none will come.
Result<void> DecodingStream::wait_for_frame(Nanoseconds timeout) {
    if (const auto ready = decoder_->ring().next_ready()) {
        KG_CHECK(bridge_->wait(*ready, std::min(timeout, kPoll)));
        return {};
    }
    Lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&]() KG_REQUIRES(mutex_) {
        return cancelled_ || at_end_ || decoder_->ring().stats().waiting > 0;
    });
    return {};
}

Result<std::optional<FrameRecord>> DecodingStream::take(Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    for (;;) {
        const Nanoseconds left = until - host_now();
        auto record = take_by([&]() -> Result<std::optional<FrameRecord>> {
            KG_TRY(auto now, take_now());
            if (!now && !finished()) KG_CHECK(wait_for_frame(std::max(left, Nanoseconds{})));
            return now;
        });
        if (!record || *record || left <= Nanoseconds{} || finished()) return record;
    }
}

Result<std::optional<FrameRecord>> DecodingStream::try_take_ahead() {
    return take_by([this]() -> Result<std::optional<FrameRecord>> {
        auto record = decoder_->ring().try_take();
        if (!record) {
            static_cast<void>(wait_for_start());
            auto error = ended_with();  // before the ring, as in take_now()
            record = decoder_->ring().try_take();
            if (!record && error) return fail(std::move(*error));
        }
        return with_good_status(record);
    });
}

void DecodingStream::restart() {
    {
        const Lock lock(mutex_);
        generation_ = decoder_->ring().restart();
        at_end_ = false;
        cancelled_ = false;
        error_.reset();
        told_.reset();
    }
    changed_.notify_all();
}

void DecodingStream::cancel() {
    {
        const Lock lock(mutex_);
        cancelled_ = true;
    }
    changed_.notify_all();
}

bool DecodingStream::close(Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    const auto left = [until] { return std::max(until - host_now(), Nanoseconds{}); };
    {
        Lock lock(mutex_);
        stop_ = cancelled_ = true;
        changed_.notify_all();
        const auto stopped = [&]() KG_REQUIRES(mutex_) { return has_stopped_ || !thread_.joinable(); };
        if (!changed_.wait_for(lock, left(), stopped)) return false;
    }
    const auto is_over_by_then = [&](const interop::TimelinePoint& point) { return is_over(point, left()); };
    return is_over_by_then(decoder_->newest()) && std::ranges::all_of(decoder_->ring().reusable(), is_over_by_then);
}

/// Whether the point is reached within `timeout`, or is of a lost device, which no longer reads.
bool DecodingStream::is_over(const interop::TimelinePoint& point, Nanoseconds timeout) const {
    const auto reached = bridge_->wait(point, timeout);
    if (!reached && reached.error().code == ErrorCode::Cancelled) return bridge_->has_reached(point);
    return !reached || *reached;
}

void DecodingStream::set_loop(bool loop) {
    {
        const Lock lock(mutex_);
        loop_ = loop;
        if (loop && !error_) at_end_ = false;
    }
    changed_.notify_all();
}

bool DecodingStream::finished() const {
    const Lock lock(mutex_);
    return at_end_ && !error_ && decoder_->ring().stats().waiting == 0;
}

FrameStreamStats DecodingStream::stats() const {
    {
        Lock lock(mutex_);  // the step of latents that were pushed counts, unless the driver blocks its start
        changed_.wait_for(lock, kPoll, [&]() KG_REQUIRES(mutex_) { return !handed_; });
    }
    const StepTimes times = decoder_->times();  // asks the driver, which may block
    const Lock lock(mutex_);                    // before the ring is asked: once at_end_ is set, all frames are in it
    const interop::FrameRingStats ring = decoder_->ring().stats();
    return {ring.waiting, ring.held, times, at_end_ && !error_};
}

StreamHealth DecodingStream::health() const {
    StreamHealth health{.lanes = decoder_->lane_states(), .unmoved = {}};
    std::uint64_t reached = 0;
    bool works = false;
    for (const graph::LaneState& lane : health.lanes) {
        reached += lane.reached;
        works |= !lane.is_idle();
    }
    const Lock lock(mutex_);
    const Nanoseconds now = host_now();
    if (!works || reached != seen_reached_) moved_ = now;
    seen_reached_ = reached;
    health.unmoved = now - moved_;
    return health;
}

}  // namespace

Result<std::unique_ptr<FrameStream>> FrameStream::create(std::shared_ptr<interop::Bridge> bridge,
                                                         const std::shared_ptr<vae::Model>& model,
                                                         const vae::Latents& clip, const FrameStreamOptions& options) {
    auto stream = std::make_unique<DecodingStream>(std::move(bridge));
    KG_CHECK(stream->make(model, {clip.height, clip.width}, &clip, options));
    return stream;
}

Result<std::unique_ptr<FrameStream>> FrameStream::create(std::shared_ptr<interop::Bridge> bridge,
                                                         const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                         const FrameStreamOptions& options) {
    auto stream = std::make_unique<DecodingStream>(std::move(bridge));
    KG_CHECK(stream->make(model, size, nullptr, options));
    return stream;
}

}  // namespace kinetograph::stream
