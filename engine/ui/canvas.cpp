#include <kinetograph/engine/ui/canvas.hpp>

#include <fmt/core.h>

#include <cfloat>
#include <cmath>

namespace kinetograph::ui {

float Canvas::width_of(std::string_view text, ImFont* font) const {
    return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0.0F, text.data(), text.data() + text.size()).x;
}

void Canvas::draw(ImFont* font, float x, float y, ImU32 color, std::string_view text, Align align) {
    if (align != Align::Left) x -= width_of(text, font) * (align == Align::Right ? 1.0F : 0.5F);
    // Whole pixels: the glyphs were rasterised at them.
    list_.AddText(font, font->FontSize, {std::round(x), std::round(y)}, color, text.data(), text.data() + text.size());
}

void Canvas::text_within(float x, float y, float width, ImU32 color, std::string_view text, Cut cut) {
    if (width_of(text) <= width) return this->text(x, y, color, text);
    const auto shortened = [&] {
        return cut == Cut::End ? fmt::format("{}\u2026", text) : fmt::format("\u2026{}", text);
    };
    while (!text.empty() && width_of(shortened()) > width)
        cut == Cut::End ? text.remove_suffix(1) : text.remove_prefix(1);
    this->text(x, y, color, shortened());
}

}  // namespace kinetograph::ui
