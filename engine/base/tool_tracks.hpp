// ToolTracks: spans whose times are known only afterwards, such as a GPU's, for an external profiler: Tracy.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <cstdint>
#include <map>
#include <string_view>

namespace kinetograph {

#ifdef KINETOGRAPH_TOOL_TRACKS
/// One Tracy GPU context per track. Times are on the host axis, which the lanes' clocks are mapped onto: Tracy needs no
/// calibration of its own, but gets the place of the host axis once a second.
class ToolTracks {
  public:
    static constexpr bool kEnabled = true;
    /// `track` identifies the track. Spans of a track come in the order of their begin times. Thread-safe.
    void add(std::uint32_t track, std::string_view track_name, std::string_view name, Nanoseconds begin,
             Nanoseconds end);

  private:
    struct Context {
        std::uint8_t id = 0;
        std::uint16_t next_query = 0;
        Nanoseconds synced{};  ///< when Tracy last got the host axis
    };
    Mutex mutex_;
    std::map<std::uint32_t, Context> contexts_ KG_GUARDED_BY(mutex_);
};
#else
/// Without the option it compiles to nothing.
class ToolTracks {
  public:
    static constexpr bool kEnabled = false;
    void add(std::uint32_t, std::string_view, std::string_view, Nanoseconds, Nanoseconds) {}
};
#endif

}  // namespace kinetograph
