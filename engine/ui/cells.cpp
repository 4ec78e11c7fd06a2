#include <kinetograph/engine/ui/cells.hpp>

#include <imgui.h>

namespace kinetograph::ui {

void draw_titles(std::initializer_list<const char*> titles) {
    for (const char* title : titles)
        ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthStretch, title == *titles.begin() ? 2.0F : 1.0F);
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (const char* title : titles) {
        ImGui::TableNextColumn();
        title == *titles.begin() ? ImGui::TextUnformatted(title) : draw_number(title);
    }
}

void draw_number(const std::string& text) {
    const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(text.c_str()).x;
    if (room > 0.0F) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
    ImGui::TextUnformatted(text.c_str());
}

void next_number(const std::string& text) {
    ImGui::TableNextColumn();
    draw_number(text);
}

}  // namespace kinetograph::ui
