// Clips whose every pixel is known, and decoders that are slow or fail as a test chooses.
#pragma once

#include <kinetograph/samples/viewer/clip.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

namespace kinetograph::viewer::testing {

struct FakeClip {
    std::int64_t width = 256, height = 144;
    std::int64_t latent_frames = 4;  ///< 1 + 4 * (n - 1) frames
    double fps = 24.0;
    Nanoseconds step{};                      ///< time between two frames becoming ready
    std::optional<std::int64_t> fails_at{};  ///< index of the frame in whose place an Error comes
    ErrorCode fails_with = ErrorCode::InvalidArgument;
    bool throws = false;  ///< instead of opening
};

/// Pixels of frame `index`: smooth gradients that move, no two frames alike.
std::vector<std::uint8_t> fake_pixels(std::int64_t width, std::int64_t height, std::int64_t index);

/// Blocks callers of pass() while a test keeps it closed. A caller that waited for ten seconds goes on and is counted.
class Gate {
  public:
    void close();
    void open();
    bool is_closed() const;
    void pass();
    int gave_up() const;

  private:
    mutable std::mutex mutex_;
    std::condition_variable opened_;
    bool closed_ = false;
    int gave_up_ = 0;
};

/// Opens FakeClips by name; any other name is an error.
class FakeSource final : public ClipSource {
  public:
    std::map<std::string, FakeClip> clips;
    Gate opening;  ///< passed by open()
    Gate frames;   ///< while it is closed no frame is ready
    Gate closing;  ///< passed by a stream that is being destroyed
    std::atomic<int> opened{0};
    std::atomic<int> live_streams{0};
    std::atomic<int> closed{0};
    std::atomic<int> live_at_close{0};  ///< the largest number of live streams at a close()
    std::function<void()> on_close;     ///< called by close()
    std::atomic<int> live_at_open{0};   ///< the largest number of live streams at an open()

    void draw_on(const vulkan::Display&) override {}
    Result<Clip> open(const std::filesystem::path& latents, bool loop) override;
    void close() override {
        live_at_close = std::max(live_at_close.load(), live_streams.load());
        ++closed;
        if (on_close) on_close();
    }
    std::string description() const override { return "fake decoder"; }
};

}  // namespace kinetograph::viewer::testing
