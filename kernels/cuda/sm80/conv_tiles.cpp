#include <algorithm>
#include <array>
#include <cassert>
#include <kinetograph/kernels/cuda/sm80/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_tiles.hpp>

namespace kinetograph::sm80 {
namespace {

#define KG_NAMED(name, ...) NamedConvConfig{"sm80_conv_" #name, name},
constexpr std::array kConfigs{KG_SM80_CONV_CONFIGS_BF16(KG_NAMED) KG_SM80_CONV_CONFIGS_F16(KG_NAMED)};
#undef KG_NAMED

int64_t ceil_div(int64_t value, int64_t by) { return (value + by - 1) / by; }

bool fits(const ConvConfig& config, const ConvShape& shape, const ConvEpilogue& epilogue) {
    const uint32_t copy = shape.c_in % 8 == 0 ? 16 : shape.c_in % 2 == 0 ? 4 : 2;
    return config.element == shape.element && config.copy_bytes == copy &&
           (epilogue.norm == Norm::None || config.bn >= shape.c_out);
}

}  // namespace

std::span<const NamedConvConfig> conv_configs() { return kConfigs; }

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
    // One SM: 1024 multiply-adds a clock (sm_80), 40 bytes a clock from the second-level cache.
    const double multiply = config.bm * config.bn * kBK / 1024.0;
    const double fetch = (config.bm + config.bn) * kRowBytes / 40.0;
    const double block = std::max(multiply, fetch) + 0.25 * std::min(multiply, fetch);  // overlap is never whole
    const uint32_t resident = resident_ctas(config, chip);
    const int64_t ctas = conv_ctas(config, shape), slots = int64_t{chip.sm_count} * resident;
    const int64_t whole = ctas / slots, rest = ctas % slots;
    // In the last wave an SM works on fewer CTAs, but each alone hides less latency.
    const auto last = static_cast<double>(ceil_div(rest, chip.sm_count));
    return block * (static_cast<double>(whole) * resident + (rest == 0 ? 0.0 : 0.5 * last + 0.5 * resident));
}

std::string declined(const ConvShape& shape, const ConvEpilogue& epilogue) {
    if (shape.element != isa::Element::BFloat16 && shape.element != isa::Element::Float16) {
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
