// Reports of a profile for other programs: CSV, and one JSON object per line.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/profile/profile.hpp>

#include <filesystem>
#include <string>

namespace kinetograph::profile {

/// One line per pass, with a header; times in nanoseconds, shares as fractions of 1. Fields with a comma, a quote or a
/// line break are quoted (RFC 4180).
std::string to_csv(const Capture& capture);

/// One JSON object without line breaks: time, frames, late frames, spans that were overwritten unread, percentiles of
/// frame times and of latencies, the last value of every counter, and of every pass that has a share its median, last
/// time and rates. Times in nanoseconds.
std::string to_json_line(const Profile& profile, Nanoseconds now);

/// Appends lines to a file, a FIFO, or a listening Unix socket ("unix:PATH"). Never blocks: a line that a slow reader
/// has no room for is dropped whole.
class LineSink {
  public:
    /// Errors: Io naming the target.
    static Result<LineSink> open(const std::string& target);
    LineSink(LineSink&& other) noexcept;
    LineSink& operator=(LineSink&& other) = delete;
    ~LineSink();
    /// Errors: Io (the reader has gone, the disk is full) naming the target. Raises no SIGPIPE.
    Result<void> write(std::string line);
    std::uint64_t dropped() const { return dropped_; }

  private:
    LineSink(std::string target, int fd, bool is_socket) : target_(std::move(target)), fd_(fd), is_socket_(is_socket) {}
    std::string target_;
    int fd_;
    bool is_socket_;
    std::string rest_;  // of a line that was written in part
    std::uint64_t dropped_ = 0;
};

}  // namespace kinetograph::profile
