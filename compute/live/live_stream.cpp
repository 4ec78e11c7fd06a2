#include <kinetograph/compute/live/live_stream.hpp>

#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/profile/rate_meter.hpp>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <deque>
#include <thread>

namespace kinetograph::live {
namespace {

using interop::FrameRecord;

constexpr Nanoseconds kPoll = std::chrono::milliseconds(20);  // how soon a wait for the decoder notices the end

class ReadingStream final : public LiveStream {
  public:
    ReadingStream(Incoming incoming, const session::Session& session, std::unique_ptr<stream::FrameStream> decoding);
    ReadingStream(const ReadingStream&) = delete;
    ReadingStream& operator=(const ReadingStream&) = delete;
    ~ReadingStream() override;

    Result<bool> push(const stream::LatentFrame&, Nanoseconds) override { return refuse_push(); }
    Result<bool> push(std::span<const float>, Nanoseconds) override { return refuse_push(); }
    Result<std::optional<FrameRecord>> take(Nanoseconds timeout) override;
    Result<std::optional<FrameRecord>> try_take_ahead() override;
    Result<void> release(const FrameRecord& record, const interop::TimelinePoint& done) override {
        return decoding_->release(record, done);
    }
    void restart() override;
    void cancel() override;
    bool close(Nanoseconds timeout) override;
    void set_loop(bool) override {}
    bool finished() const override;
    stream::FrameStreamStats stats() const override;
    stream::StreamHealth health() const override { return decoding_->health(); }
    const stream::FrameStreamFacts& facts() const override { return decoding_->facts(); }
    std::optional<Nanoseconds> decoded_at(const FrameRecord& record) const override {
        return decoding_->decoded_at(record);
    }
    std::optional<bool> is_finite(const FrameRecord& record) const override { return decoding_->is_finite(record); }
    void collect() override { decoding_->collect(); }
    LiveStats live() const override;

  private:
    struct Arrived {
        LatentValues latent;
        Nanoseconds at{};
    };
    Result<bool> refuse_push() const;
    void read();
    bool take_in(Item item);
    void grant() KG_REQUIRES(mutex_);
    void decode();
    Result<bool> decode_next();
    Result<void> decode(const Arrived& arrived);
    void fail_with(Error error);
    void note_lag(const FrameRecord& record);
    bool wait_for_reset(Nanoseconds timeout);
    std::optional<Error> ended_with() const;

    const Incoming incoming_;
    const vae::LatentsWanted wanted_;  ///< by the checkpoint
    const Log log_;
    const std::unique_ptr<stream::FrameStream> decoding_;
    std::uint64_t of_the_clip_ = 0;  ///< latent frames decoded since the last reset; of the thread that decodes

    mutable Mutex mutex_;
    Condition changed_;
    std::deque<Arrived> queue_ KG_GUARDED_BY(mutex_);
    bool reset_ KG_GUARDED_BY(mutex_) = false;       ///< is to be carried out before anything else
    bool is_read_ KG_GUARDED_BY(mutex_) = false;     ///< to the stream's end, or to an error
    bool is_decoded_ KG_GUARDED_BY(mutex_) = false;  ///< everything that was read
    bool has_ended_ KG_GUARDED_BY(mutex_) = false;   ///< the generator has sent the stream's end
    bool stop_ KG_GUARDED_BY(mutex_) = false;
    std::optional<Error> error_ KG_GUARDED_BY(mutex_);
    std::uint64_t received_ KG_GUARDED_BY(mutex_) = 0;
    profile::RateMeter arrivals_ KG_GUARDED_BY(mutex_);
    std::uint64_t steps_ KG_GUARDED_BY(mutex_) = 0;                   ///< that the decoder has been given
    std::array<Nanoseconds, 64> arrived_at_ KG_GUARDED_BY(mutex_){};  ///< [step % 64] of the newest steps
    std::uint64_t step_taken_ KG_GUARDED_BY(mutex_) = 0;              ///< the step whose first frame was taken last
    Nanoseconds lag_ KG_GUARDED_BY(mutex_){};
    std::thread reader_, decoder_;
};

ReadingStream::ReadingStream(Incoming incoming, const session::Session& session,
                             std::unique_ptr<stream::FrameStream> decoding)
    : incoming_(std::move(incoming)),
      wanted_(session.wanted()),
      log_(session.device().log()),
      decoding_(std::move(decoding)) {
    grant();
    reader_ = std::thread([this] { read(); });
    decoder_ = std::thread([this] { decode(); });
    pthread_setname_np(reader_.native_handle(), "live input");
    pthread_setname_np(decoder_.native_handle(), "live decoder");
}

ReadingStream::~ReadingStream() {
    {
        const Lock lock(mutex_);
        stop_ = true;
        if (!is_read_) {
            incoming_.feed->refuse(fmt::format("{}: the viewer reads it no more", incoming_.title));
            incoming_.feed->connection->cancel();
        }
    }
    changed_.notify_all();
    reader_.join();
    decoder_.join();
}

Result<bool> ReadingStream::refuse_push() const {
    return fail(ErrorCode::InvalidArgument, "{}: its generator sends the latents: none are pushed", incoming_.title);
}

void ReadingStream::read() {
    for (bool more = true; more;) {
        auto item = without_exceptions(incoming_.title, [this] { return incoming_.feed->reader.next(); });
        if (!item) return fail_with(std::move(item.error()));
        more = take_in(std::move(*item));
    }
}

/// False after the stream's end.
bool ReadingStream::take_in(Item item) {
    Lock lock(mutex_);
    if (auto* latent = std::get_if<LatentValues>(&item)) {
        ++received_;
        ++incoming_.feed->received;
        const Nanoseconds now = host_now();
        arrivals_.count(now);
        changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return stop_ || is_read_ || queue_.size() < kQueued; });
        queue_.push_back({std::move(*latent), now});
    } else if (std::holds_alternative<Reset>(item)) {
        queue_.clear();
        reset_ = true;
        grant();
    } else {
        is_read_ = has_ended_ = true;
    }
    const bool more = !is_read_ && !stop_;
    lock.unlock();
    changed_.notify_all();
    return more;
}

/// Ends the stream with `error`. Latent frames that came before it are still decoded and shown.
void ReadingStream::fail_with(Error error) {
    {
        const Lock lock(mutex_);
        if (stop_ || error_) return;
        incoming_.feed->refuse(error.message);
        error_ = std::move(error);
        is_read_ = true;
    }
    changed_.notify_all();
}

void ReadingStream::decode() {
    for (bool more = true; more;) {
        auto decoded = without_exceptions(incoming_.title, [this] { return decode_next(); });
        if (!decoded) {
            fail_with(std::move(decoded.error()));
            incoming_.feed->connection->cancel();  // the reader may wait for bytes
        }
        more = decoded && *decoded;
    }
    {
        const Lock lock(mutex_);
        is_decoded_ = true;
    }
    changed_.notify_all();
}

/// False once there is nothing more to decode.
Result<bool> ReadingStream::decode_next() {
    Lock lock(mutex_);
    changed_.wait(lock, [&]() KG_REQUIRES(mutex_) { return stop_ || reset_ || is_read_ || !queue_.empty(); });
    if (stop_) return false;
    if (reset_) {
        lock.unlock();
        decoding_->restart();
        of_the_clip_ = 0;
        lock.lock();
        reset_ = false;  // another reset that came meanwhile has cleared the queue itself
        lock.unlock();
        changed_.notify_all();
        return true;
    }
    if (queue_.empty()) return false;
    const Arrived next = std::move(queue_.front());
    queue_.pop_front();
    grant();
    lock.unlock();
    changed_.notify_all();
    KG_CHECK(decode(next));
    return true;
}

/// Waits for room among the decoder's frames, but no longer than until a reset or the end.
Result<void> ReadingStream::decode(const Arrived& arrived) {
    const std::string place = fmt::format("{}, chunk {}", incoming_.title, arrived.latent.chunk);
    if (wanted_.pictures && of_the_clip_ > 0)
        return fail(ErrorCode::InvalidArgument, "{}: a clip of {} is one latent frame; a reset begins another", place,
                    incoming_.header.family);
    if (arrived.latent.chunk == 0 && of_the_clip_ == 0)
        if (const auto doubt = vae::doubt_scale(incoming_.title, arrived.latent.values, wanted_))
            log_.warn("{}", *doubt);
    for (;;) {
        {
            const Lock lock(mutex_);
            if (stop_ || reset_) return {};
            arrived_at_.at((steps_ + 1) % arrived_at_.size()) = arrived.at;
        }
        KG_TRY_IN(place, const bool pushed, decoding_->push(arrived.latent.values, kPoll));
        if (pushed) break;
    }
    ++of_the_clip_;
    const Lock lock(mutex_);
    ++steps_;
    return {};
}

/// Grants what the decoder has taken out of the queue and what the queue holds.
void ReadingStream::grant() { incoming_.feed->connection->grant(incoming_.feed->received - queue_.size() + kQueued); }

void ReadingStream::note_lag(const FrameRecord& record) {
    const Lock lock(mutex_);
    const std::uint64_t step = record.label.step;
    if (step == step_taken_ || step + arrived_at_.size() <= steps_) return;
    step_taken_ = step;
    lag_ = host_now() - arrived_at_.at(step % arrived_at_.size());
}

/// The error that ended the stream; nothing while frames from before it may come.
std::optional<Error> ReadingStream::ended_with() const {
    std::optional<Error> error;
    {
        const Lock lock(mutex_);  // before the decoder is asked: when all is decoded, it has all frames
        if (is_decoded_) error = error_;
    }
    if (!error || decoding_->stats().depth > 0) return std::nullopt;
    return error;
}

/// Waits until a reset that has been read is carried out, so that no frame from before it is handed out. False if
/// `timeout` passes first.
bool ReadingStream::wait_for_reset(Nanoseconds timeout) {
    Lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&]() KG_REQUIRES(mutex_) { return !reset_ || stop_; });
}

/// Waits in short pieces, so that the end is noticed.
Result<std::optional<FrameRecord>> ReadingStream::take(Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    for (;;) {
        if (auto error = ended_with()) return fail(std::move(*error));
        if (!wait_for_reset(std::max(until - host_now(), Nanoseconds{}))) return std::nullopt;
        const Nanoseconds left = std::max(until - host_now(), Nanoseconds{});
        KG_TRY(auto record, decoding_->take(std::min(left, kPoll)));
        if (record) note_lag(*record);
        if (record || left == Nanoseconds{} || finished()) return record;
    }
}

Result<std::optional<FrameRecord>> ReadingStream::try_take_ahead() {
    if (auto error = ended_with()) return fail(std::move(*error));
    if (!wait_for_reset({})) return std::nullopt;
    KG_TRY(auto record, decoding_->try_take_ahead());
    if (record) note_lag(*record);
    return record;
}

void ReadingStream::restart() {
    for (auto record = decoding_->try_take(); record && *record; record = decoding_->try_take())
        static_cast<void>(decoding_->release(**record));
}

void ReadingStream::cancel() {
    decoding_->cancel();
    incoming_.feed->connection->cancel();
}

/// This stream's threads call no driver: they end when the decoder's waits and the connection are cancelled.
bool ReadingStream::close(Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    const auto left = [until] { return std::max(until - host_now(), Nanoseconds{}); };
    {
        Lock lock(mutex_);
        stop_ = true;
        cancel();
        changed_.notify_all();
        if (!changed_.wait_for(lock, left(), [&]() KG_REQUIRES(mutex_) { return is_decoded_; })) return false;
    }
    return decoding_->close(left());
}

bool ReadingStream::finished() const {
    const stream::FrameStreamStats now = stats();
    return now.finished && now.depth == 0;
}

stream::FrameStreamStats ReadingStream::stats() const {
    const bool finished = [this] {
        const Lock lock(mutex_);  // before the decoder is asked: when all is decoded, it has all frames
        return is_decoded_ && !error_ && !stop_;
    }();
    stream::FrameStreamStats stats = decoding_->stats();
    stats.finished = finished;
    return stats;
}

LiveStats ReadingStream::live() const {
    const Lock lock(mutex_);
    const auto frames = static_cast<double>(decoding_->facts().frames_of_a_step);
    return {received_, queue_.size(), frames * arrivals_.rate(host_now()), lag_, has_ended_};
}

/// Checks that the checkpoint decodes latents of the stream's family and channels.
Result<void> check(const session::Session& session, const families::Family& family, const Incoming& incoming) {
    const StreamHeader& header = incoming.header;
    const families::Family* from = families::find(header.family);
    if (from == nullptr || from->latents != family.latents)
        return fail(ErrorCode::InvalidArgument, "{}: family: latents of {}, {} is of {}", incoming.title,
                    tensor::quoted_name(header.family), session.model()->name(), family.name);
    vae::Latents clip;
    clip.name = incoming.title;
    clip.channels = header.channels;
    clip.frames = 1;
    return session.model()->check_takes(clip);
}

Result<std::unique_ptr<stream::FrameStream>> open_decoder(const session::Session& session,
                                                          const families::Family& family, const Incoming& incoming,
                                                          session::StreamOptions options) {
    KG_CHECK(check(session, family, incoming));
    if (options.fps == 0) options.fps = incoming.header.fps;
    return session.decode(vae::LatentSize{incoming.header.height, incoming.header.width}, options);
}

}  // namespace

Result<std::unique_ptr<LiveStream>> LiveStream::create(const session::Session& session, const families::Family& family,
                                                       Incoming incoming, const session::StreamOptions& options) {
    KG_TRY(auto decoder, open_decoder(session, family, incoming, options));
    return std::make_unique<ReadingStream>(std::move(incoming), session, std::move(decoder));
}

}  // namespace kinetograph::live
