#include <algorithm>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_choice.hpp>
#include <utility>

namespace kinetograph::sm100 {
namespace {

uint64_t ceil_div(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

/// A window's pixels are tiled frame by frame, otherwise all frames together.
uint64_t row_tiles(const Conv2dConfig& config, const Conv2dProblemShape& shape) {
    const auto pixels = static_cast<uint64_t>(shape.pixels());
    if (config.activation != Activation::Window3d) return ceil_div(pixels, config.mma.m);
    const auto frames = static_cast<uint64_t>(shape.n * shape.d_out());
    return frames * ceil_div(pixels / frames, config.mma.m);
}

double tensor_bytes(const Conv2dConfig& config, const Conv2dProblemShape& shape) {
    const double element = element_bytes(shape.element);
    const auto activation = static_cast<double>(shape.n * shape.d * shape.h * shape.w * shape.c_in);
    const auto filter = static_cast<double>(shape.c_out * shape.taps() * shape.c_in);
    const auto outputs = static_cast<double>(shape.pixels() * shape.c_out);
    const double source = config.source == Source::None ? 0.0 : element_bytes(config.source_value);
    return (activation + filter) * element + outputs * (element_bytes(config.output) + source);
}

bool serves(const Conv2dEntry& entry, const Conv2dProblemShape& shape, const EntryRequest& request) {
    const Conv2dConfig& c = entry.config;
    return entry.function == request.function && c.element == shape.element && c.activation == request.activation &&
           c.source == request.source && element_bytes(c.output) == request.output_bytes &&
           c.cluster.size() == c.cta_group;
}

}  // namespace

Conv2dEstimate estimate(const Conv2dConfig& config, const Conv2dProblemShape& shape, const ChipRates& chip) {
    Conv2dEstimate result;
    if (shape.empty()) return result;
    const auto filters = static_cast<uint64_t>(shape.c_out), channels = static_cast<uint64_t>(shape.c_in);
    const auto taps = static_cast<uint64_t>(shape.taps());
    result.tiles = row_tiles(config, shape) * ceil_div(filters, config.mma.n);
    result.rounds = ceil_div(result.tiles, chip.sms / config.cta_group);

    const uint64_t steps = taps * ceil_div(channels, config.mma.k), blocks = taps * ceil_div(channels, config.block.k);
    // A step is 32 bytes of k: 8-bit operands do twice the work in the same clocks.
    const double step_clocks = 2.0 * config.block.m * config.mma.n * 16 / chip.flops_per_clock;
    const double block_bytes = static_cast<double>(activation_tile_bytes(config)) / config.cluster.y +
                               static_cast<double>(filter_tile_bytes(config)) * config.cta_group / config.cluster.x;
    const auto clocks = static_cast<double>(result.rounds) / chip.clocks_per_second;
    result.mma_seconds = clocks * static_cast<double>(steps) * step_clocks;
    result.l2_seconds = clocks * static_cast<double>(blocks) * block_bytes / chip.l2_bytes_per_clock;
    const double step_bytes = 32.0 * (config.block.m + config.block.n);
    const double arriving = activation_tile_bytes(config) + filter_tile_bytes(config);
    result.shared_seconds = clocks *
                            (static_cast<double>(steps) * step_bytes + static_cast<double>(blocks) * arriving) /
                            chip.shared_bytes_per_clock;
    result.hbm_seconds = tensor_bytes(config, shape) / chip.hbm_bytes_per_second;
    result.find_limit();
    return result;
}

void Conv2dEstimate::find_limit() {
    const std::pair<double, Limit> parts[] = {{mma_seconds, Limit::Mma},
                                              {shared_seconds, Limit::Shared},
                                              {l2_seconds, Limit::L2},
                                              {hbm_seconds, Limit::Hbm},
                                              {epilogue_seconds, Limit::Epilogue}};
    const auto* const longest = std::ranges::max_element(parts, {}, &std::pair<double, Limit>::first);
    seconds = longest->first;
    limit = longest->second;
}

const Conv2dEntry* choose_entry(const Conv2dProblemShape& shape, const EntryRequest& request, const ChipRates& chip) {
    return conv::cheapest(
        kConv2dEntries, [&](const Conv2dEntry& entry) { return serves(entry, shape, request); },
        [&](const Conv2dEntry& entry) { return estimate(entry.config, shape, chip).cost(); });
}

}  // namespace kinetograph::sm100
