#include <kinetograph/engine/base/log.hpp>

#include <cstdio>

namespace kinetograph {

std::string_view to_string(LogLevel level) {
    switch (level) {
        case LogLevel::Info:
            return "info";
        case LogLevel::Warning:
            return "warning";
        case LogLevel::Error:
            return "error";
    }
    return "?";
}

void Log::write(LogLevel level, std::string_view message) const {
    if (sink_) return sink_(level, message);
    if (level != LogLevel::Info) fmt::print(stderr, "{}\n", message);
}

}  // namespace kinetograph
