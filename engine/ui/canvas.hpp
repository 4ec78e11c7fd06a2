// Canvas: text and shapes at pixel positions of an ImGui draw list, in the given fonts or the context's own.
#pragma once

#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/fonts.hpp>

#include <imgui.h>

#include <string_view>

namespace kinetograph::ui {

enum class Align : std::uint8_t { Left, Center, Right };

class Canvas {
  public:
    Canvas(ImDrawList& list, const Fonts& fonts, float scale) : list_(list), fonts_(fonts), scale_(scale) {}

    float px(float at_scale_1) const { return at_scale_1 * scale_; }
    /// Height of a line of text.
    float line() const { return font(fonts_.text)->FontSize; }
    float large_line() const { return font(fonts_.large)->FontSize; }
    float width_of(std::string_view text) const { return width_of(text, font(fonts_.text)); }
    float large_width_of(std::string_view text) const { return width_of(text, font(fonts_.large)); }

    /// `x` is the left end, middle or right end; `y` the top of the line.
    void text(float x, float y, ImU32 color, std::string_view text, Align align = Align::Left) {
        draw(font(fonts_.text), x, y, color, text, align);
    }
    void large(float x, float y, ImU32 color, std::string_view text, Align align = Align::Left) {
        draw(font(fonts_.large), x, y, color, text, align);
    }
    std::string elided(std::string_view text, float width, Cut cut = Cut::End) const {
        return ui::elided(text, width, cut, *font(fonts_.text));
    }
    void text_within(float x, float y, float width, ImU32 color, std::string_view text, Cut cut = Cut::End);
    void box(float x, float y, float width, float height, ImU32 color, float rounding = 0.0F) {
        list_.AddRectFilled({x, y}, {x + width, y + height}, color, rounding);
    }

  private:
    ImFont* font(ImFont* ours) const { return ours != nullptr ? ours : ImGui::GetFont(); }
    float width_of(std::string_view text, ImFont* font) const;
    void draw(ImFont* font, float x, float y, ImU32 color, std::string_view text, Align align);

    ImDrawList& list_;
    Fonts fonts_;
    float scale_;
};

}  // namespace kinetograph::ui
