// GuardedOutputs: a command's outputs, which an interruption may discard from another thread (interrupt.hpp).
#pragma once

#include <kinetograph/tools/kinetograph/text_output.hpp>
#include <kinetograph/tools/media/frame_sink.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace kinetograph::cli {

/// An interruption waits for a call that touches a file, so that no file escapes its clean-up. Standard output is not
/// guarded: a reader may block a write for any time, and there is nothing to discard.
class GuardedOutputs {
  public:
    /// Errors: those of media::create_sink.
    Result<void> open_frames(const std::string& out, const media::ClipFormat& format) {
        std::lock_guard lock(mutex_);
        frames_are_files_ = out != "-";
        KG_TRY(frames_, media::create_sink(out, format));
        return {};
    }
    /// `path` empty: none. Errors: those of TextOutput::create.
    Result<void> open_text(const std::string& path) {
        if (path.empty()) return {};
        std::lock_guard lock(mutex_);
        text_is_file_ = path != "-";
        KG_TRY(auto text, TextOutput::create(path));
        text_.emplace(std::move(text));
        return {};
    }
    bool has_text() const { return text_.has_value(); }

    Result<void> write_frame(std::span<const float> hwc) {
        const auto lock = guard(frames_are_files_);
        return frames_->write(hwc);
    }
    Result<void> finish_frames() {
        const auto lock = guard(frames_are_files_);
        return frames_->finish();
    }
    /// What finish_frames() has written.
    std::string written() const { return frames_->written(); }
    Result<void> write_text(std::string_view text) {
        const auto lock = guard(text_is_file_);
        return text_->write(text);
    }
    /// Writes another file by `write`, whole or not at all: an interrupt waits for it.
    template <class Write>
    Result<void> write_file(const Write& write) {
        const auto lock = guard(true);
        return write();
    }
    /// For the end of an interrupted process: keeps the lock, so that no file is opened, written or finished
    /// afterwards.
    void discard() {
        mutex_.lock();
        if (frames_are_files_) frames_.reset();
        if (text_is_file_) text_.reset();
    }

  private:
    std::unique_lock<std::mutex> guard(bool is_file) {
        return is_file ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
    }

    std::mutex mutex_;
    std::unique_ptr<media::FrameSink> frames_;
    std::optional<TextOutput> text_;
    bool frames_are_files_ = false, text_is_file_ = false;
};

}  // namespace kinetograph::cli
