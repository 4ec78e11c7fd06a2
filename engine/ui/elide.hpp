// Texts that fit where they are drawn: an ellipsis replaces what has no room, or a text goes on in another line.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace kinetograph::ui {

/// What of a text that is too long is replaced by an ellipsis; a number that has lost digits would be another one.
enum class Cut : std::uint8_t { Begin, End, Whole };

/// `text` in at most `width` pixels of `font` at its own size; empty if not even one letter fits beside the
/// ellipsis.
std::string elided(std::string_view text, float width, Cut cut, const ImFont& font);
/// The same in the current font.
std::string elided(std::string_view text, float width, Cut cut = Cut::End);

/// `text` in lines of at most `width` pixels of `font` at `size`, with new breaks between words, in at most `height`
/// pixels; what has no room is replaced by an ellipsis. Empty if not even one line has room.
std::string wrapped(std::string_view text, float width, float height, const ImFont& font, float size);

/// Pixels of the current font.
float width_of(std::string_view text);

}  // namespace kinetograph::ui
