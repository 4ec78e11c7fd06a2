#include "fake_clip.hpp"

#include <kinetograph/samples/viewer/queued_clip.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <thread>

namespace kinetograph::viewer::testing {
namespace {

/// Knows the size of its frames and nothing else.
class FakeDecoder final : public vae::Decoder {
  public:
    FakeDecoder(std::int64_t width, std::int64_t height) : width_(width), height_(height) {}
    vae::StepFrames step_frames() const override { return {.most = 4, .height = height_, .width = width_}; }
    vae::LatentSize latent_size() const override { std::abort(); }
    Result<vae::DecodedFrames> step(std::span<const float>) override { std::abort(); }
    Result<void> reset() override { std::abort(); }
    Result<void> attach(vae::DeviceOutput) override { std::abort(); }
    Result<vae::EnqueuedStep> enqueue(const vae::DeviceStep&) override { std::abort(); }
    accel::AcceleratorLane& lane() override { std::abort(); }
    Result<std::vector<float>> trace(std::span<const float>, std::string_view) override { std::abort(); }
    std::vector<std::string> modules() const override { std::abort(); }
    const graph::Plan* plan() const override { std::abort(); }
    Result<graph::Plan> compile_plan(int) const override { std::abort(); }
    std::uint64_t peak_device_bytes() const override { std::abort(); }
    vae::StackMemory memory() const override { std::abort(); }

  private:
    std::int64_t width_, height_;
};

/// Frames become ready one after another, `step` apart, from the moment of creation or restart.
class FakeQueue final : public vae::DecodeQueue {
  public:
    FakeQueue(FakeSource& source, const FakeClip& fake, std::string name, bool loop)
        : source_(source), fake_(fake), decoder_(fake.width, fake.height), loop_(loop), began_(host_now()) {
        clip_.name = std::move(name);
        clip_.frames = fake.latent_frames;
        clip_.fps = fake.fps;
        clip_.width = fake.width / 8;
        clip_.height = fake.height / 8;
        ++source_.live_queues;
    }
    ~FakeQueue() override {
        source_.closing.pass();
        --source_.live_queues;
    }

    Result<std::optional<vae::Frame>> try_pop() override {
        if (taken_ == frames() && loop_) {
            taken_ = 0;
            began_ = host_now();
        }
        if (taken_ >= ready()) return std::nullopt;
        if (fake_.fails_at == taken_) return fail(ErrorCode::InvalidArgument, "latent frame {} is not finite", taken_);
        vae::Frame frame;
        frame.index = taken_;
        frame.generation = generation_;
        frame.width = fake_.width;
        frame.height = fake_.height;
        frame.presentation_time = Nanoseconds(static_cast<std::int64_t>(1e9 * static_cast<double>(taken_) / fake_.fps));
        frame.decoded_at = host_now();
        frame.rgba = fake_pixels(fake_.width, fake_.height, taken_);
        ++taken_;
        return frame;
    }
    Result<std::optional<vae::Frame>> pop() override {
        source_.frames.pass();
        while (taken_ < frames() && taken_ >= ready()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return try_pop();
    }
    void restart() override {
        ++generation_;
        taken_ = 0;
        began_ = host_now();
    }
    void set_loop(bool loop) override { loop_ = loop; }
    vae::DecodeQueueStats stats() const override {
        vae::DecodeQueueStats stats;
        stats.depth = static_cast<std::size_t>(std::max<std::int64_t>(0, ready() - taken_));
        stats.capacity = 16;
        stats.last_step = stats.average_step = 4 * fake_.step;
        stats.finished = !loop_ && ready() == frames();
        return stats;
    }
    const vae::Latents& clip() const override { return clip_; }
    const vae::Decoder& decoder() const override { return decoder_; }

  private:
    std::int64_t frames() const { return 1 + 4 * (fake_.latent_frames - 1); }
    std::int64_t ready() const {
        if (source_.frames.is_closed()) return taken_;
        if (fake_.step == Nanoseconds{}) return frames();
        return std::min<std::int64_t>(frames(), (host_now() - began_) / fake_.step);
    }
    FakeSource& source_;
    FakeClip fake_;
    FakeDecoder decoder_;
    bool loop_;
    Nanoseconds began_;
    vae::Latents clip_;
    std::int64_t taken_ = 0;
    std::uint64_t generation_ = 0;
};

}  // namespace

void Gate::close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
}
void Gate::open() {
    {
        std::lock_guard lock(mutex_);
        closed_ = false;
    }
    opened_.notify_all();
}
bool Gate::is_closed() const {
    std::lock_guard lock(mutex_);
    return closed_;
}
void Gate::pass() {
    std::unique_lock lock(mutex_);
    if (!opened_.wait_for(lock, std::chrono::seconds(10), [&] { return !closed_; })) ++gave_up_;
}
int Gate::gave_up() const {
    std::lock_guard lock(mutex_);
    return gave_up_;
}

std::vector<std::uint8_t> fake_pixels(std::int64_t width, std::int64_t height, std::int64_t index) {
    std::vector<std::uint8_t> rgba;
    rgba.reserve(static_cast<std::size_t>(width * height * 4));
    const auto wave = [](double phase) {
        return static_cast<std::uint8_t>(std::lround(127.5 + 100.0 * std::sin(phase)));
    };
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            const double u = static_cast<double>(x) / static_cast<double>(width);
            const double v = static_cast<double>(y) / static_cast<double>(height);
            const double t = 0.35 * static_cast<double>(index);
            rgba.insert(rgba.end(), {wave(6.0 * u + t), wave(5.0 * v - t), wave(4.0 * (u + v) + 2.0 * t), 255});
        }
    return rgba;
}

Result<std::unique_ptr<DecodingClip>> FakeSource::open(const std::filesystem::path& latents, bool loop) {
    ++opened;
    live_at_open = std::max(live_at_open.load(), live_queues.load());
    opening.pass();
    const auto clip = clips.find(latents.string());
    if (clip == clips.end()) return fail(ErrorCode::NotFound, "{}: no such clip", latents.string());
    if (clip->second.throws) throw std::bad_alloc();
    return std::make_unique<QueuedClip>(std::make_unique<FakeQueue>(*this, clip->second, latents.string(), loop));
}

}  // namespace kinetograph::viewer::testing
