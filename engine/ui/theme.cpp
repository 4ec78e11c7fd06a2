#include <kinetograph/engine/ui/theme.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace kinetograph::ui::theme {
namespace {

/// "accelerator #2" without its number.
std::string_view kind_of(std::string_view track) { return track.substr(0, track.find(" #")); }

}  // namespace

ImU32 track_color(std::string_view track) {
    static constexpr std::array<std::pair<std::string_view, ImU32>, 6> kColors{{
        {"graphics", IM_COL32(96, 156, 255, 255)},
        {"async_compute", IM_COL32(178, 136, 255, 255)},
        {"transfer", IM_COL32(72, 201, 190, 255)},
        {"accelerator", IM_COL32(255, 160, 82, 255)},
        {"host", IM_COL32(190, 204, 116, 255)},
        {"present", IM_COL32(240, 128, 172, 255)},
    }};
    for (const auto& [name, color] : kColors)
        if (name == kind_of(track)) return color;
    return IM_COL32(170, 178, 192, 255);
}

ImU32 resource_color(std::size_t resource) {
    constexpr std::size_t kHues = 13, kValues = 3;
    static const std::array<ImU32, kHues* kValues> kPalette = [] {
        std::array<ImU32, kHues * kValues> colors{};
        for (std::size_t i = 0; i < colors.size(); ++i)
            colors[i] = ImColor::HSV(static_cast<float>(i % kHues) / static_cast<float>(kHues), 0.4F,
                                     0.95F - 0.1F * static_cast<float>(i % kValues));
        return colors;
    }();
    return kPalette[resource % kPalette.size()];
}

double contrast(ImU32 a, ImU32 b) {
    static const std::array<double, 256> kLinear = [] {  // [8-bit sRGB value]; every drawn label needs it
        std::array<double, 256> linear{};
        for (std::size_t i = 0; i < linear.size(); ++i) {
            const double value = static_cast<double>(i) / 255.0;
            linear[i] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
        }
        return linear;
    }();
    const auto luminance = [](ImU32 color) {
        const auto linear = [&](int shift) { return kLinear[(color >> shift) & 0xffU]; };
        return 0.2126 * linear(IM_COL32_R_SHIFT) + 0.7152 * linear(IM_COL32_G_SHIFT) +
               0.0722 * linear(IM_COL32_B_SHIFT);
    };
    const auto [low, high] = std::minmax({luminance(a), luminance(b)});
    return (high + 0.05) / (low + 0.05);
}

ImU32 text_on(ImU32 color) { return contrast(color, kGroundSolid) >= contrast(color, kText) ? kGroundSolid : kText; }

std::size_t track_rank(std::string_view track) {
    static constexpr std::array<std::string_view, 6> kOrder{"accelerator", "transfer", "async_compute",
                                                            "graphics",    "present",  "host"};
    return static_cast<std::size_t>(std::ranges::find(kOrder, kind_of(track)) - kOrder.begin());
}

void apply(ImGuiStyle& style, float scale) {
    style = ImGuiStyle();
    ImGui::StyleColorsDark(&style);
    style.WindowRounding = kRounding;
    style.FrameRounding = style.GrabRounding = style.ScrollbarRounding = 4.0F;
    style.WindowBorderSize = style.FrameBorderSize = 0.0F;
    style.ScaleAllSizes(scale);
    const auto set = [&](ImGuiCol which, ImU32 color) { style.Colors[which] = ImColor(color); };
    set(ImGuiCol_WindowBg, IM_COL32(16, 18, 23, 248));  // tables are read over moving pictures
    set(ImGuiCol_PopupBg, kGroundSolid);
    set(ImGuiCol_Text, kText);
    set(ImGuiCol_TextDisabled, kMuted);
    set(ImGuiCol_TitleBg, kGround);
    set(ImGuiCol_TitleBgActive, IM_COL32(34, 38, 48, 255));
    set(ImGuiCol_FrameBg, kRaised);
    set(ImGuiCol_TableRowBgAlt, IM_COL32(255, 255, 255, 6));
    set(ImGuiCol_CheckMark, kAccent);
    set(ImGuiCol_PlotHistogram, faded(kAccent, 0.7F));
    for (const ImGuiCol which : {ImGuiCol_Header, ImGuiCol_Button}) set(which, faded(kAccent, 0.28F));
    for (const ImGuiCol which : {ImGuiCol_HeaderHovered, ImGuiCol_ButtonHovered}) set(which, faded(kAccent, 0.42F));
    for (const ImGuiCol which : {ImGuiCol_HeaderActive, ImGuiCol_ButtonActive}) set(which, faded(kAccent, 0.6F));
}

ImU32 faded(ImU32 color, float alpha) {
    const auto value = static_cast<float>((color >> IM_COL32_A_SHIFT) & 0xffU) * alpha;
    return (color & ~IM_COL32_A_MASK) | (static_cast<ImU32>(value) << IM_COL32_A_SHIFT);
}

}  // namespace kinetograph::ui::theme
