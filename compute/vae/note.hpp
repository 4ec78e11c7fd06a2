// Note: what was assumed about a file when it was opened, for the program to tell its user.
#pragma once

#include <kinetograph/engine/base/log.hpp>

#include <span>
#include <string>

namespace kinetograph::vae {

struct Note {
    LogLevel level = LogLevel::Info;
    std::string text;
};

inline void write_notes(const Log& log, std::span<const Note> notes) {
    for (const Note& note : notes) log.write(note.level, note.text);
}

}  // namespace kinetograph::vae
