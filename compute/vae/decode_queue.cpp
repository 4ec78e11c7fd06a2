#include <kinetograph/compute/vae/decode_queue.hpp>

#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/engine/base/exceptions.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace kinetograph::vae {

void to_rgba8(std::span<const float> rgb, std::span<std::uint8_t> rgba) {
    for (std::size_t pixel = 0; pixel < rgb.size() / 3; ++pixel) {
        for (std::size_t c = 0; c < 3; ++c) rgba[4 * pixel + c] = nn::to_unorm8(rgb[3 * pixel + c]);
        rgba[4 * pixel + 3] = 255;
    }
}

namespace {

class ThreadedDecodeQueue final : public DecodeQueue {
  public:
    ThreadedDecodeQueue(std::unique_ptr<Decoder> decoder, Latents clip, const DecodeQueueOptions& options)
        : decoder_(std::move(decoder)),
          clip_(std::move(clip)),
          frames_of_a_step_(static_cast<std::size_t>(decoder_->step_frames().most)),
          capacity_(std::max(options.capacity, frames_of_a_step_)),
          loop_(options.loop),
          worker_([this] { decode_loop(); }) {}

    ~ThreadedDecodeQueue() override {
        {
            std::lock_guard lock(mutex_);
            stop_ = true;
        }
        changed_.notify_all();
        worker_.join();
    }

    Result<std::optional<Frame>> try_pop() override {
        std::lock_guard lock(mutex_);
        return take();
    }

    Result<std::optional<Frame>> pop() override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !ready_.empty() || error_ || finished_; });
        return take();
    }

    void restart() override {
        {
            std::lock_guard lock(mutex_);
            ++generation_;
            ready_.clear();
            error_.reset();
            finished_ = false;
            next_latent_ = 0;
            reset_wanted_ = true;
        }
        changed_.notify_all();
    }

    void set_loop(bool loop) override {
        {
            std::lock_guard lock(mutex_);
            loop_ = loop;
            if (loop && finished_) {
                finished_ = false;
                next_latent_ = 0;
                reset_wanted_ = true;
            }
        }
        changed_.notify_all();
    }

    DecodeQueueStats stats() const override {
        std::lock_guard lock(mutex_);
        const auto average =
            full_steps_ > 0 ? full_step_time_ / static_cast<Nanoseconds::rep>(full_steps_) : Nanoseconds{};
        return {ready_.size(), capacity_, steps_, last_step_, average, finished_};
    }

    const Latents& clip() const override { return clip_; }
    const Decoder& decoder() const override { return *decoder_; }

  private:
    Result<std::optional<Frame>> take() {
        if (!ready_.empty()) {
            std::optional<Frame> frame = std::move(ready_.front());
            ready_.pop_front();
            changed_.notify_all();
            return frame;
        }
        if (error_) return fail(*error_);
        return std::nullopt;
    }

    bool may_decode() const {
        return !error_ && !finished_ &&
               (ready_.empty() || capacity_ - std::min(capacity_, ready_.size()) >= frames_of_a_step_);
    }

    void decode_loop() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return stop_ || may_decode(); });
            if (stop_) return;
            const std::uint64_t generation = generation_;
            const std::int64_t latent = next_latent_;
            const bool reset = std::exchange(reset_wanted_, false);
            lock.unlock();
            Result<std::vector<Frame>> frames =
                without_exceptions("decoding", [&] { return decode(latent, generation, reset); });
            lock.lock();
            if (generation != generation_) continue;  // restarted meanwhile: what was decoded is of the past
            if (frames)
                accept(std::move(*frames), latent);
            else
                error_ = std::move(frames.error());
            changed_.notify_all();
        }
    }

    /// Runs without the lock; only this thread touches the decoder.
    Result<std::vector<Frame>> decode(std::int64_t latent, std::uint64_t generation, bool reset) {
        if (reset) KG_CHECK(decoder_->reset());
        KG_TRY(const auto step, decoder_->step(clip_.frame(latent)));
        const auto elements = static_cast<std::size_t>(step.height * step.width) * 3;
        std::vector<Frame> frames;
        for (std::int64_t i = 0; i < step.count; ++i) {
            Frame frame;
            frame.index = step.first_index + i;
            frame.step = latent;
            frame.generation = generation;
            frame.width = step.width;
            frame.height = step.height;
            frame.presentation_time = Nanoseconds(std::llround(static_cast<double>(frame.index) * 1e9 / clip_.fps));
            frame.rgba.resize(elements / 3 * 4);
            to_rgba8(step.thwc.subspan(static_cast<std::size_t>(i) * elements, elements), frame.rgba);
            frame.decoded_at = host_now();
            frame.not_finite = step.not_finite;
            frames.push_back(std::move(frame));
        }
        step_time_ = step.duration;
        return frames;
    }

    void accept(std::vector<Frame> frames, std::int64_t latent) {
        ++steps_;
        last_step_ = step_time_;
        if (frames.size() == frames_of_a_step_) {
            ++full_steps_;
            full_step_time_ += step_time_;
        }
        for (Frame& frame : frames) ready_.push_back(std::move(frame));
        next_latent_ = latent + 1;
        if (next_latent_ < clip_.frames) return;
        if (loop_) {
            next_latent_ = 0;
            reset_wanted_ = true;
        } else {
            finished_ = true;
        }
    }

    const std::unique_ptr<Decoder> decoder_;
    const Latents clip_;
    const std::size_t frames_of_a_step_;
    const std::size_t capacity_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Frame> ready_;
    std::optional<Error> error_;
    std::uint64_t generation_ = 0;
    std::int64_t next_latent_ = 0;
    bool reset_wanted_ = false;
    bool finished_ = false;
    bool loop_;
    bool stop_ = false;
    std::uint64_t steps_ = 0, full_steps_ = 0;
    Nanoseconds last_step_{}, full_step_time_{};
    Nanoseconds step_time_{};  ///< worker only
    std::thread worker_;       ///< last: starts when everything else exists
};

}  // namespace

Result<std::unique_ptr<DecodeQueue>> DecodeQueue::create(std::unique_ptr<Decoder> decoder, Latents clip,
                                                         const DecodeQueueOptions& options) {
    KG_CHECK(check_fit(*decoder, clip));
    return std::make_unique<ThreadedDecodeQueue>(std::move(decoder), std::move(clip), options);
}

}  // namespace kinetograph::vae
