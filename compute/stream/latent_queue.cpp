#include <kinetograph/compute/stream/latent_queue.hpp>
#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace kinetograph::stream {
namespace {

vae::StackSize stack_of(vae::LatentSize size) { return {.height = size.height, .width = size.width}; }

std::uint64_t step_bytes(const vae::Model& model, vae::LatentSize size) {
    return vae::input_bytes(model.network(), stack_of(size), model.pushed_frames());
}

/// Pictures are megabytes, and one thread's copy of them takes as long as a small encoder.
void copy(std::span<const float> values, float* to) {
    constexpr std::int64_t kBlock = 1 << 18;
    for_blocks(std::ssize(values), kBlock, [&](std::int64_t first, std::int64_t count) {
        std::memcpy(to + first, values.data() + first, static_cast<std::size_t>(count) * sizeof(float));
    });
}

}  // namespace

Result<std::shared_ptr<LatentQueue>> LatentQueue::create(const vae::Model& model, vae::LatentSize size,
                                                         std::size_t capacity) {
    std::shared_ptr<LatentQueue> queue(new LatentQueue);
    KG_CHECK(queue->make(model, size, capacity));
    return queue;
}

Result<void> LatentQueue::make(const vae::Model& model, vae::LatentSize size, std::size_t capacity) {
    KG_CHECK(model.check(stack_of(size)));
    capacity_ = capacity;
    pixels_ = size.height * size.width;
    channels_ = model.channels();
    one_latent_frame_ = model.network().one_step;
    first_ = model.rates().first;
    group_ = model.pushed_frames();
    if (model.network().network.ends().input == nn::End::Pictures) word_ = "picture";
    const std::uint64_t bytes = step_bytes(model, size);
    const Lock lock(mutex_);
    while (buffers_.size() < capacity + kReading + 1) {
        KG_TRY(auto buffer, model.device().allocate_pinned("a latent frame", bytes));
        free_.push_back(buffers_.size());
        buffers_.push_back(std::move(buffer));
    }
    return {};
}

std::uint64_t LatentQueue::bytes(const vae::Model& model, vae::LatentSize size, std::size_t capacity) {
    return (capacity + kReading + 1) * vae::whole_pages(step_bytes(model, size));
}

std::size_t LatentQueue::capacity_for(const vae::Model& model, vae::LatentSize size, std::uint32_t slots) {
    constexpr std::uint32_t kMostSlots = 256;
    const auto of_a_latent = static_cast<std::uint32_t>(model.step_frames(size).most * model.pushed_frames());
    return 1 + (std::clamp<std::uint32_t>(slots, 1, kMostSlots) - 1) / of_a_latent;
}

std::size_t LatentQueue::queued() const {
    const Lock lock(mutex_);
    return queue_.size();
}

void LatentQueue::attach(StepLoop* loop) {
    const Lock lock(mutex_);
    loop_ = loop;
}

void LatentQueue::free_memory() {
    const Lock lock(mutex_);
    buffers_.clear();
}

Result<void> LatentQueue::check_open() const {
    if (refusal_) return kinetograph::fail(*refusal_);
    if (loop_ == nullptr) return kinetograph::fail(ErrorCode::Cancelled, "the stream has ended");
    return {};
}

/// What the next latents are called in messages. Errors: those of check_open(); where they would be a clip's second.
Result<std::string> LatentQueue::place_of_next(const std::string& before) const {
    const Lock lock(mutex_);
    KG_CHECK(check_open());
    if (is_parked_) return kinetograph::fail(ErrorCode::InvalidArgument, "the clip is parked: resume() comes first");
    if (one_latent_frame_ && pushed_ > 0)
        return kinetograph::fail(ErrorCode::InvalidArgument,
                                 "a clip of this decoder is one latent frame: a reset begins the next one");
    return fmt::format("{}{}{} {}", before, before.empty() ? "" : ": ", word_, pushed_);
}

Result<void> LatentQueue::status() const {
    const Lock lock(mutex_);
    return check_open();
}

std::int64_t LatentQueue::next_count() const {
    const Lock lock(mutex_);
    return count_of_next();
}

Result<void> LatentQueue::check_count(std::span<const float> values, const std::string& place) const {
    const std::int64_t wanted = next_count() * channels_ * pixels_;
    if (std::ssize(values) == wanted) return {};
    return kinetograph::fail(ErrorCode::InvalidArgument, "{}: {} values were given, {} are wanted", place,
                             values.size(), wanted);
}

/// Also for a buffer. False if `until` passes first.
Result<bool> LatentQueue::wait_for_room(Lock& lock, Nanoseconds until) {
    const bool has_room = changed_.wait_for(
        lock, std::max(until - host_now(), Nanoseconds{}),
        [&]() KG_REQUIRES(mutex_) { return refusal_ || (queue_.size() < capacity_ && !free_.empty()); });
    KG_CHECK(check_open());
    return has_room;
}

Result<bool> LatentQueue::wait_for_room(Nanoseconds timeout) {
    Lock lock(mutex_);
    return wait_for_room(lock, host_now() + timeout);
}

Result<bool> LatentQueue::push(const LatentFrame& latent, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    KG_TRY(auto place, place_of_next(""));
    const std::int64_t values = next_count() * channels_ * pixels_;
    const std::uint64_t given = latent.address == nullptr ? 0 : latent.bytes,
                        wanted = static_cast<std::uint64_t>(values) * tensor::bytes_per_element(latent.dtype);
    if (given < wanted)
        return kinetograph::fail(ErrorCode::InvalidArgument, "{}: {} bytes were given, {} are wanted", place, given,
                                 wanted);
    KG_TRY(const bool has_room, wait_for_room(timeout));
    if (!has_room) return false;
    return put({.latent = latent, .place = std::move(place), .arrived = host_now()}, until);
}

Result<bool> LatentQueue::push(std::span<const float> latent, Nanoseconds timeout, Nanoseconds input) {
    return push(latent, timeout, host_now(), "", input);
}

Result<bool> LatentQueue::push(std::span<const float> latent, Nanoseconds timeout, Nanoseconds arrived,
                               const std::string& before, Nanoseconds input) {
    const Nanoseconds until = host_now() + timeout;
    KG_TRY(auto place, place_of_next(before));
    KG_CHECK(check_count(latent, place));
    const std::int64_t number = [this] {
        const Lock lock(mutex_);
        return pushed_;
    }();
    auto finite = vae::check_finite(latent, number, pixels_);
    if (!finite && !before.empty()) return kinetograph::fail(std::move(finite.error()), before);
    KG_CHECK(finite);
    return put_copy(latent, {.latent = {.input = input}, .place = std::move(place), .arrived = arrived}, until);
}

Result<bool> LatentQueue::push_finite(std::span<const float> values, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    KG_TRY(auto place, place_of_next(""));
    KG_CHECK(check_count(values, place));
    return put_copy(values, {.place = std::move(place), .arrived = host_now()}, until);
}

Result<bool> LatentQueue::put_copy(std::span<const float> values, Waiting waiting, Nanoseconds until) {
    {
        Lock lock(mutex_);
        KG_TRY(const bool has_room, wait_for_room(lock, until));
        if (!has_room) return false;
        waiting.buffer = free_.back();
        free_.pop_back();
    }
    const accel::Memory& buffer = *buffers_[waiting.buffer];
    copy(values, reinterpret_cast<float*>(buffer.host_data()));
    waiting.latent.address = buffer.data();
    waiting.latent.bytes = values.size_bytes();
    return put(std::move(waiting), until);
}

/// Only this thread adds to the queue, so that there still is room.
Result<bool> LatentQueue::put(Waiting waiting, Nanoseconds until) {
    StepLoop* loop = nullptr;
    {
        const Lock lock(mutex_);
        waiting.epoch = epoch_;
        waiting.latent.count = count_of_next();
        pushed_ += waiting.latent.count;
        queue_.push_back(std::move(waiting));
        loop = loop_;
    }
    if (!loop->steps_where_pushed()) {
        loop->wake();
        return true;
    }
    auto stepped = loop->step_all(until);
    if (!stepped || !*stepped) withdraw();
    return stepped;
}

/// Takes back the latents that were pushed last, unless a restart has.
void LatentQueue::withdraw() {
    const Lock lock(mutex_);
    if (in_hand_ && in_hand_->epoch == epoch_) {
        pushed_ -= in_hand_->latent.count;
        free(*in_hand_);
        in_hand_.reset();
    } else if (!queue_.empty()) {
        pushed_ -= queue_.back().latent.count;
        free(queue_.back());
        queue_.pop_back();
    }
}

void LatentQueue::free(const Waiting& waiting) {
    if (waiting.buffer != kCallers) free_.push_back(waiting.buffer);
}

Result<StepLoop*> LatentQueue::open_loop() const {
    const Lock lock(mutex_);
    KG_CHECK(check_open());
    return loop_;
}

Result<std::optional<vae::ClipState>> LatentQueue::save(Nanoseconds timeout) {
    KG_TRY(StepLoop* const loop, open_loop());
    std::optional<vae::ClipState> saved;
    KG_TRY(const bool done, loop->between_steps(
                                [&](vae::Clip& clip, accel::Stream& stream) -> Result<void> {
                                    KG_TRY(saved, clip.save(stream));
                                    return {};
                                },
                                host_now() + timeout));
    if (!done) saved.reset();
    return saved;
}

Result<bool> LatentQueue::load(const vae::ClipState& state, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    begin_anew();
    KG_TRY(StepLoop* const loop, open_loop());
    KG_TRY(
        const bool done,
        loop->between_steps([&](vae::Clip& clip, accel::Stream& stream) { return clip.load(state, stream); }, until));
    if (done) continue_at(state.latent_frames);
    return done;
}

Result<bool> LatentQueue::branch_to(LatentQueue& other, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    KG_TRY(StepLoop* const loop, open_loop());
    KG_TRY(StepLoop* const branch, other.open_loop());
    if (loop == branch) return kinetograph::fail(ErrorCode::InvalidArgument, "a clip is no branch of itself");
    std::int64_t latent_frames = 0;
    KG_TRY(const bool done, loop->between_steps(
                                [&](vae::Clip& clip, accel::Stream&) -> Result<void> {
                                    const StepLoop::StateWork copy = [&](vae::Clip& to, accel::Stream& stream) {
                                        return to.branch_from(clip, stream);
                                    };
                                    latent_frames = clip.latent_frame();
                                    KG_TRY(const bool copied, branch->between_steps(copy, until));
                                    if (copied) return {};
                                    return kinetograph::fail(ErrorCode::InvalidArgument,
                                                             "latents of the clip that becomes a branch wait");
                                },
                                until));
    if (done) other.continue_at(latent_frames);
    return done;
}

Result<bool> LatentQueue::rewind(std::int64_t steps, Nanoseconds timeout) {
    KG_TRY(StepLoop* const loop, open_loop());
    std::int64_t latent_frames = 0;
    KG_TRY(const bool done, loop->between_steps(
                                [&](vae::Clip& clip, accel::Stream& stream) -> Result<void> {
                                    KG_CHECK(clip.rewind(steps, stream));
                                    latent_frames = clip.latent_frame();
                                    return {};
                                },
                                host_now() + timeout, true));
    if (done) continue_at(latent_frames);
    return done;
}

Result<bool> LatentQueue::park(Nanoseconds timeout) { return move_state(true, timeout); }

Result<bool> LatentQueue::resume(Nanoseconds timeout) { return move_state(false, timeout); }

Result<bool> LatentQueue::move_state(bool parks, Nanoseconds timeout) {
    KG_TRY(StepLoop* const loop, open_loop());
    KG_TRY(const bool done,
           loop->between_steps(
               [&](vae::Clip& clip, accel::Stream& stream) { return parks ? clip.park(stream) : clip.resume(stream); },
               host_now() + timeout));
    if (!done) return false;
    const Lock lock(mutex_);
    is_parked_ = parks;
    return true;
}

/// The next latents are that latent frame of the clip.
void LatentQueue::continue_at(std::int64_t latent_frame) {
    const Lock lock(mutex_);
    pushed_ = latent_frame;
}

void LatentQueue::begin_anew() {
    StepLoop* loop = nullptr;
    {
        const Lock lock(mutex_);
        loop = loop_;
    }
    if (loop != nullptr) static_cast<void>(loop->begin_anew());
}

void LatentQueue::finish() {
    StepLoop* loop = nullptr;
    {
        const Lock lock(mutex_);
        is_finished_ = true;
        loop = loop_;
    }
    if (loop != nullptr) loop->wake();
}

void LatentQueue::fail(Error error) {
    StepLoop* loop = nullptr;
    {
        const Lock lock(mutex_);
        if (!failed_) failed_ = std::move(error);
        loop = loop_;
    }
    if (loop != nullptr) loop->wake();
}

Result<Fed> LatentQueue::next(std::int64_t most) {
    static_cast<void>(most);  // one by one, as they are made
    const Lock lock(mutex_);
    if (!in_hand_ && !queue_.empty()) {
        in_hand_ = std::move(queue_.front());
        queue_.pop_front();
        changed_.notify_all();
    }
    if (in_hand_)
        return Fed{.state = Fed::State::Ready,
                   .latent = in_hand_->latent,
                   .place = in_hand_->place,
                   .arrived = in_hand_->arrived};
    if (failed_) return kinetograph::fail(*failed_);
    return Fed{.state = is_finished_ ? Fed::State::Ended : Fed::State::Waiting};
}

void LatentQueue::taken() {
    const Lock lock(mutex_);
    reading_.push_back(std::move(*in_hand_));
    in_hand_.reset();
    if (reading_.size() > kReading) {
        free(reading_.front());
        reading_.pop_front();
    }
    changed_.notify_all();
}

void LatentQueue::begin_clip() {
    const Lock lock(mutex_);
    for (const Waiting& read : reading_) free(read);
    reading_.clear();
    if (in_hand_ && in_hand_->epoch != epoch_) {
        free(*in_hand_);
        in_hand_.reset();
    }
    changed_.notify_all();
}

void LatentQueue::restart() {
    const Lock lock(mutex_);
    for (const Waiting& waiting : queue_) free(waiting);
    queue_.clear();
    ++epoch_;
    pushed_ = 0;
    is_finished_ = is_parked_ = false;
    failed_.reset();
    refusal_.reset();
    changed_.notify_all();
}

void LatentQueue::refuse(const Error& reason) {
    const Lock lock(mutex_);
    if (!refusal_) refusal_ = reason;
    changed_.notify_all();
}

}  // namespace kinetograph::stream
