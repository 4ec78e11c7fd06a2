// ToolRange: the recording of a pass, for external profilers: Nsight Systems (NVTX), rocprof (roctx), Tracy.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace kinetograph {

#ifdef KINETOGRAPH_TOOL_RANGES
/// From construction to destruction, on the thread that does both; ranges of a thread nest. The build options
/// KINETOGRAPH_NVTX, KINETOGRAPH_ROCTX and KINETOGRAPH_TRACY select the profilers.
class ToolRange {
  public:
    explicit ToolRange(std::string_view name);
    ToolRange(const ToolRange&) = delete;
    ToolRange& operator=(const ToolRange&) = delete;
    ~ToolRange();

  private:
    alignas(8) std::array<std::byte, 16> zone_{};  // Tracy's
};
#else
/// Without those options it compiles to nothing.
class ToolRange {
  public:
    explicit constexpr ToolRange(std::string_view /*name*/) {}
    ToolRange(const ToolRange&) = delete;
    ToolRange& operator=(const ToolRange&) = delete;
    ~ToolRange() {}  // not trivial, so that compilers do not report a range as an unused variable
};
#endif

}  // namespace kinetograph
