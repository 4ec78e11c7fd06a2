// Clips whose every pixel is known, and decoders as slow or as broken as a test wants them.
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
    std::optional<std::int64_t> fails_at{};  ///< index of the frame that an Error comes instead of
    ErrorCode fails_with = ErrorCode::InvalidArgument;
    bool throws = false;  ///< when it is opened
};

/// Pixels of frame `index`: smooth gradients that move, no two frames alike.
std::vector<std::uint8_t> fake_pixels(std::int64_t width, std::int64_t height, std::int64_t index);

/// Where a test holds others up, for as long as it wants; who has stood there for ten seconds goes on and is counted.
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
    Gate opening;  ///< that open() passes
    Gate frames;   ///< while it is closed no frame is ready
    Gate closing;  ///< that a stream passes on its way out
    std::atomic<int> opened{0};
    std::atomic<int> live_streams{0};
    std::atomic<int> closed{0};
    std::atomic<int> live_at_close{0};  ///< the most that there ever were when the device was closed
    std::function<void()> on_close;     ///< called by close()
    std::atomic<int> live_at_open{0};   ///< the most that there ever were when another was opened

    void draw_on(const vulkan::Device&) override {}
    Result<Clip> open(const std::filesystem::path& latents, bool loop) override;
    void close() override {
        live_at_close = std::max(live_at_close.load(), live_streams.load());
        ++closed;
        if (on_close) on_close();
    }
    std::string description() const override { return "fake decoder"; }
};

}  // namespace kinetograph::viewer::testing
