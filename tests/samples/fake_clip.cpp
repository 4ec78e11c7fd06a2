#include "fake_clip.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <thread>

namespace kinetograph::viewer::testing {
namespace {

/// Frames become ready one after another, `step` apart, from the moment of creation or restart.
class FakeStream final : public stream::FrameSource {
  public:
    FakeStream(FakeSource& source, const FakeClip& fake, bool loop)
        : source_(source), fake_(fake), loop_(loop), began_(host_now()) {
        facts_ = {.width = fake.width,
                  .height = fake.height,
                  .frames = 1 + 4 * (fake.latent_frames - 1),
                  .frames_of_a_step = 4,
                  .fps = fake.fps,
                  .slots = 16,
                  .route = "a fake",
                  .memory = {}};
        ++source_.live_streams;
    }
    ~FakeStream() override {
        source_.closing.pass();
        --source_.live_streams;
    }
    FakeStream(const FakeStream&) = delete;
    FakeStream& operator=(const FakeStream&) = delete;

    Result<std::optional<interop::FrameRecord>> take(Nanoseconds) override { return try_take_ahead(); }
    Result<std::optional<interop::FrameRecord>> try_take_ahead() override {
        if (taken_ == facts_.frames && loop_) {
            taken_ = 0;
            began_ = host_now();
        }
        if (taken_ >= ready()) return std::nullopt;
        if (fake_.fails_at == taken_) return fail(fake_.fails_with, "latent frame {} is not finite", taken_);
        auto& pixels = held_[++serial_];
        pixels = fake_pixels(fake_.width, fake_.height, taken_);
        interop::FrameRecord record;
        record.host = std::as_bytes(std::span(pixels));
        record.row_bytes = static_cast<std::uint64_t>(4 * fake_.width);
        record.width = static_cast<std::uint32_t>(fake_.width);
        record.height = static_cast<std::uint32_t>(fake_.height);
        record.label = {
            .index = taken_,
            .presentation_time = Nanoseconds(static_cast<std::int64_t>(1e9 * static_cast<double>(taken_) / fake_.fps)),
            .step = 0};
        record.generation = generation_;
        record.serial = serial_;
        ++taken_;
        return record;
    }
    Result<void> release(const interop::FrameRecord& record, const interop::TimelinePoint&) override {
        EXPECT_EQ(held_.erase(record.serial), 1U);
        return {};
    }
    void restart() override {
        ++generation_;
        taken_ = 0;
        began_ = host_now();
    }
    void cancel() override { std::abort(); }
    bool close(Nanoseconds) override { return true; }
    void set_loop(bool loop) override { loop_ = loop; }
    stream::SourceHealth health() const override { return {}; }
    bool finished() const override { return stats().finished && stats().depth == 0; }
    stream::SourceStats stats() const override {
        return {.depth = static_cast<std::size_t>(std::max<std::int64_t>(0, ready() - taken_)),
                .held = 0,
                .times = {.steps = 0, .last_step = 4 * fake_.step, .average_step = 4 * fake_.step},
                .finished = !loop_ && ready() == facts_.frames};
    }
    const stream::SourceFacts& facts() const override { return facts_; }
    std::optional<Nanoseconds> decoded_at(const interop::FrameRecord&) const override { return host_now(); }
    std::optional<bool> is_finite(const interop::FrameRecord&) const override { return true; }
    void collect() override {}

  private:
    std::int64_t ready() const {
        if (source_.frames.is_closed()) return taken_;
        if (fake_.step == Nanoseconds{}) return facts_.frames;
        return std::min<std::int64_t>(facts_.frames, (host_now() - began_) / fake_.step);
    }
    FakeSource& source_;
    FakeClip fake_;
    bool loop_;
    Nanoseconds began_;
    stream::SourceFacts facts_;
    std::map<std::uint64_t, std::vector<std::uint8_t>> held_;  ///< [serial] -> pixels
    std::uint64_t serial_ = 0;
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

Result<Clip> FakeSource::open(const std::filesystem::path& latents, bool loop) {
    ++opened;
    live_at_open = std::max(live_at_open.load(), live_streams.load());
    opening.pass();
    const auto clip = clips.find(latents.string());
    if (clip == clips.end()) return fail(ErrorCode::NotFound, "{}: no such clip", latents.string());
    if (clip->second.throws) throw std::bad_alloc();
    // As many as 256 MiB hold, but 8 to 64: what the viewer keeps of a clip in the host's memory.
    const auto frame_bytes = static_cast<std::uint64_t>(4 * clip->second.width * clip->second.height);
    return Clip{.stream = std::make_unique<FakeStream>(*this, clip->second, loop),
                .kept = std::clamp<std::uint64_t>((256U << 20U) / frame_bytes, 8, 64),
                .route = {}};
}

}  // namespace kinetograph::viewer::testing
