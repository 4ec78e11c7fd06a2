#include "model_conv.hpp"

#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/cuda/sm90/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/q_slice_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_configs.hpp>
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
#include <limits>

namespace kinetograph::sm90 {
namespace {

/// A tile by its name: every tile in bf16, and one of each swizzle in fp16, whose kernels differ in an instruction's
/// name.
std::string run_kernel(std::string_view kernel, const ModelConv& conv, uint64_t seed) {
#define KG_RUN(name, config) \
    if (kernel == #name) return conv.run<ConvKernel<config>, ConvParams>(seed);
    KG_SM90_BF16_TILES(KG_RUN)
#undef KG_RUN
    if (kernel == "sm90_conv_f16_n96_32x8_3_32")
        return conv.run<ConvKernel<tile_config(Element::F16, 96, 4, 1, 3, 32)>, ConvParams>(seed);
    if (kernel == "sm90_conv_f16_n128_24x8_1_64")
        return conv.run<ConvKernel<tile_config(Element::F16, 128, 3, 1, 1, 64)>, ConvParams>(seed);
    return "the tests compile no kernel " + std::string(kernel);
}

std::string run_winograd(std::string_view kernel, const ModelConv& conv, uint64_t seed) {
#define KG_RUN(name, config) \
    if (kernel == #name) return conv.run<WinogradKernel<config>, WinogradParams>(seed);
    KG_SM90_WINOGRAD_BF16_TILES(KG_RUN)
#undef KG_RUN
    if (kernel == "sm90_winograd_f16_n96_16x8")
        return conv
            .run<WinogradKernel<winograd_config(Element::F16, 96, 2, 1, Consumers::InTurn, 3, 4, 6)>, WinogradParams>(
                seed);
    return "the tests compile no kernel " + std::string(kernel);
}

std::string run_sums(std::string_view kernel, const ModelConv& conv, uint64_t seed) {
#define KG_RUN(name, config) \
    if (kernel == #name) return conv.run<ConvKernel<config>, SumConvParams>(seed);
    KG_SM90_SUM_TILES(KG_RUN)
#undef KG_RUN
    return "the tests compile no kernel " + std::string(kernel);
}

std::string run_narrow(std::string_view kernel, const ModelConv& conv, uint64_t seed) {
#define KG_RUN(name, config) \
    if (kernel == #name) return conv.run<NarrowConvKernel<config>, NarrowConvParams>(seed);
    KG_SM90_NARROW_INSTANCES(KG_RUN)
#undef KG_RUN
    return "the tests compile no kernel " + std::string(kernel);
}

}  // namespace

conv::Chip chip_of_sms(uint32_t sms) {
    return {.kind = "cuda",
            .architecture = "sm_90",
            .features = {},
            .compute_units = sms,
            .shared_bytes_per_block = kSharedLimit,
            .clocks_per_second = 1.8e9,
            .memory_bytes_per_second = 4.8e12};
}

ModelConv::ModelConv(ConvNumbers& numbers, const ConvConfig& config, uint32_t sms)
    : ModelConv(numbers, config, numbers.addresses(), sms) {}

ModelConv::ModelConv(const ConvNumbers& numbers, const ConvConfig& config, const TensorAddresses& addresses,
                     uint32_t sms) {
    const ConvProblem problem = numbers.conv().problem();
    const auto parameters = place(pack_parameters(problem, numbers.parameters()));
    launches_ = conv_launches(config, problem, addresses.tensors(), parameters, sms, encode());
}

ModelConv::ModelConv(ConvNumbers& numbers, const WinogradConfig& config, uint32_t sms) {
    const ConvProblem problem = numbers.conv().problem();
    const auto addresses = numbers.addresses();
    const auto parameters = place(pack_winograd(config, problem, numbers.parameters()));
    launches_ =
        winograd_launches(config, problem, addresses.tensors(), parameters, std::max(sms / kClusterCtas, 1U), encode());
}

ModelConv::ModelConv(ConvNumbers& numbers, const NarrowConfig& config, uint32_t sms) {
    const ConvProblem problem = numbers.conv().problem();
    const auto addresses = numbers.addresses();
    const auto given = numbers.parameters();
    const auto parameters = place(conv::packed_with(pack_narrow_filter(config, problem, given.filter), given));
    launches_ = narrow_launches(config, problem, addresses.tensors(), parameters, sms, encode());
}

ModelConv::ModelConv(const conv::PackedParameters& packed, const MakeLaunches& launches) {
    const auto parameters = place(packed);
    launches_ = launches(parameters, encode());
}

std::string ModelConv::run(std::string_view kernel, uint64_t seed) const {
    const host_model::ModelKernel* found = host_model::find_model_kernel(kernel);
    if (found == nullptr) return "this program has no kernel " + std::string(kernel);
    for (const ConvLaunch& launch : launches_) {
        const auto outcome =
            host_model::run(model_launch(launch, seed), [&] { found->run(launch.arguments.storage.data()); });
        if (outcome.fault) return *outcome.fault;
    }
    return "";
}

std::string ModelConv::run_each(uint64_t seed, const std::function<void(const ConvLaunch&)>& thread) const {
    for (const ConvLaunch& launch : launches_) {
        const auto outcome = host_model::run(model_launch(launch, seed), [&] { thread(launch); });
        if (outcome.fault) return *outcome.fault;
    }
    return "";
}

host_model::Launch ModelConv::model_launch(const ConvLaunch& launch, uint64_t seed) {
    return {.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
            .cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]},
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .registers = 168,  // what the kernels are compiled to
            .seed = seed};
}

conv::ParameterAddresses ModelConv::place(const conv::PackedParameters& packed) {
    filter_.resize(packed.filter.size() / sizeof(isa::TensorMap) + 1);
    std::memcpy(filter_.data(), packed.filter.data(), packed.filter.size());
    bias_ = packed.bias;
    gamma_ = packed.gamma;
    return {.filter = reinterpret_cast<const std::byte*>(filter_.data()),
            .bias = bias_.empty() ? nullptr : bias_.data(),
            .gamma = gamma_.empty() ? nullptr : gamma_.data(),
            .scales = nullptr};
}

conv::EncodeMap ModelConv::encode() {
    return [this](const isa::TensorMapDesc& desc) { return host_model::model_map(maps_.emplace_back(desc)); };
}

std::string tile_disagreement(const ConvCase& conv, std::string_view kernel, uint64_t schedules) {
    const auto configs = conv_configs();
    const auto named = std::ranges::find(configs, kernel, &NamedConvConfig::kernel);
    const NamedConvConfig* tile = named != configs.end() ? &*named : choose_config(conv.problem(), chip_of_sms(4));
    if (tile == nullptr) return "no tile fits";
    ConvNumbers numbers(conv);
    const ModelConv model(numbers, tile->config);
    return numbers.judge_runs(tile->kernel, schedules,
                              [&](uint64_t seed) { return run_kernel(tile->kernel, model, seed); });
}

std::string winograd_disagreement(const ConvCase& conv, std::string_view kernel, uint64_t schedules) {
    const auto configs = winograd_configs();
    const auto named = std::ranges::find(configs, kernel, &NamedWinogradConfig::kernel);
    const NamedWinogradConfig* tile =
        named != configs.end() ? &*named : choose_winograd_config(conv.problem(), chip_of_sms(4));
    if (tile == nullptr) return "no tile fits";
    ConvCase judged = conv;
    judged.winograd = sm80::Winograd::Time;
    ConvNumbers numbers(judged);
    const ModelConv model(numbers, tile->config);
    return numbers.judge_runs(tile->kernel, schedules,
                              [&](uint64_t seed) { return run_winograd(tile->kernel, model, seed); });
}

ModelConv frame_walk(const ConvProblem& problem, const conv::ConvParameters& given, const TensorAddresses& addresses,
                     uint32_t sms) {
    return {conv::packed_with(pack_frame_walk_filter(problem, given.filter), given),
            [&](const conv::ParameterAddresses& parameters, const conv::EncodeMap& encode) {
                return frame_walk_launches(problem, addresses.tensors(), parameters, sms, encode);
            }};
}

std::string run_frame_walk(Element element, const ModelConv& walk, uint64_t seed) {
    return element == Element::BF16 ? walk.run<FrameWalkKernel<Element::BF16>, FrameWalkParams>(seed)
                                    : walk.run<FrameWalkKernel<Element::F16>, FrameWalkParams>(seed);
}

std::string narrow_disagreement(const ConvCase& conv, uint64_t schedules) {
    const ConvProblem problem = conv.problem();
    if (walks_frames(problem)) {
        ConvNumbers numbers(conv);
        const ModelConv model = frame_walk(problem, numbers.parameters(), numbers.addresses());
        return numbers.judge_runs(frame_walk_kernel(problem.input.element), schedules,
                                  [&](uint64_t seed) { return run_frame_walk(problem.input.element, model, seed); });
    }
    const NamedNarrowConfig* named = choose_narrow_config(problem);
    if (named == nullptr) return "no instance fits";
    ConvNumbers numbers(conv);
    const ModelConv model(numbers, named->config);
    return numbers.judge_runs(named->kernel, schedules,
                              [&](uint64_t seed) { return run_narrow(named->kernel, model, seed); });
}

QSliceModel::QSliceModel(const ConvCase& test, std::string_view kernel)
    : tile_([&] {
          const auto named = std::ranges::find(sum_configs(), kernel, &NamedConvConfig::kernel);
          return named != sum_configs().end() ? &*named : choose_sum_config(test.problem(), chip_of_sms(4));
      }()),
      numbers_(test),
      plan_(plan_q_slice_in(*tile_, test.problem(), chip_of_sms(3))),
      workspace_(plan_.workspace_bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN()),
      model_(plan_.packing.pack(numbers_.parameters()),
             [&](const conv::ParameterAddresses& parameters, const conv::EncodeMap& encode) {
                 const TensorAddresses addresses = numbers_.addresses();
                 conv::ConvTensors tensors = addresses.tensors();
                 tensors.workspace = reinterpret_cast<std::byte*>(workspace_.data());
                 std::vector<ConvLaunch> launches;
                 for (const conv::ConvStep& step : plan_.steps(tensors, parameters, encode))
                     launches.push_back(std::get<ConvLaunch>(step));
                 return launches;
             }) {}

std::string QSliceModel::disagreement(uint64_t schedules) {
    return numbers_.judge_runs(tile_->kernel, schedules,
                               [&](uint64_t seed) { return run_sums(tile_->kernel, model_, seed); });
}

}  // namespace kinetograph::sm90
