// GuardedOutputs: what a command writes, which an interruption may discard from another thread (interrupt.hpp).
#pragma once

#include <kinetograph/tools/kinetograph/text_output.hpp>
#include <kinetograph/tools/media/frame_sink.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace kinetograph::cli {

/// Every call is whole before an interruption discards anything: no file lies there that nobody would remove.
class GuardedOutputs {
  public:
    /// Errors: those of media::create_sink.
    Result<void> open_frames(const std::string& out, const media::ClipFormat& format) {
        std::lock_guard lock(mutex_);
        KG_TRY(frames_, media::create_sink(out, format));
        return {};
    }
    /// `path` empty: none. Errors: those of TextOutput::create.
    Result<void> open_text(const std::string& path) {
        if (path.empty()) return {};
        std::lock_guard lock(mutex_);
        KG_TRY(auto text, TextOutput::create(path));
        text_.emplace(std::move(text));
        return {};
    }
    bool has_text() const { return text_.has_value(); }

    Result<void> write_frame(std::span<const float> hwc) {
        std::lock_guard lock(mutex_);
        return frames_->write(hwc);
    }
    Result<void> finish_frames() {
        std::lock_guard lock(mutex_);
        return frames_->finish();
    }
    Result<void> write_text(std::string_view text) {
        std::lock_guard lock(mutex_);
        return text_->write(text);
    }
    /// For the end of an interrupted process: keeps the lock, so that nothing is opened, written or finished any more.
    void discard() {
        mutex_.lock();
        frames_.reset();
        text_.reset();
    }

  private:
    std::mutex mutex_;
    std::unique_ptr<media::FrameSink> frames_;
    std::optional<TextOutput> text_;
};

}  // namespace kinetograph::cli
