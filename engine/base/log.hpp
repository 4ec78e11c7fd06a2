// Log: where sentences go that have no caller to return to.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace kinetograph {

enum class LogLevel : std::uint8_t {
    Info,     ///< what was chosen: a device, a decoder's memory
    Warning,  ///< something goes on differently than asked for: a wait that lasts, a decoder without one of its lanes
    Error,    ///< something has ended that cannot report it: a lost device, work that was given up
};
/// "info", "warning", "error"
std::string_view to_string(LogLevel level);

/// Takes one message: a sentence, or several lines without the last line's end. Called from any thread, also from those
/// of the library, at times that hold its locks: it returns soon and calls nothing of the library's.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Cheap to copy. Without a sink of the application's, warnings and errors go to standard error.
class Log {
  public:
    Log() = default;
    explicit Log(LogSink sink) : sink_(std::move(sink)) {}

    void write(LogLevel level, std::string_view message) const;
    template <class... Args>
    void info(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogLevel::Info, fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void warn(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogLevel::Warning, fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void error(fmt::format_string<Args...> format, Args&&... args) const {
        write(LogLevel::Error, fmt::format(format, std::forward<Args>(args)...));
    }

  private:
    LogSink sink_;
};

}  // namespace kinetograph
