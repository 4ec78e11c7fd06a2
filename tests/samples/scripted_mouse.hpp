// ScriptedMouse: the pointer of an X server, moved by a test; also reads what the server shows.
#pragma once

#include <memory>
#include <string>

namespace kinetograph::test {

/// Positions are relative to the first top-level window of the given name. Calls return when the server has received
/// the events; the window's owner gets them when it polls.
class ScriptedMouse {
  public:
    /// Null if there is no display or no such window.
    static std::unique_ptr<ScriptedMouse> over(const std::string& window_name);
    ScriptedMouse(const ScriptedMouse&) = delete;
    ScriptedMouse& operator=(const ScriptedMouse&) = delete;
    ~ScriptedMouse();

    void move(int x, int y);
    void press() { send_button(1, true); }
    void release() { send_button(1, false); }
    /// Turns the wheel by one notch, away from the user or towards the user.
    void wheel(bool away);
    /// Types a character: lower-case letters, digits and minus only.
    void type(char letter);

    /// The number of different colours in a rectangle of the window, as the server shows it.
    std::size_t colors(int x, int y, int width, int height) const;

  private:
    struct Server;
    explicit ScriptedMouse(std::unique_ptr<Server> server);
    void send_button(unsigned button, bool down);
    void send_key(unsigned code, bool down);

    std::unique_ptr<Server> server_;
    int x_ = 0, y_ = 0;
};

}  // namespace kinetograph::test
