#include <kinetograph/engine/ui/fonts.hpp>

#include <imgui.h>

#include <array>
#include <cmath>

// The font file's bytes, between two labels.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden kinetograph_font_begin\n"
    ".hidden kinetograph_font_end\n"
    ".global kinetograph_font_begin\n"
    ".global kinetograph_font_end\n"
    "kinetograph_font_begin:\n"
    ".incbin \"" KINETOGRAPH_FONT_FILE
    "\"\n"
    "kinetograph_font_end:\n"
    ".popsection\n");
extern "C" {
extern const unsigned char kinetograph_font_begin[];
extern const unsigned char kinetograph_font_end[];
}

namespace kinetograph::ui {

Fonts add_fonts(ImFontAtlas& atlas, float scale) {
    // Latin, and the other signs that the interface uses: dashes, quotes, bullet, ellipsis, multiplication sign.
    static constexpr std::array<ImWchar, 5> kRanges{0x0020, 0x00ff, 0x2010, 0x2044, 0};
    ImFontConfig config;
    config.FontDataOwnedByAtlas = false;
    config.OversampleH = 3;
    config.OversampleV = 2;
    config.RasterizerMultiply = 1.1F;
    const auto add = [&](float size) {
        return atlas.AddFontFromMemoryTTF(const_cast<unsigned char*>(kinetograph_font_begin),
                                          static_cast<int>(kinetograph_font_end - kinetograph_font_begin),
                                          std::round(size * scale), &config, kRanges.data());
    };
    Fonts fonts;
    fonts.text = add(kTextSize);
    fonts.large = add(kLargeSize);
    return fonts;
}

}  // namespace kinetograph::ui
