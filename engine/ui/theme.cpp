#include <kinetograph/engine/ui/theme.hpp>

#include <array>
#include <utility>

namespace kinetograph::ui::theme {

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
        if (name == track) return color;
    return IM_COL32(170, 178, 192, 255);
}

ImU32 faded(ImU32 color, float alpha) {
    const auto value = static_cast<float>((color >> IM_COL32_A_SHIFT) & 0xffU) * alpha;
    return (color & ~IM_COL32_A_MASK) | (static_cast<ImU32>(value) << IM_COL32_A_SHIFT);
}

}  // namespace kinetograph::ui::theme
