#include <kinetograph/compute/stream/step_loop.hpp>

#include <kinetograph/engine/base/exceptions.hpp>

#include <pthread.h>

#include <algorithm>

namespace kinetograph::stream {
namespace {

using interop::FrameRecord;

constexpr Nanoseconds kPoll = std::chrono::milliseconds(20);  // how soon a wait for a device notices a cancel
constexpr Nanoseconds kNever = Nanoseconds::max();            // on the host axis

/// The time left until `until`, at most one poll.
Nanoseconds poll_until(Nanoseconds until) { return std::clamp(until - host_now(), Nanoseconds{}, kPoll); }

Error cancelled() { return {ErrorCode::Cancelled, "the stream was cancelled"}; }

vae::StackMemory operator+(vae::StackMemory memory, const vae::StackMemory& other) {
    memory.io += other.io;
    memory.stream += other.stream;
    return memory;
}

}  // namespace

Result<std::unique_ptr<FrameSource>> StepLoop::of_clip(std::shared_ptr<interop::Bridge> bridge,
                                                       const std::shared_ptr<vae::Model>& model,
                                                       const vae::Latents& clip, const vae::StepOptions& options) {
    KG_CHECK(model->check_takes(clip));
    vae::StepOptions own = options;
    if (!(own.fps > 0)) own.fps = clip.fps;
    accel::Device& device = bridge->accelerator();
    const FeedPlan feed{
        .make = [&] { return ClipFeed::create(device, clip, options.limits); },
        .memory = {.stream = ClipFeed::bytes(clip)},
        .latents = clip.frames,
    };
    return create(std::move(bridge), model, {clip.height, clip.width}, feed, own);
}

Result<PushedSource> StepLoop::of_pushed(std::shared_ptr<interop::Bridge> bridge,
                                         const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                         const vae::StepOptions& options) {
    std::weak_ptr<LatentQueue> queue;  // the loop's
    const std::size_t capacity = LatentQueue::capacity_for(*model, size, options.slots);
    const FeedPlan feed{.make = [&]() -> Result<std::shared_ptr<LatentFeed>> {
                            KG_TRY(auto made, LatentQueue::create(*model, size, capacity));
                            queue = made;
                            return std::shared_ptr<LatentFeed>(std::move(made));
                        },
                        .memory = {.io = LatentQueue::bytes(*model, size, capacity)},
                        .submits_in_calls = true};
    KG_TRY(auto frames, create(std::move(bridge), model, size, feed, options));
    return PushedSource{std::move(frames), queue.lock()};
}

Result<vae::StackMemory> StepLoop::declared_memory(const interop::Bridge& bridge, vae::Model& model,
                                                   vae::LatentSize size, const vae::StepOptions& options) {
    vae::StepOptions own = options;
    own.latent_frames = model.pushed_frames();
    KG_TRY(auto memory, Stepper::declared_memory(bridge, model, size, own));
    memory.io += LatentQueue::bytes(model, size, LatentQueue::capacity_for(model, size, options.slots));
    return memory;
}

Result<vae::Admission> StepLoop::admission(const interop::Bridge& bridge, vae::Model& model, vae::LatentSize size,
                                           const vae::StepOptions& options) {
    vae::StepOptions own = options;
    own.latent_frames = model.pushed_frames();
    KG_TRY(auto answer, Stepper::admission(bridge, model, size, own));
    if (bridge.accelerator().info().is_host())
        answer.bytes.needed += LatentQueue::bytes(model, size, LatentQueue::capacity_for(model, size, options.slots));
    return answer;
}

Result<std::unique_ptr<FrameSource>> StepLoop::create(std::shared_ptr<interop::Bridge> bridge,
                                                      const std::shared_ptr<vae::Model>& model, vae::LatentSize size,
                                                      const FeedPlan& feed, const vae::StepOptions& options) {
    std::unique_ptr<StepLoop> loop(new StepLoop(std::move(bridge)));
    vae::StepOptions own = options;
    if (feed.latents == 0) {
        own.latent_frames = model->pushed_frames();
        own.loop = false;
    }
    KG_CHECK(loop->make(model, size, feed, own));
    return loop;
}

Result<void> StepLoop::make(const std::shared_ptr<vae::Model>& model, vae::LatentSize size, const FeedPlan& feed,
                            const vae::StepOptions& options) {
    latent_frames_ = options.latent_frames;
    KG_CHECK(model->check({.height = size.height, .width = size.width}));
    const vae::StackMemory beside = Stepper::memory_of_frames(*bridge_, *model, size, options) + feed.memory;
    auto allocated = allocate(model, size, feed, options);
    if (!allocated && allocated.error().code == ErrorCode::OutOfMemory && !options.only_if_fits) {
        feed_.reset();
        return fail(model->explain_refusal(std::move(allocated.error()),
                                           {size.height, size.width, options.latent_frames}, beside, options.limits));
    }
    KG_CHECK(allocated);
    state_facts(feed, beside, options);
    set_loop(options.loop);
    if (!feed.submits_in_calls || !stepper_->submits_to_display()) {
        thread_ = std::thread([this] { run(); });
        pthread_setname_np(thread_.native_handle(), "step loop");
    }
    feed_->attach(this);
    return {};
}

/// Latents and frames first, so that the clip is planned for what they leave.
Result<void> StepLoop::allocate(const std::shared_ptr<vae::Model>& model, vae::LatentSize size, const FeedPlan& feed,
                                const vae::StepOptions& options) {
    KG_TRY(feed_, feed.make());
    KG_TRY(stepper_, Stepper::create(*bridge_, model, size, options, [this] { return is_cancelled(); }));
    return {};
}

void StepLoop::state_facts(const FeedPlan& feed, const vae::StackMemory& beside, const vae::StepOptions& options) {
    const vae::Clip& clip = stepper_->clip();
    const vae::StepFrames frames = clip.model().step_frames(clip.latent_size(), options.latent_frames);
    facts_ = {.width = frames.width,
              .height = frames.height,
              .frames = feed.latents > 0 ? clip.model().rates().frames_of(feed.latents) : 0,
              .frames_of_a_step = frames.most,
              .fps = stepper_->fps(),
              .slots = options.slots,
              .route = bridge_->choice().reason,
              .memory = clip.memory(),
              .shown_bytes = stepper_->output().shown_bytes()};
    facts_.memory.transients = stepper_->arena_bytes();
    facts_.memory.io = beside.io;
    facts_.memory.stream = beside.stream;
}

StepLoop::~StepLoop() {
    {
        const Lock lock(mutex_);
        stop_ = true;
        if (feed_) feed_->refuse(cancelled());
    }
    changed_.notify_all();
    if (feed_) feed_->attach(nullptr);
    if (thread_.joinable()) thread_.join();
    if (!stepper_) return;
    const vulkan::Display* display = bridge_->display();
    const bool stands_still = display != nullptr && display->losses().gave_up();  // what it reads it may read for ever
    const auto is_read = [&](const interop::TimelinePoint& read) { return is_over(read, graph::kPatience); };
    if (stands_still || !std::ranges::all_of(stepper_->ring().reusable(), is_read)) {
        bridge_->accelerator().log().error(
            "at the end of a stream: what reads its frames does not end, and their memory is never released");
        stepper_->output().leak_frames();
    }
    stepper_.reset();
    feed_->free_memory();
}

// ---- who steps -----------------------------------------------------------------------------------------------------

void StepLoop::run() {
    bridge_->accelerator().enter_thread();
    while (!stop_) {
        const std::uint64_t seen = [this] {
            const Lock lock(mutex_);
            return wakes_;
        }();
        auto advanced = without_exceptions("decoding", [this] { return advance_or_finish(); });
        if (!advanced)
            end(std::move(advanced.error()));
        else if (*advanced == Advance::Ended)
            end(std::nullopt);
        Lock lock(mutex_);
        if (!advanced || *advanced != Advance::Stepped) {
            is_idle_ = wakes_ == seen;
            changed_.notify_all();
        }
        const bool wants_latents = advanced && *advanced == Advance::NoLatents;
        changed_.wait(lock, [&]() KG_REQUIRES(mutex_) {
            return stop_ || (!at_end_ && !cancelled_ && (!wants_latents || wakes_ != seen));
        });
    }
    {
        const Lock lock(mutex_);
        has_stopped_ = true;
    }
    changed_.notify_all();
}

Result<StepLoop::Advance> StepLoop::advance_or_finish() {
    KG_TRY(const Advance advanced, advance(kNever));
    if (advanced == Advance::Ended) KG_CHECK(finish());
    return advanced;
}

Result<bool> StepLoop::step_all(Nanoseconds until) {
    for (;;) {
        if (auto error = ended_with()) return fail(std::move(*error));
        auto advanced = advance(until);
        if (!advanced && advanced.error().code != ErrorCode::InvalidArgument) end(advanced.error());
        KG_TRY(const Advance done, std::move(advanced));
        if (done == Advance::NoLatents || done == Advance::Ended) return true;
        if (done == Advance::NoRoom && host_now() >= until && !ended_with()) return false;
    }
}

void StepLoop::wake() {
    {
        const Lock lock(mutex_);
        ++wakes_;
        is_idle_ = false;
    }
    changed_.notify_all();
}

/// One step, unless `until` passes while it waits for the steps of an earlier clip or one poll while it waits for room.
Result<StepLoop::Advance> StepLoop::advance(Nanoseconds until) {
    follow_restart();
    KG_TRY(const bool begun, begin_clip(until));
    if (!begun) return Advance::NoRoom;
    KG_TRY(const Fed fed, feed_->next(latent_frames_));
    if (fed.state == Fed::State::Waiting) {
        run_request();
        return Advance::NoLatents;
    }
    if (fed.state == Fed::State::Ready) {
        KG_TRY(const bool stepped, step(fed, poll_until(until)));
        return stepped ? Advance::Stepped : Advance::NoRoom;
    }
    const Lock lock(mutex_);
    if (!loop_) return Advance::Ended;
    begin_ = Begin::Around;
    return Advance::Stepped;
}

void StepLoop::follow_restart() {
    const Lock lock(mutex_);
    if (generation_ == std::exchange(decoded_generation_, generation_)) return;
    begin_ = Begin::Anew;
}

/// False if `until` passes first. Errors: the first of the steps so far, which the stepper keeps, because readers ask
/// it about every frame.
Result<bool> StepLoop::wait_for_newest(Nanoseconds until) {
    for (;;) {
        if (is_cancelled()) return fail(cancelled());
        const Nanoseconds timeout = poll_until(until);
        KG_TRY(const bool done, bridge_->wait(stepper_->newest(), timeout));
        if (done) break;
        if (timeout == Nanoseconds{}) return false;
    }
    KG_CHECK(stepper_->status());
    return true;
}

/// Begins a clip once the steps of the previous one are done, and clears their errors in the stepper. False if `until`
/// passes first: the next call continues to wait.
Result<bool> StepLoop::begin_clip(Nanoseconds until) {
    if (begin_ == Begin::No) return true;
    auto done = wait_for_newest(until);
    const bool ends = begin_ == Begin::Around || is_cancelled();
    if (done ? !*done : ends) return done;
    KG_CHECK(stepper_->begin_clip(decoded_generation_));
    feed_->begin_clip();
    begin_ = Begin::No;
    return true;
}

void StepLoop::run_request() {
    StateRequest* request = begin_request();
    if (request == nullptr) return;
    auto result = run(*request->work, request->drops_frames);
    {
        const Lock lock(mutex_);
        request->result = std::move(result);
    }
    changed_.notify_all();
}

/// Nothing while a restart has not been followed, which would undo what the request does.
StepLoop::StateRequest* StepLoop::begin_request() {
    const Lock lock(mutex_);
    if (generation_ != decoded_generation_) return nullptr;
    if (request_ != nullptr) request_->has_begun = true;
    return std::exchange(request_, nullptr);
}

Result<void> StepLoop::run(const StateWork& work, bool drops_frames) {
    KG_CHECK(stepper_->between_steps(work));
    if (!drops_frames) return {};
    decoded_generation_ = begin_anew();
    stepper_->continue_in(decoded_generation_);
    feed_->begin_clip();
    return {};
}

Result<bool> StepLoop::between_steps(const StateWork& work, Nanoseconds until, bool drops_frames) {
    if (steps_where_pushed()) {
        KG_TRY(const bool stepped, step_all(until));
        if (stepped) KG_CHECK(run(work, drops_frames));
        return stepped;
    }
    StateRequest request{.work = &work, .drops_frames = drops_frames};
    Lock lock(mutex_);
    if (request_ != nullptr)
        return fail(ErrorCode::InvalidArgument, "another thread is in a call that uses the clip's state");
    request_ = &request;
    ++wakes_;
    is_idle_ = false;
    changed_.notify_all();
    const auto ended = [&]() KG_REQUIRES(mutex_) { return cancelled_ || stop_ || at_end_; };
    changed_.wait_for(lock, std::max(until - host_now(), Nanoseconds{}), [&]() KG_REQUIRES(mutex_) {
        return request.result.has_value() || (!request.has_begun && ended());
    });
    while (request.has_begun && !request.result)
        changed_.wait_for(lock, kPoll, [&] { return request.result.has_value(); });
    request_ = nullptr;
    if (request.result) {
        KG_CHECK(*request.result);
        return true;
    }
    if (cancelled_ || stop_) return fail(cancelled());
    if (error_) return fail(*error_);
    if (at_end_) return fail(ErrorCode::InvalidArgument, "the clip has ended, and its state is over");
    return false;
}

/// False without room.
Result<bool> StepLoop::step(const Fed& fed, Nanoseconds timeout) {
    KG_TRY_IN(fed.place, const Stepped stepped, stepper_->step(fed.latent, timeout));
    if (stepped != Stepped::Enqueued) return false;
    feed_->taken();
    {
        const Lock lock(mutex_);  // a reader either sees the frames in the ring or already waits
        arrived_.at(stepper_->steps() % arrived_.size()) = {fed.arrived, fed.latent.input};
    }
    changed_.notify_all();
    return true;
}

/// At the end: waits for the last step. An error of a step stays in the stepper: frames after it may be wrong.
Result<void> StepLoop::finish() {
    KG_CHECK(wait_for_newest(kNever));
    return stepper_->wait_for_steps();
}

/// Ends the clip, unless it has been restarted meanwhile. The first Error is kept.
void StepLoop::end(std::optional<Error> error) {
    {
        const Lock lock(mutex_);
        if (generation_ != decoded_generation_ || (!error && loop_)) return;
        if (!error_) error_ = std::move(error);
        if (error_) feed_->refuse(*error_);
        at_end_ = true;
    }
    changed_.notify_all();
}

std::optional<Error> StepLoop::ended_with() const {
    const Lock lock(mutex_);
    if (cancelled_ || stop_) return cancelled();
    return error_;
}

bool StepLoop::is_cancelled() const {
    const Lock lock(mutex_);
    return cancelled_ || stop_;
}

// ---- readers -------------------------------------------------------------------------------------------------------

/// The record, unless a step is known to have failed: the frame's contents are then undefined.
Result<std::optional<FrameRecord>> StepLoop::with_good_status(const std::optional<FrameRecord>& record) {
    auto status = record ? stepper_->status() : Result<void>{};
    if (status) return record;
    static_cast<void>(stepper_->ring().release(*record, {}));
    return fail(std::move(status.error()));
}

/// The generation whose frames are taken; the Error if no more of them are handed out.
Result<std::uint64_t> StepLoop::begin_take() const {
    const Lock lock(mutex_);
    if (cancelled_ || stop_) return fail(cancelled());
    if (reported_) return fail(*reported_);
    return generation_;
}

/// An Error that a reader meets ends the clip: every later call returns it, even if frames are left. Nothing if that
/// generation is over.
Result<std::optional<FrameRecord>> StepLoop::fail_reader(Error error, std::uint64_t generation) {
    {
        const Lock lock(mutex_);
        if (generation != generation_) return std::nullopt;
        if (cancelled_ || stop_) return fail(cancelled());
        if (!reported_) reported_ = std::move(error);
        if (!error_) error_ = reported_;
        feed_->refuse(*error_);
        at_end_ = true;
        error = *reported_;
    }
    changed_.notify_all();
    return fail(std::move(error));
}

template <class Take>
Result<std::optional<FrameRecord>> StepLoop::take_by(const Take& take) {
    KG_TRY(const std::uint64_t generation, begin_take());
    Result<std::optional<FrameRecord>> record = take();
    if (!record) return fail_reader(std::move(record.error()), generation);
    if (*record) note_taken(**record);
    return record;
}

/// Nothing if no frame is complete; an Error if none will come.
Result<std::optional<FrameRecord>> StepLoop::take_now() {
    // Read before the ring: frames decoded before an error are in the ring by then.
    auto error = ended_with();
    KG_TRY(auto record, with_good_status(stepper_->ring().try_take_ready()));
    if (record) record->is_finite = stepper_->is_finite(*record).value_or(true);
    // Frames that wait for a lost device are never decoded.
    const bool is_last = error && (error->code == ErrorCode::DeviceLost || stepper_->ring().stats().waiting == 0);
    if (!record && is_last) return fail(std::move(*error));
    return record;
}

/// Waits until the next frame may be complete, or none will come.
Result<void> StepLoop::wait_for_frame(Nanoseconds timeout) {
    if (const auto ready = stepper_->ring().next_ready()) {
        KG_CHECK(bridge_->wait(*ready, std::min(timeout, kPoll)));
        return {};
    }
    Lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&]() KG_REQUIRES(mutex_) {
        return cancelled_ || at_end_ || stepper_->ring().stats().waiting > 0;
    });
    return {};
}

Result<std::optional<FrameRecord>> StepLoop::take(Nanoseconds timeout) {
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

/// Waits until the newest latents are being decoded, or there is no room for their frames. Not where a step may wait
/// for the device.
void StepLoop::wait_for_start(Nanoseconds timeout) const {
    if (is_clip() || stepper_->submits_to_display()) return;
    Lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&]() KG_REQUIRES(mutex_) {
        return is_idle_ || cancelled_ || at_end_ || stop_ || stepper_->ring().stats().waiting > 0;
    });
}

Result<std::optional<FrameRecord>> StepLoop::try_take_ahead() {
    return take_by([this]() -> Result<std::optional<FrameRecord>> {
        auto record = stepper_->ring().try_take();
        if (!record) {
            wait_for_start(std::chrono::seconds(1));
            auto error = ended_with();  // before the ring, as in take_now()
            record = stepper_->ring().try_take();
            if (!record && error) return fail(std::move(*error));
        }
        return with_good_status(record);
    });
}

/// Counts the latencies of a step whose first frame is taken.
void StepLoop::note_taken(const FrameRecord& record) {
    const Nanoseconds now = host_now();
    const Lock lock(mutex_);
    const Arrived& arrived = arrived_.at(record.label.step % arrived_.size());
    if (arrived.pushed == Nanoseconds{} || std::exchange(step_taken_, record.label.step) == record.label.step) return;
    latencies_.pushed.add(now - arrived.pushed);
    if (arrived.input != Nanoseconds{}) latencies_.input.add(now - arrived.input);
    if (record.label.index == 0) latencies_.first_frame = latencies_.pushed.newest;
    stepper_->note_latencies(latencies_);
}

void StepLoop::restart() {
    if (feed_->is_live()) return drop_complete_frames();
    static_cast<void>(begin_anew());
}

void StepLoop::drop_complete_frames() {
    for (auto record = try_take(); record && *record; record = try_take()) static_cast<void>(release(**record, {}));
}

std::uint64_t StepLoop::begin_anew() {
    std::uint64_t generation = 0;
    {
        const Lock lock(mutex_);
        generation = generation_ = stepper_->ring().restart();
        feed_->restart();
        if (stop_) feed_->refuse(cancelled());
        at_end_ = false;
        cancelled_ = false;
        error_.reset();
        reported_.reset();
        ++wakes_;
        is_idle_ = false;
    }
    changed_.notify_all();
    return generation;
}

void StepLoop::cancel() {
    {
        const Lock lock(mutex_);
        cancelled_ = true;
        feed_->refuse(cancelled());
    }
    changed_.notify_all();
}

bool StepLoop::close(Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    const auto left = [until] { return std::max(until - host_now(), Nanoseconds{}); };
    {
        Lock lock(mutex_);
        stop_ = cancelled_ = true;
        feed_->refuse(cancelled());
        changed_.notify_all();
        const auto stopped = [&]() KG_REQUIRES(mutex_) { return has_stopped_ || !thread_.joinable(); };
        if (!changed_.wait_for(lock, left(), stopped)) return false;
    }
    const auto is_over_by_then = [&](const interop::TimelinePoint& point) { return is_over(point, left()); };
    return is_over_by_then(stepper_->newest()) && std::ranges::all_of(stepper_->ring().reusable(), is_over_by_then);
}

/// Whether the point is reached within `timeout`, or is of a lost device, which no longer reads.
bool StepLoop::is_over(const interop::TimelinePoint& point, Nanoseconds timeout) const {
    const auto reached = bridge_->wait(point, timeout);
    if (!reached && reached.error().code == ErrorCode::Cancelled) return bridge_->has_reached(point);
    return !reached || *reached;
}

void StepLoop::set_loop(bool loop) {
    if (!is_clip()) return;
    {
        const Lock lock(mutex_);
        loop_ = loop;
        if (loop && !error_) at_end_ = false;
    }
    changed_.notify_all();
}

bool StepLoop::finished() const {
    const Lock lock(mutex_);
    return at_end_ && !error_ && stepper_->ring().stats().waiting == 0;
}

SourceStats StepLoop::stats() const {
    wait_for_start(kPoll);  // the steps of latents that were pushed count, unless the driver blocks their start
    const StepTimes times = stepper_->times();  // asks the driver, which may block
    const Lock lock(mutex_);                    // before the ring is asked: once at_end_ is set, all frames are in it
    const interop::FrameRingStats ring = stepper_->ring().stats();
    return {ring.waiting, ring.held, times, at_end_ && !error_, latencies_, stepper_->queue_figures()};
}

SourceHealth StepLoop::health() const {
    SourceHealth health{.lanes = stepper_->lane_states(), .unmoved = {}};
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

}  // namespace kinetograph::stream
