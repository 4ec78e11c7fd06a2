#include <kinetograph/engine/ui/elide.hpp>

#include <cfloat>

namespace kinetograph::ui {
namespace {

float width_in(const ImFont& font, float size, std::string_view text) {
    return font.CalcTextSizeA(size, FLT_MAX, 0.0F, text.data(), text.data() + text.size()).x;
}

/// A byte of a UTF-8 character that is not its first.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::string shortened(std::string_view text, float width, Cut cut, const ImFont& font, float size) {
    if (width_in(font, size, text) <= width) return std::string(text);
    const std::string_view ellipsis = font.FindGlyphNoFallback(0x2026) != nullptr ? "\u2026" : "...";
    const float room = width - width_in(font, size, ellipsis);
    const auto part_of = [&](std::size_t bytes) {
        return cut == Cut::End ? text.substr(0, bytes) : text.substr(text.size() - bytes);
    };
    std::size_t fits = 0, too_many = text.size();
    while (fits + 1 < too_many) {
        const std::size_t middle = (fits + too_many) / 2;
        (width_in(font, size, part_of(middle)) <= room ? fits : too_many) = middle;
    }
    std::string_view kept = part_of(fits);
    if (cut == Cut::End)
        while (!kept.empty() && continues(text[kept.size()])) kept.remove_suffix(1);
    else
        while (!kept.empty() && continues(kept.front())) kept.remove_prefix(1);
    if (kept.empty()) return {};
    return cut == Cut::End ? std::string(kept).append(ellipsis) : std::string(ellipsis).append(kept);
}

}  // namespace

std::string elided(std::string_view text, float width, Cut cut, const ImFont& font) {
    return shortened(text, width, cut, font, font.FontSize);
}

std::string elided(std::string_view text, float width, Cut cut) {
    return shortened(text, width, cut, *ImGui::GetFont(), ImGui::GetFontSize());
}

float width_of(std::string_view text) { return width_in(*ImGui::GetFont(), ImGui::GetFontSize(), text); }

}  // namespace kinetograph::ui
