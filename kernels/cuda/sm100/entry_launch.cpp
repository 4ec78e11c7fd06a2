#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>

#include <algorithm>

namespace kinetograph::sm100 {
namespace {

// Parameters differ only in their number of tensor maps (and in the members of ChannelSums): one function for each
// number serves every entry.
constexpr Conv2dConfig kDense = one_sm_128b();
constexpr Conv2dConfig kWindow = one_sm_128b({.activation = Activation::Window3d});
constexpr Conv2dConfig kWindowWithSource =
    one_sm_128b({.activation = Activation::Window3d, .source = Source::Residual});

constexpr size_t parameter_bytes(const Conv2dConfig& config) {
    if (config.activation != Activation::Window3d) return sizeof(Conv2dParams<kDense, NoEpilogue>);
    return config.source == Source::None ? sizeof(Conv2dParams<kWindow, NoEpilogue>)
                                         : sizeof(Conv2dParams<kWindowWithSource, NoEpilogue>);
}
#define KG_SAME_BYTES(name, config, function)                                                                       \
    static_assert(                                                                                                  \
        std::is_same_v<function, ChannelSums> || sizeof(Conv2dParams<config, function>) == parameter_bytes(config), \
        #name);
KG_SM100_ENTRIES(KG_SAME_BYTES)
#undef KG_SAME_BYTES

template <Conv2dConfig kLike, class Function = NoEpilogue>
conv::Arguments arguments_like(const Conv2dLaunch& launch, const EntryEpilogue& epilogue, const conv::EncodeMap& encode,
                               const Function& function = {}) {
    return conv::Arguments::of(make_params<kLike, Function>(launch,
                                                            {.bias = epilogue.bias,
                                                             .scales = epilogue.scales,
                                                             .alpha = epilogue.alpha,
                                                             .beta = epilogue.beta,
                                                             .function = function},
                                                            encode));
}

/// The entries of one source file.
#define KG_NAME(name, config, function) #name,
constexpr std::string_view kFrames[] = {KG_SM100_FRAMES(KG_NAME)};
constexpr std::string_view kVolumes[] = {KG_SM100_VOLUMES(KG_NAME)};
constexpr std::string_view kWindows[] = {KG_SM100_WINDOWS(KG_NAME)};
constexpr std::string_view kSilus[] = {KG_SM100_SILUS(KG_NAME)};
constexpr std::string_view kEighths[] = {KG_SM100_EIGHTHS(KG_NAME)};
constexpr std::string_view kHalves[] = {KG_SM100_HALVES(KG_NAME)};
constexpr std::string_view kSmalls[] = {KG_SM100_SMALLS(KG_NAME)};
constexpr std::string_view kMixes[] = {KG_SM100_MIXES(KG_NAME)};
constexpr std::string_view kSwizzles[] = {KG_SM100_SWIZZLES(KG_NAME)};
#undef KG_NAME

std::string_view image_of(const Conv2dEntry& entry) {
    const auto lists = [&entry](std::span<const std::string_view> names) {
        return std::ranges::find(names, entry.name) != names.end();
    };
    if (lists(kFrames)) return "conv2d_frames";
    if (lists(kVolumes)) return "conv2d_volumes";
    if (lists(kSilus)) return "conv2d_silu";
    if (lists(kEighths)) return "conv2d_eighths";
    if (lists(kHalves)) return "conv2d_halves";
    if (lists(kSmalls)) return "conv2d_small";
    if (lists(kMixes)) return "conv2d_mixed";
    if (lists(kSwizzles)) return "conv2d_swizzles";
    return lists(kWindows) ? "conv2d_windows" : "conv2d_variants";
}

}  // namespace

const Conv2dEntry* find_entry(std::string_view name) {
    const auto* const found = std::ranges::find(kConv2dEntries, name, &Conv2dEntry::name);
    return found == std::end(kConv2dEntries) ? nullptr : found;
}

conv::KernelName kernel_name(const Conv2dEntry& entry) { return {entry.name, image_of(entry)}; }

ChipRates rates_of(const conv::Chip& chip) {
    ChipRates rates;
    rates.sms = std::max(chip.compute_units, 2U);  // a pair of CTAs takes two
    rates.clusters = chip.clusters;
    return rates;
}

conv::ConvLaunch entry_launch(const Conv2dEntry& entry, uint32_t kernel, const Conv2dLaunch& launch,
                              const EntryEpilogue& epilogue, const conv::EncodeMap& encode) {
    const Conv2dConfig& config = entry.config;
    const bool window = config.activation == Activation::Window3d;
    const auto arguments = [&] {
        if (entry.function == EntryFunction::ChannelSums)
            return arguments_like<kDense>(launch, epilogue, encode, ChannelSums{epilogue.channel_sums});
        if (!window) return arguments_like<kDense>(launch, epilogue, encode);
        return config.source == Source::None ? arguments_like<kWindow>(launch, epilogue, encode)
                                             : arguments_like<kWindowWithSource>(launch, epilogue, encode);
    };
    return {.kernel = kernel,
            .grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
            .cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]},
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .arguments = arguments()};
}

}  // namespace kinetograph::sm100
