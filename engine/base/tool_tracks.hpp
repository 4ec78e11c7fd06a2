// ToolTracks: spans whose times are known afterwards, such as a GPU's, for profilers of others that take them: Tracy.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <cstdint>
#include <map>
#include <string_view>

namespace kinetograph {

#ifdef KINETOGRAPH_TOOL_TRACKS
/// One GPU context of Tracy a track. Times on the host axis, which the lanes' clocks are mapped onto: Tracy needs no
/// calibration of its own, but is told once a second where the host axis is.
class ToolTracks {
  public:
    static constexpr bool kEnabled = true;
    /// `track` is known by its number. Spans of a track come in the order of their begins. Any thread.
    void add(std::uint32_t track, std::string_view track_name, std::string_view name, Nanoseconds begin,
             Nanoseconds end);

  private:
    struct Context {
        std::uint8_t id = 0;
        std::uint16_t next_query = 0;
        Nanoseconds told{};  ///< when Tracy was last told of the host axis
    };
    Mutex mutex_;
    std::map<std::uint32_t, Context> contexts_ KG_GUARDED_BY(mutex_);
};
#else
/// Without the option there is nothing of it in the program.
class ToolTracks {
  public:
    static constexpr bool kEnabled = false;
    void add(std::uint32_t, std::string_view, std::string_view, Nanoseconds, Nanoseconds) {}
};
#endif

}  // namespace kinetograph
