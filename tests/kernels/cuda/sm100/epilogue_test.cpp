#include <cmath>
#include <list>

#include <kinetograph/kernels/cuda/sm100/conv2d_own_function.hpp>
#include <kinetograph/samples/sm100_function/gelu_maxima.hpp>

#include "model_conv.hpp"

/// run and run_with_residual, and every form of epilogue function.
namespace kinetograph::sm100 {
namespace {

double silu(double value) { return value / (1 + std::exp(-value)); }
using SiluInRegisters = Silu<EpilogueForm::InRegisters>;
using SiluAfterSharedMemory = Silu<EpilogueForm::AfterSharedMemory>;

constexpr Conv2dConfig kPlain = one_sm_128b(), kResidual = one_sm_128b({.source = Source::Residual});
constexpr Conv2dConfig kPairResidual = two_sm_128b({.filters = 128, .source = Source::Residual});
const ConvProblem kShape = same2d(2, 9, 17, 64, 136, 3, 3);

TEST(Conv2dResidual, AddsBetaTimesC) { expect_agrees<kResidual>({.shape = kShape, .beta = 0.5f}); }
TEST(Conv2dResidual, AddsC) { expect_agrees<kResidual>({.shape = kShape, .numbers = Numbers::Integers, .beta = 1}); }
TEST(Conv2dResidual, KeepsTheFunctionWhenBetaIsZero) {
    expect_agrees<kResidual>({.shape = kShape, .beta = 0, .function = silu}, SiluInRegisters{});
}
TEST(Conv2dResidual, AddsCAsAPair) { expect_agrees<kPairResidual>({.shape = kShape, .beta = -1.5f}); }
TEST(Conv2dResidual, AddsCWith64ByteSwizzle) {
    expect_agrees<one_sm_64b({.filters = 96, .source = Source::Residual})>(
        {.shape = same2d(1, 9, 19, 96, 96, 3, 3), .beta = 1});
    expect_agrees<two_sm_64b({.filters = 96, .source = Source::Residual})>(
        {.shape = same2d(1, 9, 39, 96, 96, 3, 3), .beta = 1});
}
TEST(Conv2dResidual, AddsCInAClusterThatShares) {
    expect_agrees<one_sm_128b({.filters = 64, .source = Source::Residual, .cluster = {2, 2}})>(
        {.shape = kShape, .beta = 1});
}
TEST(Conv2dResidual, AddsCToAOneTapFilterWhosePrologueIsOneStage) {
    expect_agrees<kResidual>({.shape = same2d(3, 8, 16, 64, 128, 1, 1), .beta = 1});
}
TEST(Conv2dResidual, AddsHalfToHalf) {
    expect_agrees<one_sm_128b(
        {.element = Element::F16, .output = Element::F16, .source_value = Element::F16, .source = Source::Residual})>(
        {.shape = kShape, .beta = 2});
}
TEST(Conv2dResidual, AddsFloat32ToFloat32AndToBfloat16) {
    expect_agrees<one_sm_128b({.output = Element::F32, .source_value = Element::F32, .source = Source::Residual})>(
        {.shape = kShape, .beta = 1});
    expect_agrees<one_sm_128b({.source_value = Element::F32, .source = Source::Residual})>(
        {.shape = kShape, .beta = 1});
}
TEST(Conv2dResidual, AddsToFp8Products) {
    expect_agrees<one_sm_128b({.element = Element::F8E4M3, .source = Source::Residual})>(
        {.shape = same2d(2, 9, 17, 128, 136, 3, 3), .alpha = 0.25f, .beta = 1});
}

TEST(Conv2dEpilogue, AppliesTheFunctionInRegisters) {
    expect_agrees<kPlain>({.shape = kShape, .function = silu}, SiluInRegisters{});
}
TEST(Conv2dEpilogue, AppliesTheFunctionInRegistersBeforeTheResidual) {
    expect_agrees<kResidual>({.shape = kShape, .beta = 1, .function = silu}, SiluInRegisters{});
    expect_agrees<kPairResidual>({.shape = kShape, .beta = 1, .function = silu}, SiluInRegisters{});
}
TEST(Conv2dEpilogue, AppliesTheFunctionAfterSharedMemory) {
    expect_agrees<kPlain>({.shape = kShape, .function = silu}, SiluAfterSharedMemory{});
}
TEST(Conv2dEpilogue, AppliesTheFunctionAfterSharedMemoryBeforeTheResidual) {
    expect_agrees<kResidual>({.shape = kShape, .beta = 1, .function = silu}, SiluAfterSharedMemory{});
    expect_agrees<kPairResidual>({.shape = kShape, .beta = 1, .function = silu}, SiluAfterSharedMemory{});
}
TEST(Conv2dEpilogue, AppliesTheFunctionAfterSharedMemoryToFloat32) {
    expect_agrees<one_sm_128b({.output = Element::F32})>({.shape = kShape, .function = silu}, SiluAfterSharedMemory{});
}

#if KG_HOST_MODEL  // these functions point into host memory
/// Adds a value from a table: pixel and channel must be those of the element.
template <EpilogueForm kWhere>
struct AddsItsPlace {
    static constexpr EpilogueForm kForm = kWhere;
    const float* table = nullptr;  // [pixels][c_out]
    uint32_t filters = 0;
    float operator()(float value, uint32_t pixel, uint32_t channel) const {
        return value + table[pixel * filters + channel];
    }
};
template <EpilogueForm kWhere, Conv2dConfig kConfig>
void expect_right_places() {
    ConvCase conv{.shape = kShape, .numbers = Numbers::Integers, .bias = false, .source = true};
    conv.output = kConfig.output;
    conv.source_value = Element::F32;
    conv.beta = 1;
    ConvNumbers numbers(conv);  // the table is the residual of the reference
    Guarded output(numbers.output_bytes());
    const Conv2dLaunch launch = launch_of<kConfig>(numbers, output);
    using Function = AddsItsPlace<kWhere>;
    const Conv2dEpilogueArguments<Function> after{
        .function = {reinterpret_cast<const float*>(numbers.source.data()), static_cast<uint32_t>(kShape.filter.k)}};
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        output.poison();
        const std::string fault = run_once<kConfig, Fault::None, Function>(launch, after, seed);
        ASSERT_EQ(fault, "");
        ASSERT_EQ(numbers.judge(output), "");
    }
}
TEST(Conv2dEpilogue, TellsTheFunctionItsPixelAndChannel) {
    expect_right_places<EpilogueForm::InRegisters, kPlain>();
    expect_right_places<EpilogueForm::InRegisters, two_sm_128b({.filters = 128})>();
    expect_right_places<EpilogueForm::AfterSharedMemory, one_sm_128b({.output = Element::F32})>();
}

/// Records what was stored.
struct Witness {
    static constexpr EpilogueForm kForm = EpilogueForm::AfterStore;
    float* seen = nullptr;
    uint32_t filters = 0;
    void operator()(float value, uint32_t pixel, uint32_t channel) const { seen[pixel * filters + channel] = value; }
};
template <Conv2dConfig kConfig>
void expect_witness(float beta) {
    ConvCase conv{.shape = kShape, .beta = beta, .output = kConfig.output, .source = kConfig.source != Source::None};
    ConvNumbers numbers(conv);
    Guarded output(numbers.output_bytes());
    const Conv2dLaunch launch = launch_of<kConfig>(numbers, output);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        std::vector<float> seen(static_cast<size_t>(kShape.frames_out() * kShape.pixels_out() * kShape.filter.k), -77);
        output.poison();
        const Conv2dEpilogueArguments<Witness> after{.bias = numbers.bias.data(),
                                                     .beta = beta,
                                                     .function = {seen.data(), static_cast<uint32_t>(kShape.filter.k)}};
        const std::string fault = run_once<kConfig, Fault::None, Witness>(launch, after, seed);
        ASSERT_EQ(fault, "");
        ASSERT_EQ(numbers.judge(output), "");
        for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], load_value(conv.output, output.data(), i)) << i;
    }
}
TEST(Conv2dEpilogue, ShowsTheVoidFunctionWhatWasStored) {
    expect_witness<kPlain>(0);
    expect_witness<kPairResidual>(1);
}

TEST(Conv2dEpilogue, SumsTheStoredValuesOfEveryChannel) {
    ConvNumbers numbers({.shape = kShape, .numbers = Numbers::Integers});
    Guarded output(numbers.output_bytes());
    const Conv2dLaunch launch = launch_of<kPlain>(numbers, output);
    std::vector<float> sums(static_cast<size_t>(kShape.filter.k), 0.0f);
    const Conv2dEpilogueArguments<ChannelSums> after{.bias = numbers.bias.data(), .function = {sums.data()}};
    const std::string fault = run_once<kPlain, Fault::None, ChannelSums>(launch, after, 0);
    ASSERT_EQ(fault, "");
    for (size_t k = 0; k < sums.size(); ++k) {
        float expected = 0;  // integers of at most 8 bits after rounding: exact in any order
        for (size_t i = k; i < output.size() / 2; i += sums.size()) {
            expected += load_value(Element::BF16, output.data(), i);
        }
        EXPECT_EQ(sums[k], expected) << "channel " << k;
    }
}

TEST(Conv2dEpilogue, IsTheCallersOwnAsInTheSample) {
    const auto gelu = [](double value) { return value / 2 * (1 + std::erf(value / std::sqrt(2.0))); };
    ConvNumbers numbers({.shape = kShape, .function = gelu});
    Guarded output(numbers.output_bytes());
    std::vector<uint32_t> maxima(static_cast<size_t>(kShape.filter.k), 0);
    void *activation[] = {numbers.activation.data()}, *stored[] = {output.data()};
    std::list<isa::TensorMapDesc> described;  // which the model's maps point to
    const conv::ConvLaunch launch = own_launch<kGeluConfig, GeluMaxima>(
        kShape, {.activation = activation, .filter = numbers.filter.data(), .output = stored},
        {.bias = numbers.bias.data(), .function = {maxima.data()}},
        [&](const isa::TensorMapDesc& desc) { return host_model::model_map(described.emplace_back(desc)); });
    output.poison();
    const auto params = launch.arguments.as<Conv2dParams<kGeluConfig, GeluMaxima>>();
    const host_model::Launch on_model{.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                                      .cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]},
                                      .threads = launch.threads,
                                      .shared_bytes = launch.shared_bytes,
                                      .schedule = host_model::Schedule::Orderly,
                                      .host_threads = 1};
    const auto run = host_model::run(on_model, [&params] { Conv2dFpropKernel<kGeluConfig, GeluMaxima>::run(params); });
    ASSERT_EQ(run.fault.value_or(""), "");
    ASSERT_EQ(numbers.judge(output), "");
    for (size_t k = 0; k < maxima.size(); ++k) {
        double largest = 0;
        for (size_t i = k; i < output.size() / 2; i += maxima.size())
            largest = std::max(largest, std::abs(numbers.expected(i)));
        EXPECT_NEAR(isa::float_of(maxima[k]), largest, 4e-3 * largest) << "channel " << k;
    }
}

#endif

TEST(Conv2dResidual, ReadsAndWritesTheSameTensor) {
    constexpr auto kSum =
        one_sm_128b({.output = Element::F32, .source_value = Element::F32, .source = Source::Accumulate});
    ConvCase conv{.shape = kShape, .output = Element::F32, .source_value = Element::F32};
    conv.source = conv.source_is_sum = true;
    ConvNumbers numbers(conv);
    Guarded output(numbers.output_bytes());
    void* in_place[] = {output.data()};
    void* activation[] = {numbers.activation.data()};
    const Conv2dLaunch launch = plan_launch(
        kSum, kShape,
        {.activation = activation, .filter = numbers.filter.data(), .output = in_place, .source = in_place});
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        output.poison();
        numbers.start_from_source(output);
        const std::string fault =
            run_once<kSum>(launch, Conv2dEpilogueArguments<NoEpilogue>{.bias = numbers.bias.data()}, seed);
        ASSERT_EQ(fault, "");
        ASSERT_EQ(numbers.judge(output), "");
    }
}

}  // namespace
}  // namespace kinetograph::sm100
