#include <fmt/core.h>
#include <unistd.h>
#include <kinetograph/tools/kinetograph/progress.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kinetograph::cli {

Progress::Progress(std::int64_t total, std::string unit)
    : total_(total), unit_(std::move(unit)), terminal_(isatty(STDERR_FILENO) == 1), start_(host_now()) {}

Progress::~Progress() {
    if (line_open_) fmt::print(stderr, "\n");
}

void Progress::show(std::int64_t done) {
    const double seconds = std::chrono::duration<double>(host_now() - start_).count();
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    if (total_ == 0) {
        if (terminal_) fmt::print(stderr, "\r\033[K{} {}, {:.1f}/s", done, unit_, rate);
        std::fflush(stderr);
        line_open_ = terminal_;
        return;
    }
    const std::string left = rate > 0 ? to_clock(static_cast<double>(total_ - done) / rate) : "?";
    const std::int64_t percent = 100 * done / total_;
    if (terminal_) {
        constexpr std::int64_t kCells = 30;
        const auto filled = static_cast<std::size_t>(kCells * done / total_);
        fmt::print(stderr, "\r\033[K{:3} % [{:.<{}}] {}/{} {}, {:.1f}/s, {} left", percent, std::string(filled, '#'),
                   kCells, done, total_, unit_, rate, left);
        std::fflush(stderr);
        line_open_ = true;
    } else if (percent / 10 > tenth_shown_) {
        tenth_shown_ = percent / 10;
        fmt::print(stderr, "{:3} %: {}/{} {}, {:.1f}/s, {} left\n", percent, done, total_, unit_, rate, left);
    }
}

std::string to_clock(double seconds) {
    const auto whole = std::llround(std::max(0.0, seconds));
    if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace kinetograph::cli
