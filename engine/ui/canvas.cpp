#include <kinetograph/engine/ui/canvas.hpp>

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
    this->text(x, y, color, elided(text, width, cut));
}

}  // namespace kinetograph::ui
