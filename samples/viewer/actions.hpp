// What keys mean: mpv's bindings.
#pragma once

#include <kinetograph/engine/present/input.hpp>

#include <optional>
#include <span>
#include <string_view>

namespace kinetograph::viewer {

enum class Action : std::uint8_t {
    PlayPause,
    StepForward,
    StepBack,
    Slower,
    Faster,
    NormalSpeed,
    Loop,
    Restart,
    FullScreen,
    LeaveFullScreen,
    Screenshot,
    Overlay,
    Panels,
    CompactHud,
    Help,
    Quit,
};

/// Nothing for a key without a meaning, and for a held key whose action makes no sense twice (full screen).
std::optional<Action> action_for(const present::KeyEvent& event);

struct Binding {
    std::string_view keys;
    std::string_view meaning;
};
/// For the help panel and the program's --help.
std::span<const Binding> bindings();

}  // namespace kinetograph::viewer
