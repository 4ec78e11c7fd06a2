#include <kinetograph/samples/viewer/actions.hpp>

#include <array>

namespace kinetograph::viewer {
namespace {

using present::Key;

struct KeyMeaning {
    Key key;
    char32_t character;
    Action action;
    bool repeats;
};
constexpr std::array kMeanings{
    KeyMeaning{Key::Character, U' ', Action::PlayPause, false},
    KeyMeaning{Key::Character, U'p', Action::PlayPause, false},
    KeyMeaning{Key::Character, U'.', Action::StepForward, true},
    KeyMeaning{Key::Character, U',', Action::StepBack, true},
    KeyMeaning{Key::Right, 0, Action::StepForward, true},
    KeyMeaning{Key::Left, 0, Action::StepBack, true},
    KeyMeaning{Key::Character, U'[', Action::Slower, true},
    KeyMeaning{Key::Character, U']', Action::Faster, true},
    KeyMeaning{Key::Backspace, 0, Action::NormalSpeed, false},
    KeyMeaning{Key::Character, U'L', Action::Loop, false},
    KeyMeaning{Key::Home, 0, Action::Restart, false},
    KeyMeaning{Key::Character, U'f', Action::FullScreen, false},
    KeyMeaning{Key::Escape, 0, Action::LeaveFullScreen, false},
    KeyMeaning{Key::Character, U's', Action::Screenshot, false},
    KeyMeaning{Key::Character, U'I', Action::Overlay, false},
    KeyMeaning{Key::Character, U'i', Action::Overlay, false},
    KeyMeaning{Key::Character, U'P', Action::Panels, false},
    KeyMeaning{Key::Character, U'H', Action::CompactHud, false},
    KeyMeaning{Key::Character, U'?', Action::Help, false},
    KeyMeaning{Key::Character, U'q', Action::Quit, false},
};

constexpr std::array kBindings{
    Binding{"space", "play or pause"},
    Binding{".  ,", "one frame forward, back"},
    Binding{"[  ]", "slower, faster"},
    Binding{"backspace", "normal speed"},
    Binding{"L", "loop"},
    Binding{"home", "from the start"},
    Binding{"f", "full screen"},
    Binding{"s", "screenshot"},
    Binding{"I  P  H", "profiler: overview, panels, compact"},
    Binding{"?", "this help"},
    Binding{"q", "quit"},
};

}  // namespace

std::optional<Action> action_for(const present::KeyEvent& event) {
    for (const KeyMeaning& meaning : kMeanings) {
        if (meaning.key != event.key || meaning.character != event.character) continue;
        if (event.repeat && !meaning.repeats) return std::nullopt;
        return meaning.action;
    }
    return std::nullopt;
}

std::span<const Binding> bindings() { return kBindings; }

}  // namespace kinetograph::viewer
