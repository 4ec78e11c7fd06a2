#include <kinetograph/compute/stream/previewed_source.hpp>

#include <kinetograph/engine/base/exceptions.hpp>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <stop_token>
#include <thread>
#include <utility>

namespace kinetograph::stream {
namespace {

using interop::FrameRecord;

constexpr Nanoseconds kLook = std::chrono::milliseconds(20);  // how soon a wait for the preview notices the large one
/// Set in the serial numbers of the preview's frames, because the rings of both streams count from 1.
constexpr std::uint64_t kOfPreview = 1ULL << 63U;

class PreviewedSource final : public FrameSource {
  public:
    PreviewedSource(std::unique_ptr<FrameSource> preview, OpenSource open_large, bool loop);
    PreviewedSource(const PreviewedSource&) = delete;
    PreviewedSource& operator=(const PreviewedSource&) = delete;
    ~PreviewedSource() override;

    Result<std::optional<FrameRecord>> take(Nanoseconds timeout) override;
    Result<std::optional<FrameRecord>> try_take_ahead() override;
    Result<void> release(const FrameRecord& record, const interop::TimelinePoint& done) override;
    void restart() override;
    void cancel() override;
    bool close(Nanoseconds timeout) override;
    void set_loop(bool loop) override;
    bool finished() const override { return current()->finished(); }
    SourceStats stats() const override;
    SourceHealth health() const override;
    const SourceFacts& facts() const override { return facts_; }
    std::optional<Nanoseconds> decoded_at(const FrameRecord& record) const override;
    std::optional<bool> is_finite(const FrameRecord& record) const override;
    void collect() override;
    bool previews() const override {
        const Lock lock(mutex_);
        return previews_;
    }

  private:
    using Take = Result<std::optional<FrameRecord>> (FrameSource::*)();

    void open(const OpenSource& open_large);
    Result<void> check_same_clip(const SourceFacts& large) const;
    Result<FrameSource*> opened() const;
    std::vector<std::shared_ptr<FrameSource>> both() const;
    std::shared_ptr<FrameSource> current() const;
    std::shared_ptr<FrameSource> maker_of(const FrameRecord& record) const;
    Result<std::optional<FrameRecord>> take_now(Nanoseconds timeout, Take take_ahead = nullptr);
    bool may_begin_with(std::int64_t frame) const KG_REQUIRES(taking_);
    Result<bool> catch_up(FrameSource& large) KG_REQUIRES(taking_);
    void take_over() KG_REQUIRES(taking_);
    std::optional<FrameRecord> of_preview(std::optional<FrameRecord> record) KG_REQUIRES(taking_);
    std::optional<FrameRecord> of_large(std::optional<FrameRecord> record) const KG_REQUIRES(taking_);

    const SourceFacts facts_;  ///< the preview's; those of the large stream differ in memory only
    std::stop_source stop_;    ///< of opening the large stream

    Mutex taking_;                                            ///< held by take and restart calls, one at a time
    std::int64_t due_ KG_GUARDED_BY(taking_) = 0;             ///< frame of the clip
    bool is_round_on_ KG_GUARDED_BY(taking_) = false;         ///< the large stream has reached the clip's end
    std::uint64_t generation_ KG_GUARDED_BY(taking_) = 0;     ///< of records handed out
    std::optional<FrameRecord> next_ KG_GUARDED_BY(taking_);  ///< of the large stream, before it takes over

    mutable Mutex mutex_ KG_ACQUIRED_AFTER(taking_);
    Condition changed_;
    std::shared_ptr<FrameSource> preview_ KG_GUARDED_BY(mutex_);  ///< null after its last frame is released
    std::shared_ptr<FrameSource> large_ KG_GUARDED_BY(mutex_);    ///< null until it is open
    std::optional<Error> error_ KG_GUARDED_BY(mutex_);            ///< of opening it
    bool opening_ KG_GUARDED_BY(mutex_) = true;
    bool previews_ KG_GUARDED_BY(mutex_) = true;
    std::size_t lent_ KG_GUARDED_BY(mutex_) = 0;  ///< frames of the preview that readers hold
    bool loop_ KG_GUARDED_BY(mutex_);
    bool cancelled_ KG_GUARDED_BY(mutex_) = false;
    std::thread thread_;  ///< last: starts when everything else exists
};

PreviewedSource::PreviewedSource(std::unique_ptr<FrameSource> preview, OpenSource open_large, bool loop)
    : facts_(preview->facts()), preview_(std::move(preview)), loop_(loop) {
    preview_->set_loop(loop);
    thread_ = std::thread([this, open = std::move(open_large)] { this->open(open); });
    pthread_setname_np(thread_.native_handle(), "open decoder");
}

PreviewedSource::~PreviewedSource() {
    stop_.request_stop();
    thread_.join();
}

void PreviewedSource::open(const OpenSource& open_large) {
    auto opened = without_exceptions("opening a decoder", [&]() -> Result<std::unique_ptr<FrameSource>> {
        KG_TRY(auto large, open_large({.until = {}, .stop = stop_.get_token()}));
        KG_CHECK(check_same_clip(large->facts()));
        return large;
    });
    {
        const Lock lock(mutex_);
        opening_ = false;
        if (opened) {
            large_ = std::move(*opened);
            large_->set_loop(loop_);
            if (cancelled_) large_->cancel();
        } else {
            error_ = std::move(opened.error());
        }
    }
    changed_.notify_all();
}

Result<void> PreviewedSource::check_same_clip(const SourceFacts& large) const {
    const auto shape = [](const SourceFacts& facts) {
        return std::tuple(facts.width, facts.height, facts.frames, facts.frames_of_a_step);
    };
    if (shape(large) == shape(facts_)) return {};
    return fail(ErrorCode::InvalidArgument,
                "the preview makes {} frames of {}x{}, up to {} at once, the decoder {} of {}x{}, up to {}",
                facts_.frames, facts_.width, facts_.height, facts_.frames_of_a_step, large.frames, large.width,
                large.height, large.frames_of_a_step);
}

/// Null while it is being opened.
Result<FrameSource*> PreviewedSource::opened() const {
    const Lock lock(mutex_);
    if (error_ && !cancelled_) return fail(*error_);
    return large_.get();
}

std::vector<std::shared_ptr<FrameSource>> PreviewedSource::both() const {
    const Lock lock(mutex_);
    std::vector<std::shared_ptr<FrameSource>> streams;
    for (const auto& each : {preview_, large_})
        if (each) streams.push_back(each);
    return streams;
}

/// The stream whose frames are handed out.
std::shared_ptr<FrameSource> PreviewedSource::current() const {
    const Lock lock(mutex_);
    return previews_ ? preview_ : large_;
}

std::shared_ptr<FrameSource> PreviewedSource::maker_of(const FrameRecord& record) const {
    const Lock lock(mutex_);
    return (record.serial & kOfPreview) != 0 ? preview_ : large_;
}

std::optional<FrameRecord> PreviewedSource::of_preview(std::optional<FrameRecord> record) {
    if (!record) return record;
    record->serial |= kOfPreview;
    record->generation = generation_;
    due_ = record->label.index + 1;
    const Lock lock(mutex_);
    ++lent_;
    return record;
}

std::optional<FrameRecord> PreviewedSource::of_large(std::optional<FrameRecord> record) const {
    if (record) record->generation = generation_;
    return record;
}

/// Whether the large stream can take over with that frame, now or when the preview reaches it: the first frame of a
/// step that is not shown yet, or of the next round.
bool PreviewedSource::may_begin_with(std::int64_t frame) const {
    const bool begins_step = frame == 0 || (frame - 1) % facts_.frames_of_a_step == 0;
    return begins_step && (frame >= due_ || (frame == 0 && is_round_on_));
}

/// Discards frames with which the large stream cannot take over. True if its next frame is due.
Result<bool> PreviewedSource::catch_up(FrameSource& large) {
    {
        const Lock lock(mutex_);
        if (loop_ && due_ == facts_.frames) due_ = 0;
    }
    while (!next_ || !may_begin_with(next_->label.index)) {
        if (next_) {
            is_round_on_ |= next_->label.index == facts_.frames - 1;
            KG_CHECK(large.release(*std::exchange(next_, std::nullopt)));
        }
        KG_TRY(next_, large.try_take());
        if (!next_) return false;
    }
    return next_->label.index == due_;
}

void PreviewedSource::take_over() {
    std::shared_ptr<FrameSource> leaving;
    {
        const Lock lock(mutex_);
        previews_ = false;
        leaving = lent_ == 0 ? std::exchange(preview_, nullptr) : preview_;
    }
    leaving->cancel();
}

/// Waits up to `timeout` for a frame; with `take_ahead`, takes one that is still being decoded.
Result<std::optional<FrameRecord>> PreviewedSource::take_now(Nanoseconds timeout, Take take_ahead) {
    const Lock taking(taking_);
    const auto take_from = [&](FrameSource& from) {
        return take_ahead != nullptr ? (from.*take_ahead)() : from.take(timeout);
    };
    const std::shared_ptr<FrameSource> from = current();
    if (!previews()) {
        KG_TRY(auto record, take_from(*from));
        return of_large(std::move(record));
    }
    KG_TRY(FrameSource* const large, opened());
    if (large != nullptr) {
        KG_TRY(const bool is_due, catch_up(*large));
        if (is_due) {
            take_over();
            return of_large(std::exchange(next_, std::nullopt));
        }
    }
    KG_TRY(auto record, take_from(*from));
    return of_preview(std::move(record));
}

Result<std::optional<FrameRecord>> PreviewedSource::take(Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    for (;;) {
        const Nanoseconds left = std::max(until - host_now(), Nanoseconds{});
        auto record = take_now(std::min(left, kLook));
        if (!record || *record || left == Nanoseconds{} || finished()) return record;
    }
}

Result<std::optional<FrameRecord>> PreviewedSource::try_take_ahead() {
    return take_now({}, &FrameSource::try_take_ahead);
}

Result<void> PreviewedSource::release(const FrameRecord& record, const interop::TimelinePoint& done) {
    const std::shared_ptr<FrameSource> maker = maker_of(record);
    if (!maker)
        return fail(ErrorCode::InvalidArgument, "frame {}: its stream has got all of its frames back",
                    record.label.index);
    FrameRecord own = record;
    own.serial &= ~kOfPreview;
    KG_CHECK(maker->release(own, done));
    std::shared_ptr<FrameSource> leaving;  // destroyed without the lock: it may wait for a step
    const Lock lock(mutex_);
    if ((record.serial & kOfPreview) != 0 && --lent_ == 0 && !previews_) leaving = std::exchange(preview_, nullptr);
    return {};
}

void PreviewedSource::restart() {
    const Lock taking(taking_);
    ++generation_;
    due_ = 0;
    std::shared_ptr<FrameSource> preview, large;
    {
        const Lock lock(mutex_);
        cancelled_ = false;
        preview = previews_ ? preview_ : nullptr;
        large = large_;
    }
    if (!large) return preview->restart();
    if (next_) static_cast<void>(large->release(*std::exchange(next_, std::nullopt)));
    large->restart();
    if (preview) take_over();
}

void PreviewedSource::cancel() {
    {
        const Lock lock(mutex_);
        cancelled_ = true;
    }
    for (const auto& each : both()) each->cancel();
}

bool PreviewedSource::close(Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    const auto left = [until] { return std::max(until - host_now(), Nanoseconds{}); };
    stop_.request_stop();
    cancel();
    {
        Lock lock(mutex_);
        if (!changed_.wait_for(lock, left(), [&]() KG_REQUIRES(mutex_) { return !opening_; })) return false;
    }
    const auto streams = both();
    return std::ranges::all_of(streams, [&](const auto& each) { return each->close(left()); });
}

void PreviewedSource::set_loop(bool loop) {
    const Lock lock(mutex_);
    loop_ = loop;
    for (const auto& each : {preview_, large_})
        if (each) each->set_loop(loop);
}

SourceStats PreviewedSource::stats() const {
    SourceStats stats = current()->stats();
    const Lock lock(mutex_);
    if (!previews_) stats.held += lent_;
    return stats;
}

SourceHealth PreviewedSource::health() const {
    SourceHealth health;
    for (const auto& each : both()) {
        SourceHealth own = each->health();
        health.lanes.insert(health.lanes.end(), own.lanes.begin(), own.lanes.end());
        health.unmoved = std::max(health.unmoved, own.unmoved);
    }
    return health;
}

std::optional<Nanoseconds> PreviewedSource::decoded_at(const FrameRecord& record) const {
    const std::shared_ptr<FrameSource> maker = maker_of(record);
    return maker ? maker->decoded_at(record) : std::nullopt;
}

std::optional<bool> PreviewedSource::is_finite(const FrameRecord& record) const {
    const std::shared_ptr<FrameSource> maker = maker_of(record);
    return maker ? maker->is_finite(record) : std::nullopt;
}

void PreviewedSource::collect() {
    for (const auto& each : both()) each->collect();
}

}  // namespace

std::unique_ptr<FrameSource> create_previewed_source(std::unique_ptr<FrameSource> preview, OpenSource open_large,
                                                     bool loop) {
    return std::make_unique<PreviewedSource>(std::move(preview), std::move(open_large), loop);
}

}  // namespace kinetograph::stream
