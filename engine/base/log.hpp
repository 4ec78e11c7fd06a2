// Log: where messages go that cannot be returned to a caller.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace kinetograph {

enum class LogLevel : std::uint8_t {
    Info,     ///< what was chosen: a device, a decoder's memory
    Warning,  ///< work goes on, but not as asked for: a long wait, a decoder without one of its lanes
    Error,    ///< something failed and has no caller to tell: a lost device, work that was given up
};
/// "info", "warning", "error"
std::string_view to_string(LogLevel level);

/// Takes one message: a sentence, or several lines without a final line break. Called from any thread, including the
/// library's own, possibly while the library holds locks: it must return soon and must not call the library.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Cheap to copy. Without a sink, warnings and errors go to standard error, and information is dropped.
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
