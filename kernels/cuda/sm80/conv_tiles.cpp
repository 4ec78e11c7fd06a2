#include <algorithm>
#include <array>
#include <cassert>
#include <kinetograph/kernels/cuda/sm80/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_filter.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_rows.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_tiles.hpp>

namespace kinetograph::sm80 {
namespace {

#define KG_NAMED(name, ...) NamedConvConfig{"sm80_conv_" #name, name},
constexpr std::array kConfigs{KG_SM80_CONV_CONFIGS_BF16(KG_NAMED) KG_SM80_CONV_CONFIGS_F16(KG_NAMED)};
#undef KG_NAMED

int64_t ceil_div(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// Clocks of an SM, for one CTA: fitted to the times of 13 layers of the Wan 2.1 decoder on an H200 (sm_90, 1.8 GHz),
/// which they meet within 6 to 16 % (root mean square), docs/performance.md. Narrow copies have not been fitted: only
/// one tile each can take what needs them.
struct TileClocks {
    uint32_t bm, bn;
    double multiply;  ///< of the pipes, for 64 elements of K
    double finish;    ///< of the pipes, besides
    double alone;     ///< from one 64 elements of K to the next when the CTA has the SM to itself
    double start;     ///< besides, when it is alone
};
constexpr std::array kTileClocks{
    TileClocks{128, 128, 1290, 5731, 1240, 15516}, TileClocks{128, 96, 927, 3682, 978, 20359},
    TileClocks{128, 64, 651, 4817, 925, 159},      TileClocks{128, 32, 440, 2340, 1115, 10717},
    TileClocks{128, 16, 262, 2668, 1388, 4582},    TileClocks{64, 192, 964, 7177, 2017, 38},
    TileClocks{64, 96, 526, 2716, 631, 486},       TileClocks{64, 64, 375, 2060, 2181, 4783},
};
const TileClocks& clocks_of(const ConvConfig& config) {
    const auto found = std::ranges::find_if(
        kTileClocks, [&](const TileClocks& tile) { return tile.bm == config.bm && tile.bn == config.bn; });
    assert(found != kTileClocks.end());
    return *found;
}

/// Bytes that one copy of input channels may have. Copies of 16 bytes go with MaskedRow, others with PlacedRow.
uint32_t widest_copy(const ConvShape& shape) {
    const bool masked =
        shape.upsample != Upsample::Nearest2x && shape.r <= kMostMaskedTaps && shape.s <= kMostMaskedTaps;
    if (shape.c_in % 8 == 0 && masked) return 16;
    return shape.c_in % 2 == 0 ? 4 : 2;
}

}  // namespace

std::span<const NamedConvConfig> conv_configs() { return kConfigs; }

bool fits(const ConvConfig& config, const ConvShape& shape, const ConvEpilogue& epilogue) {
    const uint32_t copy = widest_copy(shape);
    return config.element == shape.element && config.copy_bytes == copy &&
           (epilogue.norm == Norm::None || config.bn >= shape.c_out);
}

uint32_t resident_ctas(const ConvConfig& config, const ConvChip& chip) {
    const uint32_t by_memory = chip.shared_bytes_per_sm / (shared_bytes(config) + 1024);  // 1 KiB is the system's
    return std::max(1u, std::min(by_memory, config.ctas_per_sm));
}

int64_t conv_ctas(const ConvConfig& config, const ConvShape& shape) {
    const bool sub_pixel = shape.upsample == Upsample::SubPixel;
    const int64_t pixels = sub_pixel ? shape.h * shape.w : shape.h_out() * shape.w_out();
    return ceil_div(pixels, config.bm) * ceil_div(shape.c_out, config.bn) * shape.frames_out() * (sub_pixel ? 4 : 1);
}

double conv_cost(const ConvConfig& config, const ConvShape& shape, const ConvChip& chip) {
    const TileClocks clocks = clocks_of(config);
    const int64_t taps = shape.upsample == Upsample::SubPixel ? shape.q * 4 : shape.taps();
    const auto depth = static_cast<double>(taps * padded_channels(shape.c_in)) / 64;
    // CTAs of one SM share its pipes; a few of them do not fill these, and each takes at least its own latency.
    const auto together = [&](int64_t ctas) {
        const double shared = static_cast<double>(ctas) * (clocks.multiply * depth + clocks.finish);
        return ctas == 0 ? 0.0 : std::max(shared, clocks.alone * depth + clocks.start);
    };
    const int64_t resident = resident_ctas(config, chip), slots = chip.sm_count * resident;
    const int64_t ctas = conv_ctas(config, shape), waves = ctas / slots;
    return static_cast<double>(waves) * together(resident) + together(ceil_div(ctas % slots, int64_t{chip.sm_count}));
}

std::string declined(const ConvShape& shape, const ConvEpilogue& epilogue) {
    if (shape.element != Element::BF16 && shape.element != Element::F16) {
        return "elements of bf16 or fp16 are needed";
    }
    if (shape.q > kMaxConvFrameTaps) {
        return std::to_string(shape.q) + " temporal taps; a launch has room for " + std::to_string(kMaxConvFrameTaps);
    }
    const bool plain = shape.stride.h == 1 && shape.stride.w == 1 && shape.dilation.h == 1 && shape.dilation.w == 1 &&
                       shape.pad_front.h == 1 && shape.pad_front.w == 1 && shape.pad_back.h == 1 &&
                       shape.pad_back.w == 1;
    if (shape.upsample == Upsample::SubPixel && !(shape.r == 3 && shape.s == 3 && plain)) {
        return "sub-pixel upsampling takes 3 x 3 taps with stride 1, dilation 1 and padding 1";
    }
    const bool norm_fits = std::ranges::any_of(
        kConfigs, [&](const NamedConvConfig& named) { return fits(named.config, shape, epilogue); });
    if (!norm_fits) return "no tile holds " + std::to_string(shape.c_out) + " channels for the norm";
    return "";
}

const NamedConvConfig& choose_config(const ConvShape& shape, const ConvEpilogue& epilogue, const ConvChip& chip) {
    const NamedConvConfig* best = nullptr;
    double best_cost = 0;
    for (const NamedConvConfig& named : kConfigs) {
        if (!fits(named.config, shape, epilogue)) continue;
        const double cost = conv_cost(named.config, shape, chip);
        if (best == nullptr || cost < best_cost) {
            best = &named;
            best_cost = cost;
        }
    }
    assert(best != nullptr);
    return *best;
}

}  // namespace kinetograph::sm80
