#include <kinetograph/compute/conv/cuda/sm100_launch.hpp>
#include <kinetograph/engine/accel/cuda/tensor_map.hpp>

#include <algorithm>
#include <optional>
#include <type_traits>

namespace kinetograph::conv::cuda {
namespace {

using sm100::Conv2dConfig;
using sm100::NoEpilogue;

// Parameters differ in how many tensor maps they hold, and, but for functions with members, in nothing else: one launch
// function for each number serves every entry that the back ends choose.
constexpr Conv2dConfig kDense = sm100::one_sm_128b();
constexpr Conv2dConfig kWindow = sm100::one_sm_128b({.activation = sm100::Activation::Window3d});
constexpr Conv2dConfig kWindowWithSource =
    sm100::one_sm_128b({.activation = sm100::Activation::Window3d, .source = sm100::Source::Residual});

constexpr std::size_t parameter_bytes(const Conv2dConfig& config) {
    if (config.activation != sm100::Activation::Window3d) return sizeof(sm100::Conv2dParams<kDense, NoEpilogue>);
    return config.source == sm100::Source::None ? sizeof(sm100::Conv2dParams<kWindow, NoEpilogue>)
                                                : sizeof(sm100::Conv2dParams<kWindowWithSource, NoEpilogue>);
}
#define KG_SAME_BYTES(name, config, function)                                                   \
    static_assert(std::is_same_v<function, ChannelSums> ||                                      \
                      sizeof(sm100::Conv2dParams<config, function>) == parameter_bytes(config), \
                  #name);
namespace check {
using namespace sm100;
KG_SM100_ENTRIES(KG_SAME_BYTES)
}  // namespace check
#undef KG_SAME_BYTES

template <Conv2dConfig kLike>
Result<void> launch_like(accel::Device& device, accel::Stream& stream, std::string_view pass_name,
                         accel::Kernel& kernel, const sm100::Conv2dLaunch& launch, const Sm100Epilogue& epilogue) {
    std::optional<Error> trouble;
    const auto encode = [&](const isa::TensorMapDesc& desc) {
        auto map = accel::cuda::encode_tensor_map(device, pass_name, desc);
        if (map) return *map;
        if (!trouble) trouble = std::move(map.error());
        return isa::TensorMap{};
    };
    const auto params = sm100::make_params<kLike, NoEpilogue>(
        launch, {.bias = epilogue.bias, .alpha = 1, .beta = epilogue.beta, .function = {}}, encode);
    if (trouble) return fail(std::move(*trouble));
    stream.launch({pass_name,
                   kernel,
                   {launch.grid[0], launch.grid[1], launch.grid[2]},
                   {launch.threads, 1, 1},
                   {launch.cluster[0], launch.cluster[1], launch.cluster[2]},
                   launch.shared_bytes,
                   accel::bytes_of(params)});
    return {};
}

/// The entries of one source file.
#define KG_NAME(name, config, function) #name,
constexpr std::string_view kFrames[] = {KG_SM100_FRAMES(KG_NAME)};
constexpr std::string_view kVolumes[] = {KG_SM100_VOLUMES(KG_NAME)};
constexpr std::string_view kWindows[] = {KG_SM100_WINDOWS(KG_NAME)};
constexpr std::string_view kSilus[] = {KG_SM100_SILUS(KG_NAME)};
#undef KG_NAME

}  // namespace

std::string_view binary_of(const sm100::Conv2dEntry& entry) {
    const auto lists = [&entry](std::span<const std::string_view> names) {
        return std::ranges::find(names, entry.name) != names.end();
    };
    if (lists(kFrames)) return "conv2d_frames";
    if (lists(kVolumes)) return "conv2d_volumes";
    if (lists(kSilus)) return "conv2d_silu";
    return lists(kWindows) ? "conv2d_windows" : "conv2d_variants";
}

const sm100::Conv2dEntry* find_entry(std::string_view name) {
    const auto* const found = std::ranges::find(sm100::kConv2dEntries, name, &sm100::Conv2dEntry::name);
    return found == std::end(sm100::kConv2dEntries) ? nullptr : found;
}

sm100::ChipRates sm100_rates(const accel::DeviceInfo& device) {
    sm100::ChipRates rates;
    if (device.compute_units > 0) rates.sms = device.compute_units;
    return rates;
}

Result<Sm100Kernel> Sm100Kernel::create(const std::shared_ptr<Kernels>& kernels, const sm100::Conv2dEntry* entry) {
    if (entry == nullptr) return fail(ErrorCode::Unsupported, "no SM100 kernel is built for that type and form");
    KG_TRY(auto kernel, kernels->get(binary_of(*entry), entry->name));
    Sm100Kernel made;
    made.entry_ = entry;
    made.kernel_ = std::move(kernel);
    made.kernels_ = kernels;
    return made;
}

Result<void> Sm100Kernel::enqueue(accel::Stream& stream, std::string_view pass_name, const sm100::Conv2dLaunch& launch,
                                  const Sm100Epilogue& epilogue) const {
    if (launch.empty()) return {};
    accel::Device& device = kernels_->device();
    if (config().activation != sm100::Activation::Window3d)
        return launch_like<kDense>(device, stream, pass_name, *kernel_, launch, epilogue);
    return config().source == sm100::Source::None
               ? launch_like<kWindow>(device, stream, pass_name, *kernel_, launch, epilogue)
               : launch_like<kWindowWithSource>(device, stream, pass_name, *kernel_, launch, epilogue);
}

}  // namespace kinetograph::conv::cuda
