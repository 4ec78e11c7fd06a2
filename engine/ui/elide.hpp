// Texts that fit where they are drawn: an ellipsis replaces the beginning or the end of one that is too long.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace kinetograph::ui {

/// Which end of a text that is too long is replaced by an ellipsis.
enum class Cut : std::uint8_t { Begin, End };

/// `text` in at most `width` pixels of `font` at its own size; empty if not even one letter fits beside the ellipsis.
std::string elided(std::string_view text, float width, Cut cut, const ImFont& font);
/// The same in the current font.
std::string elided(std::string_view text, float width, Cut cut = Cut::End);

/// Pixels of the current font.
float width_of(std::string_view text);

}  // namespace kinetograph::ui
