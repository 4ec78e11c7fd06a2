#include "drawn_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace kinetograph::ui::testing {
namespace {

struct Glyph {
    const ImFontGlyph* glyph = nullptr;
    float space = 0.0F;  ///< width of its font's blank
};

/// Corners in the font's texture -> glyph.
std::map<std::pair<float, float>, Glyph> glyphs_of(const ImFontAtlas& atlas) {
    std::map<std::pair<float, float>, Glyph> glyphs;
    for (const ImFont* font : atlas.Fonts)
        for (const ImFontGlyph& glyph : font->Glyphs)
            if (glyph.Visible) glyphs.emplace(std::pair(glyph.U0, glyph.V0), Glyph{&glyph, font->GetCharAdvance(' ')});
    return glyphs;
}

std::vector<Letter> all_letters_of(const ImDrawList& list) {
    const auto glyphs = glyphs_of(*ImGui::GetIO().Fonts);
    std::vector<Letter> letters;
    for (const ImDrawCmd& command : list.CmdBuffer)
        for (unsigned i = 0; i + 6 <= command.ElemCount; i += 3) {
            const ImDrawIdx* index = &list.IdxBuffer[static_cast<int>(command.IdxOffset + i)];
            const ImDrawVert &low = list.VtxBuffer[static_cast<int>(command.VtxOffset) + index[0]],
                             &high = list.VtxBuffer[static_cast<int>(command.VtxOffset) + index[2]];
            const auto found = glyphs.find({low.uv.x, low.uv.y});
            if (index[2] != index[0] + 2 || found == glyphs.end()) continue;
            const ImFontGlyph& glyph = *found->second.glyph;
            Letter letter;
            letter.letter = static_cast<ImWchar>(glyph.Codepoint);
            letter.begin = low.pos.x - glyph.X0;
            letter.end = letter.begin + glyph.AdvanceX;
            letter.space = found->second.space;
            letter.place = {low.pos.x, low.pos.y, low.pos.x + glyph.X1 - glyph.X0, low.pos.y + glyph.Y1 - glyph.Y0};
            letter.place.Expand(-0.4F);  // a full stop is a pixel wide
            letter.seen = letter.place;
            letter.seen.ClipWith(ImRect(command.ClipRect));
            letter.seen.ClipWith({low.pos, high.pos});  // ImGui itself cuts glyphs at the edges of items
            letters.push_back(letter);
            i += 3;
        }
    return letters;
}

std::vector<Text> joined(const std::vector<Letter>& letters) {
    std::vector<Text> texts;
    for (const Letter& each : letters) {
        const float gap = texts.empty() ? -1.0F : each.begin - texts.back().letters.back().end;
        const bool goes_on = gap > -1.0F && gap < 1.5F * each.space &&
                             each.place.Min.y < texts.back().place.Max.y + 3 &&
                             each.place.Max.y > texts.back().place.Min.y - 3;
        if (!goes_on) texts.push_back({"", each.place, {}});
        if (goes_on && gap > 0.5F * each.space) texts.back().text += ' ';
        std::array<char, 5> letter{};
        ImTextCharToUtf8(letter.data(), each.letter);
        texts.back().text += letter.data();
        texts.back().place.Add(each.place);
        texts.back().letters.push_back(each);
    }
    return texts;
}

/// The window whose contents are in that list, or null.
const ImGuiWindow* window_of(const ImDrawList& list) {
    for (const ImGuiWindow* window : GImGui->Windows)
        if (window->DrawList == &list) return window;
    return nullptr;
}

std::string describe(const Text& text) {
    return fmt::format("\"{}\" at {:.0f}, {:.0f}", text.text, text.place.Min.x, text.place.Min.y);
}

/// Glyphs of one text may touch; those of two may share the pixels of their smoothed edges.
bool overlaps(const Text& a, const Text& b) {
    constexpr float kEdge = 1.0F;
    ImRect place = a.place;
    place.Expand(-kEdge);
    if (!place.Overlaps(b.place)) return false;
    for (const Letter& letter : a.letters) {
        ImRect seen = letter.seen;
        seen.Expand(-kEdge);
        if (seen.GetWidth() <= 0 || seen.GetHeight() <= 0) continue;
        if (std::ranges::any_of(b.letters, [&](const Letter& other) { return other.seen.Overlaps(seen); })) return true;
    }
    return false;
}

bool scrolls(const ImGuiWindow* window, ImGuiAxis axis) {
    for (; window != nullptr; window = window->ParentWindow)
        if (axis == ImGuiAxis_X ? window->ScrollbarX : window->ScrollbarY) return true;
    return false;
}

bool is_cut(const Text& text, const ImGuiWindow* window) {
    const bool may_scroll = scrolls(window, ImGuiAxis_Y);
    return std::ranges::any_of(text.letters, [&](const Letter& letter) {
        const bool is_beside = letter.seen.Min.x > letter.place.Min.x || letter.seen.Max.x < letter.place.Max.x;
        return is_beside || (!may_scroll && !letter.is_whole());
    });
}

}  // namespace

std::vector<Letter> letters_of(const ImDrawList& list) {
    std::vector<Letter> letters = all_letters_of(list);
    std::erase_if(letters, [](const Letter& letter) { return !letter.is_seen(); });
    return letters;
}

std::vector<Text> texts_of(const ImDrawList& list) { return joined(letters_of(list)); }

std::vector<std::string> layout_faults() {
    std::vector<std::string> faults;
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    const ImRect display(0, 0, size.x, size.y);
    for (const ImGuiWindow* window : GImGui->Windows) {
        if (!window->Active || window->Hidden || (window->Flags & ImGuiWindowFlags_ChildWindow) != 0) continue;
        if (std::string_view(window->Name).starts_with("Debug")) continue;
        if (!display.Contains(window->Rect()))
            faults.push_back(fmt::format("window {} lies outside the display", window->Name));
        if (window->ScrollMax.x > 0.0F)
            faults.push_back(
                fmt::format("the contents of window {} are {:.0f} pixels too wide", window->Name, window->ScrollMax.x));
    }
    std::vector<Text> all;
    const ImDrawData& data = *ImGui::GetDrawData();
    for (int i = 0; i < data.CmdListsCount; ++i) {
        const ImDrawList& list = *data.CmdLists[i];
        const ImGuiWindow* const window = window_of(list);
        if (window == nullptr)  // no window scrolls it
            for (const Text& text : joined(all_letters_of(list)))
                if (!display.Contains(text.place)) faults.push_back(describe(text) + " lies outside the display");
        for (Text& text : texts_of(list)) {
            if (is_cut(text, window)) faults.push_back(describe(text) + " is cut off");
            all.push_back(std::move(text));
        }
    }
    if (all.empty()) faults.emplace_back("there is no text");
    std::ranges::sort(all, {}, [](const Text& text) { return text.place.Min.y; });
    for (auto a = all.begin(); a != all.end(); ++a)
        for (auto b = std::next(a); b != all.end() && b->place.Min.y < a->place.Max.y; ++b)
            if (overlaps(*a, *b)) faults.push_back(describe(*a) + " lies over " + describe(*b));
    return faults;
}

}  // namespace kinetograph::ui::testing
