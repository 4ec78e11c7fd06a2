// Input events, independent of any window library, so that key bindings can be tested without one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <variant>
#include <vector>

namespace kinetograph::present {

enum class Key : std::uint8_t { Character, Escape, Enter, Backspace, Home, Left, Right };

/// A key was pressed. Characters follow the keyboard's layout, including shift: 'L' is not 'l'.
struct KeyEvent {
    Key key = Key::Character;
    char32_t character = 0;  ///< with Key::Character
    bool repeat = false;     ///< the key is being held down
    friend bool operator==(const KeyEvent&, const KeyEvent&) = default;
};
struct DropEvent {
    std::vector<std::filesystem::path> paths;
};
struct CloseEvent {};
/// The wheel was turned: 1 per notch, up and to the left positive.
struct ScrollEvent {
    double x = 0, y = 0;
};
using Event = std::variant<KeyEvent, DropEvent, CloseEvent, ScrollEvent>;

}  // namespace kinetograph::present
