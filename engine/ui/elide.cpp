#include <kinetograph/engine/ui/elide.hpp>

#include <algorithm>
#include <cfloat>
#include <vector>

namespace kinetograph::ui {
namespace {

float width_in(const ImFont& font, float size, std::string_view text) {
    return font.CalcTextSizeA(size, FLT_MAX, 0.0F, text.data(), text.data() + text.size()).x;
}

/// A byte of a UTF-8 character that is not its first.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::string_view ellipsis_of(const ImFont& font) {
    return font.FindGlyphNoFallback(0x2026) != nullptr ? "\u2026" : "...";
}

std::string shortened(std::string_view text, float width, Cut cut, const ImFont& font, float size) {
    if (width_in(font, size, text) <= width) return std::string(text);
    const std::string_view ellipsis = ellipsis_of(font);
    const float room = width - width_in(font, size, ellipsis);
    if (cut == Cut::Whole) return room >= 0.0F ? std::string(ellipsis) : std::string();
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

/// A line that does not end a text: with an ellipsis.
std::string ended(std::string_view line, float width, const ImFont& font, float size) {
    std::string text = std::string(line).append(ellipsis_of(font));
    return width_in(font, size, text) <= width ? text : shortened(text, width, Cut::End, font, size);
}

}  // namespace

std::string elided(std::string_view text, float width, Cut cut, const ImFont& font) {
    return shortened(text, width, cut, font, font.FontSize);
}

std::string elided(std::string_view text, float width, Cut cut) {
    return shortened(text, width, cut, *ImGui::GetFont(), ImGui::GetFontSize());
}

float width_of(std::string_view text) { return width_in(*ImGui::GetFont(), ImGui::GetFontSize(), text); }

std::string wrapped(std::string_view text, float width, float height, const ImFont& font, float size) {
    std::vector<std::string_view> lines;
    for (std::string_view rest = text;;) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        const char* const end =
            font.CalcWordWrapPositionA(size / font.FontSize, line.data(), line.data() + line.size(), width);
        std::size_t taken = static_cast<std::size_t>(end - line.data());
        if (taken == 0) taken = std::min<std::size_t>(line.size(), 1);  // not even one letter has room
        while (taken < line.size() && continues(line[taken])) ++taken;
        lines.push_back(line.substr(0, taken));
        rest.remove_prefix(taken);
        if (rest.empty()) break;
        if (rest.front() == '\n' || rest.front() == ' ') rest.remove_prefix(1);
    }
    const auto most = static_cast<std::size_t>(std::max(0.0F, height / size));
    std::string result;
    for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) {
        if (i > 0) result += '\n';
        const bool is_cut = i + 1 == most && most < lines.size();
        result += is_cut ? ended(lines[i], width, font, size) : std::string(lines[i]);
    }
    return result;
}

}  // namespace kinetograph::ui
