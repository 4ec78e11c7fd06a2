#include "text_finder.hpp"

#include <kinetograph/engine/ui/fonts.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace kinetograph::ui::testing {
namespace {

struct Mask {
    std::uint32_t width = 0, height = 0;
    std::vector<float> coverage;
    float& at(int x, int y) { return coverage[static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)]; }
};

float sample(const unsigned char* alpha, int width, int height, float u, float v) {
    const float x = u * static_cast<float>(width) - 0.5F, y = v * static_cast<float>(height) - 0.5F;
    const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
    const auto texel = [&](int i, int j) {
        return static_cast<float>(alpha[std::clamp(j, 0, height - 1) * width + std::clamp(i, 0, width - 1)]) / 255.0F;
    };
    const float a = x - static_cast<float>(left), b = y - static_cast<float>(top);
    return (texel(left, top) * (1 - a) + texel(left + 1, top) * a) * (1 - b) +
           (texel(left, top + 1) * (1 - a) + texel(left + 1, top + 1) * a) * b;
}

Mask rasterise(std::string_view text, float size) {
    ImFontAtlas atlas;
    ImFont* font = size == kLargeSize ? add_fonts(atlas).large : add_fonts(atlas, size / kTextSize).text;
    unsigned char* alpha = nullptr;
    int width = 0, height = 0;
    atlas.GetTexDataAsAlpha8(&alpha, &width, &height);
    const ImVec2 extent = font->CalcTextSizeA(size, 1e6F, 0.0F, text.data(), text.data() + text.size());
    Mask mask{static_cast<std::uint32_t>(std::ceil(extent.x)), static_cast<std::uint32_t>(std::ceil(extent.y)), {}};
    mask.coverage.resize(std::size_t{mask.width} * mask.height);
    float pen = 0.0F;
    for (const char letter : text) {
        const ImFontGlyph& glyph = *font->FindGlyph(static_cast<ImWchar>(letter));
        const int x1 = std::min(static_cast<int>(std::ceil(pen + glyph.X1)), static_cast<int>(mask.width));
        const int y1 = std::min(static_cast<int>(std::ceil(glyph.Y1)), static_cast<int>(mask.height));
        for (int y = std::max(0, static_cast<int>(std::floor(glyph.Y0))); y < y1; ++y)
            for (int x = std::max(0, static_cast<int>(std::floor(pen + glyph.X0))); x < x1; ++x) {
                const float across = (static_cast<float>(x) + 0.5F - pen - glyph.X0) / (glyph.X1 - glyph.X0);
                const float down = (static_cast<float>(y) + 0.5F - glyph.Y0) / (glyph.Y1 - glyph.Y0);
                if (across < 0 || across > 1 || down < 0 || down > 1) continue;
                mask.at(x, y) =
                    std::max(mask.at(x, y), sample(alpha, width, height, glyph.U0 + across * (glyph.U1 - glyph.U0),
                                                   glyph.V0 + down * (glyph.V1 - glyph.V0)));
            }
        pen += glyph.AdvanceX;
    }
    return mask;
}

double correlation_at(const std::vector<float>& brightness, std::uint32_t stride, const Mask& mask, std::uint32_t x0,
                      std::uint32_t y0) {
    double sum_a = 0, sum_b = 0, sum_aa = 0, sum_bb = 0, sum_ab = 0;
    for (std::uint32_t y = 0; y < mask.height; ++y)
        for (std::uint32_t x = 0; x < mask.width; ++x) {
            const double a = mask.coverage[std::size_t{y} * mask.width + x];
            const double b = brightness[std::size_t{y0 + y} * stride + x0 + x];
            sum_a += a;
            sum_b += b;
            sum_aa += a * a;
            sum_bb += b * b;
            sum_ab += a * b;
        }
    const auto count = static_cast<double>(mask.coverage.size());
    const double covariance = sum_ab - sum_a * sum_b / count;
    const double spread = std::sqrt((sum_aa - sum_a * sum_a / count) * (sum_bb - sum_b * sum_b / count));
    return spread > 1e-9 ? covariance / spread : 0.0;
}

}  // namespace

present::Picture crop(const present::Picture& picture, const Area& area) {
    present::Picture part{area.x1 - area.x0, area.y1 - area.y0, {}};
    for (std::uint32_t y = area.y0; y < area.y1; ++y) {
        const auto row =
            picture.rgba.begin() + static_cast<std::ptrdiff_t>((std::size_t{y} * picture.width + area.x0) * 4);
        part.rgba.insert(part.rgba.end(), row, row + static_cast<std::ptrdiff_t>(part.width) * 4);
    }
    return part;
}

FoundText find_text(const present::Picture& picture, std::string_view text, float size) {
    const Mask mask = rasterise(text, size);
    std::vector<float> brightness(std::size_t{picture.width} * picture.height);
    for (std::size_t i = 0; i < brightness.size(); ++i)
        brightness[i] =
            static_cast<float>(picture.rgba[4 * i] + picture.rgba[4 * i + 1] + picture.rgba[4 * i + 2]) / 765.0F;
    FoundText best{0, 0, -1.0};
    for (std::uint32_t y = 0; y + mask.height <= picture.height; ++y)
        for (std::uint32_t x = 0; x + mask.width <= picture.width; ++x)
            if (const double found = correlation_at(brightness, picture.width, mask, x, y); found > best.correlation)
                best = {x, y, found};
    return best;
}

}  // namespace kinetograph::ui::testing
