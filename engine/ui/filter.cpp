#include <kinetograph/engine/ui/filter.hpp>

#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/lines.hpp>

#include <imgui.h>

#include <algorithm>
#include <array>

namespace kinetograph::ui {
namespace {

constexpr const char* kHint = "filter: conv,-head";

char small(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

bool contains(std::string_view name, std::string_view small_word) {
    const auto is_same = [](char letter, char small_letter) { return small(letter) == small_letter; };
    return std::search(name.begin(), name.end(), small_word.begin(), small_word.end(), is_same) != name.end();
}

}  // namespace

NameFilter::NameFilter(std::string_view text) {
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view word = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        while (word.starts_with(' ')) word.remove_prefix(1);
        while (word.ends_with(' ')) word.remove_suffix(1);
        const bool is_unwanted = word.starts_with('-');
        if (is_unwanted) word.remove_prefix(1);
        if (word.empty()) continue;
        std::string letters(word);
        std::ranges::transform(letters, letters.begin(), small);
        (is_unwanted ? unwanted_ : wanted_).push_back(std::move(letters));
    }
}

bool NameFilter::passes(std::string_view name) const {
    const auto is_in_name = [&](const std::string& word) { return contains(name, word); };
    return (wanted_.empty() || std::ranges::any_of(wanted_, is_in_name)) && std::ranges::none_of(unwanted_, is_in_name);
}

void draw_filter_beside(const PanelContext& context, float width) {
    go_on_beside(width_of(kHint) + 2 * ImGui::GetStyle().FramePadding.x);
    draw_filter(context, width);
}

void draw_filter(const PanelContext& context, float width) {
    std::array<char, 256> text{};
    std::string& filter = context.selection.filter;
    std::copy_n(filter.begin(), std::min(filter.size(), text.size() - 1), text.begin());
    const float available = ImGui::GetContentRegionAvail().x;
    const float box = std::max(1.0F, width > 0.0F ? std::min(width, available) : available);
    ImGui::SetNextItemWidth(box);
    const std::string hint = elided(kHint, box - 2 * ImGui::GetStyle().FramePadding.x);
    if (ImGui::InputTextWithHint("##filter", hint.c_str(), text.data(), text.size())) filter = text.data();
    if (ImGui::IsItemHovered())
        set_tooltip("in all panels: names with any of these words, and without those that follow a minus sign");
}

}  // namespace kinetograph::ui
