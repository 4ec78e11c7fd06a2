#include "virtual_display.hpp"

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace kinetograph::present::testing {
namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

void restore(const char* name, const std::string& value) {
    if (value.empty())
        ::unsetenv(name);
    else
        ::setenv(name, value.c_str(), 1);
}

}  // namespace

std::unique_ptr<VirtualDisplay> VirtualDisplay::start() {
    int ends[2];
    if (::pipe(ends) != 0) return nullptr;
    const pid_t server = ::fork();
    if (server == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // if a test crashes, its server ends too
        ::close(ends[0]);
        const int nowhere = ::open("/dev/null", O_RDWR);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
        const std::string descriptor = std::to_string(ends[1]);
        ::execlp("Xvfb", "Xvfb", "-displayfd", descriptor.c_str(), "-screen", "0", "1600x1200x24", "-nolisten", "tcp",
                 "-noreset", static_cast<char*>(nullptr));
        ::_exit(127);
    }
    ::close(ends[1]);
    std::string number;  // the server writes it, and a line feed, when it accepts clients
    for (char digit = 0; ::read(ends[0], &digit, 1) == 1 && digit != '\n';) number += digit;
    ::close(ends[0]);
    if (number.empty()) {
        ::waitpid(server, nullptr, 0);
        return nullptr;
    }
    ::setenv("DISPLAY", (":" + number).c_str(), 1);
    return std::unique_ptr<VirtualDisplay>(new VirtualDisplay(server));
}

VirtualDisplay::~VirtualDisplay() {
    ::kill(server_, SIGTERM);
    ::waitpid(server_, nullptr, 0);
    ::unsetenv("DISPLAY");
}

void VirtualDisplay::set_dots_per_inch(int dots) {
    Display* const display = XOpenDisplay(nullptr);
    if (display == nullptr) return;
    const std::string resources = "Xft.dpi:\t" + std::to_string(dots) + "\n";
    XChangeProperty(display, DefaultRootWindow(display), XA_RESOURCE_MANAGER, XA_STRING, 8, PropModeReplace,
                    reinterpret_cast<const unsigned char*>(resources.data()), static_cast<int>(resources.size()));
    XCloseDisplay(display);
}

NoDisplay::NoDisplay() : x11_(environment("DISPLAY")), wayland_(environment("WAYLAND_DISPLAY")) {
    ::unsetenv("DISPLAY");
    ::unsetenv("WAYLAND_DISPLAY");
}

NoDisplay::~NoDisplay() {
    restore("DISPLAY", x11_);
    restore("WAYLAND_DISPLAY", wayland_);
}

}  // namespace kinetograph::present::testing
