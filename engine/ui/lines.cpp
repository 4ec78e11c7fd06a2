#include <kinetograph/engine/ui/lines.hpp>

#include <kinetograph/engine/ui/elide.hpp>

namespace kinetograph::ui {

void draw_line(std::string_view text, ImU32 color, std::string_view explanation) {
    const std::string shown = elided(text, ImGui::GetContentRegionAvail().x);
    ImGui::PushStyleColor(ImGuiCol_Text, color);
    ImGui::TextUnformatted(shown.data(), shown.data() + shown.size());
    ImGui::PopStyleColor();
    if (!ImGui::IsItemHovered() || (shown == text && explanation.empty())) return;
    std::string tip(shown == text ? std::string_view() : text);
    if (!tip.empty() && !explanation.empty()) tip += '\n';
    set_tooltip(tip.append(explanation));
}

void draw_muted_line(std::string_view text, std::string_view explanation) {
    draw_line(text, ImGui::GetColorU32(ImGuiCol_TextDisabled), explanation);
}

bool go_on_beside(float width) {
    const float right = ImGui::GetWindowPos().x + ImGui::GetContentRegionMax().x;
    if (ImGui::GetItemRectMax().x + ImGui::GetStyle().ItemSpacing.x + width > right) return false;
    ImGui::SameLine();
    return true;
}

void set_tooltip(std::string_view text) {
    const ImVec2 display = ImGui::GetIO().DisplaySize, padding = ImGui::GetStyle().WindowPadding;
    const std::string shown =
        wrapped(text, display.x - 4 * padding.x, display.y - 4 * padding.y, *ImGui::GetFont(), ImGui::GetFontSize());
    ImGui::SetTooltip("%s", shown.c_str());
}

}  // namespace kinetograph::ui
