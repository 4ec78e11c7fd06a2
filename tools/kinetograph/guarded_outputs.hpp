// GuardedOutputs: a command's outputs, which an interruption discards from another thread (interrupt.hpp).
#pragma once

#include <fmt/ranges.h>
#include <kinetograph/compute/live/connection.hpp>
#include <kinetograph/tools/kinetograph/interrupt.hpp>
#include <kinetograph/tools/kinetograph/text_output.hpp>
#include <kinetograph/tools/media/frame_sink.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::cli {

/// An interruption waits for a call that touches a file, so that no file escapes its clean-up, and is possible until
/// the destructor has removed what is unfinished. Standard output is not guarded: a reader may block a write for any
/// time, and there is nothing to discard. Create it before any thread (interrupt.hpp).
class GuardedOutputs {
  public:
    GuardedOutputs() = default;
    GuardedOutputs(const GuardedOutputs&) = delete;
    GuardedOutputs& operator=(const GuardedOutputs&) = delete;
    ~GuardedOutputs() {
        const std::lock_guard lock(mutex_);
        remove_unfinished();
    }

    /// Errors: those of media::create_sink.
    Result<void> open_frames(const std::string& out, const media::ClipFormat& format) {
        std::lock_guard lock(mutex_);
        frames_are_files_ = out != "-";
        frames_are_complete_ = false;
        KG_TRY(frames_, media::create_sink(out, format));
        return {};
    }
    /// `path` empty: none. Errors: those of TextOutput::create.
    Result<void> open_text(const std::string& path) {
        if (path.empty()) return {};
        std::lock_guard lock(mutex_);
        text_is_file_ = path != "-";
        text_path_ = path;
        KG_TRY(auto text, TextOutput::create(path));
        text_.emplace(std::move(text));
        has_text_ = true;
        return {};
    }
    bool has_text() const { return has_text_; }

    Result<void> write_frame(std::span<const float> hwc) {
        const auto lock = guard(frames_are_files_);
        return frames_->write(hwc);
    }
    Result<void> finish_frames() {
        const auto lock = guard(frames_are_files_);
        KG_CHECK(frames_->finish());
        written_ = frames_->written();
        if (frames_are_files_) complete_.push_back(written_);
        frames_are_complete_ = true;
        return {};
    }
    /// What finish_frames() has written.
    const std::string& written() const { return written_; }
    Result<void> write_text(std::string_view text) {
        const auto lock = guard(text_is_file_);
        KG_CHECK(text_->write(text));
        if (text_is_file_) complete_.push_back(text_path_);
        text_is_complete_ = true;
        return {};
    }
    /// Writes another file by `write`, whole or not at all: an interrupt waits for it.
    template <class Write>
    Result<void> write_file(const std::string& path, const Write& write) {
        const auto lock = guard(true);
        KG_CHECK(write());
        complete_.push_back(path);
        return {};
    }

  private:
    /// For the end of an interrupted process: keeps the lock, so that no file is opened, written or finished
    /// afterwards. Returns the last word about the outputs.
    std::string discard() {
        mutex_.lock();
        live::Listener::remove_all();
        const bool all = (!frames_ || frames_are_complete_) && (!text_ || text_is_complete_) && !complete_.empty();
        remove_unfinished();
        return fmt::format("interrupted{}{}{}", complete_.empty() ? "" : "; complete: ", fmt::join(complete_, ", "),
                           all ? "" : "; unfinished outputs were discarded");
    }
    void remove_unfinished() {
        if (frames_are_files_) frames_.reset();
        if (text_is_file_) text_.reset();
    }
    std::unique_lock<std::mutex> guard(bool is_file) {
        return is_file ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
    }

    std::mutex mutex_;
    std::unique_ptr<media::FrameSink> frames_;
    std::optional<TextOutput> text_;
    bool frames_are_files_ = false, text_is_file_ = false, frames_are_complete_ = false, text_is_complete_ = false;
    bool has_text_ = false;
    std::string text_path_, written_;
    std::vector<std::string> complete_;                  ///< names of the files that are in place
    Interrupt interrupt_{[this] { return discard(); }};  // last: it uses the others
};

}  // namespace kinetograph::cli
