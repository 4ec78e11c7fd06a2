#include "scripted_mouse.hpp"

#include <X11/Xlib.h>
#include <X11/Xutil.h>

#include <set>

namespace kinetograph::test {

struct ScriptedMouse::Server {
    Display* display = nullptr;
    Window window = 0;
    ~Server() {
        if (display != nullptr) XCloseDisplay(display);
    }
};

namespace {

Window find_window(Display* display, const std::string& name) {
    Window root = DefaultRootWindow(display), parent = 0, *children = nullptr, found = 0;
    unsigned count = 0;
    if (XQueryTree(display, root, &root, &parent, &children, &count) == 0) return 0;
    for (unsigned i = 0; i < count && found == 0; ++i) {
        char* title = nullptr;
        if (XFetchName(display, children[i], &title) == 0 || title == nullptr) continue;
        if (name == title) found = children[i];
        XFree(title);
    }
    if (children != nullptr) XFree(children);
    return found;
}

}  // namespace

ScriptedMouse::ScriptedMouse(std::unique_ptr<Server> server) : server_(std::move(server)) {}
ScriptedMouse::~ScriptedMouse() = default;

std::unique_ptr<ScriptedMouse> ScriptedMouse::over(const std::string& window_name) {
    auto server = std::make_unique<Server>();
    server->display = XOpenDisplay(nullptr);
    if (server->display == nullptr) return nullptr;
    server->window = find_window(server->display, window_name);
    if (server->window == 0) return nullptr;
    return std::unique_ptr<ScriptedMouse>(new ScriptedMouse(std::move(server)));
}

void ScriptedMouse::move(int x, int y) {
    x_ = x;
    y_ = y;
    XWarpPointer(server_->display, 0, server_->window, 0, 0, 0, 0, x, y);
    XSync(server_->display, False);
}

void ScriptedMouse::send_button(unsigned button, bool down) {
    XEvent event{};
    event.xbutton.type = down ? ButtonPress : ButtonRelease;
    event.xbutton.window = server_->window;
    event.xbutton.root = DefaultRootWindow(server_->display);
    event.xbutton.x = event.xbutton.x_root = x_;
    event.xbutton.y = event.xbutton.y_root = y_;
    event.xbutton.button = button;
    event.xbutton.same_screen = True;
    XSendEvent(server_->display, server_->window, True, down ? ButtonPressMask : ButtonReleaseMask, &event);
    XSync(server_->display, False);
}

void ScriptedMouse::wheel(bool away) {
    const unsigned button = away ? 4 : 5;
    send_button(button, true);
    send_button(button, false);
}

void ScriptedMouse::send_key(unsigned code, bool down) {
    XEvent event{};
    event.xkey.type = down ? KeyPress : KeyRelease;
    event.xkey.window = server_->window;
    event.xkey.root = DefaultRootWindow(server_->display);
    event.xkey.keycode = code;
    event.xkey.same_screen = True;
    XSendEvent(server_->display, server_->window, True, down ? KeyPressMask : KeyReleaseMask, &event);
    XSync(server_->display, False);
}

void ScriptedMouse::type(char letter) {
    // The key symbols of ASCII are its codes.
    const unsigned code = XKeysymToKeycode(server_->display, static_cast<KeySym>(letter));
    send_key(code, true);
    send_key(code, false);
}

std::size_t ScriptedMouse::colors(int x, int y, int width, int height) const {
    XImage* image = XGetImage(server_->display, server_->window, x, y, static_cast<unsigned>(width),
                              static_cast<unsigned>(height), AllPlanes, ZPixmap);
    if (image == nullptr) return 0;
    std::set<unsigned long> colors;
    for (int row = 0; row < height; ++row)
        for (int column = 0; column < width; ++column) colors.insert(XGetPixel(image, column, row));
    XDestroyImage(image);
    return colors.size();
}

}  // namespace kinetograph::test
