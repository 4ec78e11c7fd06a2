// VirtualDisplay: an X server in memory (Xvfb) for as long as the object lives.
#pragma once

#include <sys/types.h>
#include <memory>
#include <string>

namespace kinetograph::present::testing {

class VirtualDisplay {
  public:
    /// Starts it on a free display number and sets DISPLAY to it; null if Xvfb is not installed.
    static std::unique_ptr<VirtualDisplay> start();
    VirtualDisplay(const VirtualDisplay&) = delete;
    VirtualDisplay& operator=(const VirtualDisplay&) = delete;
    ~VirtualDisplay();

    /// What windows that are created from now on take for its density; 96 is scale 1. The server has 1600x1200 pixels.
    static void set_dots_per_inch(int dots);

  private:
    explicit VirtualDisplay(pid_t server) : server_(server) {}
    pid_t server_;
};

/// No display while the object exists: removes DISPLAY and WAYLAND_DISPLAY.
class NoDisplay {
  public:
    NoDisplay();
    ~NoDisplay();
    NoDisplay(const NoDisplay&) = delete;
    NoDisplay& operator=(const NoDisplay&) = delete;

  private:
    std::string x11_, wayland_;
};

}  // namespace kinetograph::present::testing
