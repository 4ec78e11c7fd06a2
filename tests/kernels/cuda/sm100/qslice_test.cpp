#include <cmath>
#include <kinetograph/kernels/cuda/sm100/gates.hpp>
#include <kinetograph/kernels/cuda/sm100/qslice_conv3d.hpp>
#include <kinetograph/kernels/cuda/sm100/slice_passes.hpp>

#include "model_conv.hpp"

/// The 3-D convolution as q 2-D ones, in both forms.
namespace kinetograph::sm100 {
namespace {

ConvProblem padded3d(int64_t n, int64_t d, int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t q) {
    ConvProblem shape = same2d(n, h, w, c_in, c_out, 3, 3);
    shape.d = d;
    shape.filter.q = q;
    return shape;
}

/// A pass over `values` elements on the model.
template <class Body>
std::string run_pass(uint64_t values, uint64_t seed, const Body& body) {
    return host_model::run({.grid = {slice_pass_blocks(values)}, .threads = kPassThreads, .seed = seed}, body)
        .fault.value_or("");
}

/// Runs the steps in order, as a stream would.
template <Conv2dConfig kBase, class Epilogue>
std::string run_steps(const std::vector<QsliceWork>& steps, const QsliceTensors& tensors, ConvNumbers& numbers,
                      const Epilogue& function, uint64_t seed) {
    constexpr QsliceConfigs kConfigs = qslice_configs(kBase);
    const ConvCase& conv = numbers.conv();
    const auto values = static_cast<uint64_t>(conv.shape.frames_out() * conv.shape.pixels_out() * conv.shape.filter.k);
    const float* bias = numbers.bias.empty() ? nullptr : numbers.bias.data();
    auto* sums = static_cast<float*>(tensors.sums);
    for (const QsliceWork& work : steps) {
        std::string fault;
        switch (work.step) {
            case QsliceStep::Slice:
                fault = run_once<kConfigs.slice>(work.launch, Conv2dEpilogueArguments<NoEpilogue>{}, seed);
                break;
            case QsliceStep::FirstSum:
                fault = run_once<kConfigs.first_sum>(work.launch, Conv2dEpilogueArguments<NoEpilogue>{}, seed);
                break;
            case QsliceStep::NextSum:
                fault = run_once<kConfigs.next_sum>(work.launch, Conv2dEpilogueArguments<NoEpilogue>{}, seed);
                break;
            case QsliceStep::LastSum:
                fault = run_once<kConfigs.last_sum, Fault::None, Epilogue>(work.launch,
                                                                           {.bias = bias, .function = function}, seed);
                break;
            case QsliceStep::Accumulate: {
                const AccumulateSliceParams params{sums, static_cast<const uint32_t*>(tensors.slice), values,
                                                   work.first};
                fault = run_pass(values, seed, [&params] { accumulate_slice(params); });
                break;
            }
            case QsliceStep::Finish: {
                const FinishSlicesParams<Epilogue> params{sums,
                                                          bias,
                                                          static_cast<const uint32_t*>(tensors.source),
                                                          static_cast<uint32_t*>(tensors.output),
                                                          values,
                                                          static_cast<uint32_t>(conv.shape.filter.k),
                                                          conv.beta,
                                                          function};
                fault = run_pass(values, seed, [&params] { finish_slices(params); });
                break;
            }
        }
        if (!fault.empty()) return fault;
    }
    return "";
}

template <Conv2dConfig kBase, class Epilogue = NoEpilogue>
void expect_slices_agree(ConvCase conv, QsliceForm form, const Epilogue& function = {}) {
    ASSERT_EQ(conv::reasons(qslice_gates(), conv.shape), "");
    conv.rounds_slices = form == QsliceForm::RoundedSlices;
    ConvNumbers numbers(conv);
    Guarded output(numbers.output_bytes()), slice(numbers.output_bytes()), sums(2 * numbers.output_bytes());
    const QsliceTensors tensors{.activation = numbers.activation.data(),
                                .filter = numbers.filter.data(),
                                .output = output.data(),
                                .source = conv.source ? numbers.source.data() : nullptr,
                                .sums = sums.data(),
                                .slice = slice.data()};
    const auto steps = plan_qslice(kBase, conv.shape, tensors, form);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        for (Guarded* buffer : {&output, &slice, &sums}) buffer->poison();
        const std::string fault = run_steps<kBase>(steps, tensors, numbers, function, seed);
        ASSERT_EQ(fault, "") << "seed " << seed;
        ASSERT_EQ(numbers.judge(output), "") << "seed " << seed;
        ASSERT_TRUE(slice.intact() && sums.intact());
    }
}

double silu(double value) { return value / (1 + std::exp(-value)); }
using SiluInRegisters = Silu<EpilogueForm::InRegisters>;

constexpr Conv2dConfig k128b = one_sm_128b({.filters = 64}), k64b = one_sm_64b({.filters = 96});
constexpr Conv2dConfig kPair = two_sm_128b({.filters = 128});

TEST(Qslice, FusedSumsAgree) { expect_slices_agree<k128b>({padded3d(1, 5, 6, 9, 64, 64, 3)}, QsliceForm::FusedSums); }
TEST(Qslice, RoundedSlicesAgreeWithinTheirRoundings) {
    expect_slices_agree<k128b>({padded3d(1, 5, 6, 9, 64, 64, 3)}, QsliceForm::RoundedSlices);
}
TEST(Qslice, BothFormsKeepEveryPositionApart) {
    for (const QsliceForm form : {QsliceForm::FusedSums, QsliceForm::RoundedSlices}) {
        expect_slices_agree<k128b>({padded3d(2, 4, 6, 9, 64, 72, 3), Numbers::Coded}, form);
    }
}
TEST(Qslice, BothFormsAgreeWith96ChannelsAndFilters) {
    for (const QsliceForm form : {QsliceForm::FusedSums, QsliceForm::RoundedSlices}) {
        expect_slices_agree<k64b>({padded3d(1, 4, 6, 9, 96, 96, 2)}, form);
    }
}
TEST(Qslice, AgreesAsAPairWithTheCallersEpilogueOnTheLastSlice) {
    expect_slices_agree<kPair>({.shape = padded3d(2, 4, 6, 9, 64, 136, 3), .function = silu}, QsliceForm::FusedSums,
                               SiluInRegisters{});
}
TEST(Qslice, AddsTheResidualAfterTheFunctionInBothForms) {
    for (const QsliceForm form : {QsliceForm::FusedSums, QsliceForm::RoundedSlices}) {
        expect_slices_agree<k128b>(
            {.shape = padded3d(1, 4, 6, 9, 64, 64, 3), .beta = 0.5f, .source = true, .function = silu}, form,
            SiluInRegisters{});
    }
}
TEST(Qslice, FusedSumsAreExactWhereEverySumIs) {
    expect_slices_agree<k128b>({padded3d(1, 4, 6, 9, 64, 64, 3), Numbers::Integers}, QsliceForm::FusedSums);
}

/// Slices that cancel: the first temporal tap adds a large offset, the last subtracts it. The rounded form loses the
/// small remainder; the fused form does not.
TEST(Qslice, FusedSumsSurviveACancellationThatRoundedSlicesDoNot) {
    const ConvCase conv{.shape = padded3d(1, 3, 6, 9, 64, 64, 3), .bias = false};
    double error[2] = {};
    for (const QsliceForm form : {QsliceForm::FusedSums, QsliceForm::RoundedSlices}) {
        ConvNumbers numbers(conv);
        // Filter tap (0, 1, 1) becomes +64 on channel 0, tap (2, 1, 1) -64, and channel 0 is 64 everywhere.
        const auto put = [](std::vector<uint8_t>& bytes, size_t index, float value) {
            store_value(Element::BF16, bytes.data(), index, value);
        };
        for (size_t i = 0; i < numbers.activation.size() / 2; i += 64) put(numbers.activation, i, 64);
        for (size_t k = 0; k < 64; ++k) {
            for (size_t tap = 0; tap < 27; ++tap) {
                put(numbers.filter, (k * 27 + tap) * 64, tap == 4 ? 64.0f : tap == 22 ? -64.0f : 0.0f);
            }
        }
        Guarded output(numbers.output_bytes()), slice(numbers.output_bytes()), sums(2 * numbers.output_bytes());
        const QsliceTensors tensors{.activation = numbers.activation.data(),
                                    .filter = numbers.filter.data(),
                                    .output = output.data(),
                                    .sums = sums.data(),
                                    .slice = slice.data()};
        const auto steps = plan_qslice(k128b, conv.shape, tensors, form);
        ASSERT_EQ((run_steps<k128b>(steps, tensors, numbers, NoEpilogue{}, 0)), "");
        double sum = 0;
        const ConvProblem& p = conv.shape;
        for (int64_t pixel = 0; pixel < p.frames_out() * p.pixels_out(); ++pixel) {
            double exact = 0;  // filter 0
            for (int64_t tap = 0; tap < 27; ++tap) {
                const int64_t h = pixel / p.w + tap / 3 % 3 - 1, w = pixel % p.w + tap % 3 - 1;
                if (h < 0 || h >= p.h || w < 0 || w >= p.w) continue;
                for (int64_t c = 0; c < 64; ++c) {
                    exact += double{load_value(Element::BF16, numbers.activation.data(),
                                               static_cast<size_t>(((tap / 9 * p.h + h) * p.w + w) * 64 + c))} *
                             load_value(Element::BF16, numbers.filter.data(), static_cast<size_t>(tap * 64 + c));
                }
            }
            const double found = load_value(Element::BF16, output.data(), static_cast<size_t>(pixel * 64));
            sum += (found - exact) * (found - exact);
        }
        error[static_cast<size_t>(form)] = std::sqrt(sum / static_cast<double>(p.frames_out() * p.pixels_out()));
    }
    // In bf16, 4096 has steps of 16 to 32; the remainder is about 24, whose step is 1/8.
    EXPECT_LT(error[static_cast<size_t>(QsliceForm::FusedSums)], 0.1);
    EXPECT_GT(error[static_cast<size_t>(QsliceForm::RoundedSlices)], 3.0);
}

}  // namespace
}  // namespace kinetograph::sm100
