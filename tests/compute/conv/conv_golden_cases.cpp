#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/tests/compute/conv/conv_golden_cases.hpp>
#include <kinetograph/tests/compute/conv/golden_values.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/golden/golden.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace kinetograph::conv {
namespace {

using tensor::DType;
using Json = nlohmann::json;

Dhw dhw(const Json& values) { return {values[0], values[1], values[2]}; }

ConvProblem problem_of(const Json& c, DType dtype, DType output_dtype) {
    const Json& pad = c["pad_front_back_top_bottom_left_right"];
    ConvProblem p;
    p.n = c["n"];
    p.d = c["input_dhw"][0];
    p.h = c["input_dhw"][1];
    p.w = c["input_dhw"][2];
    p.c_in = c["cin"];
    p.filter = {c["cout"], c["kernel_qrs"][0], c["kernel_qrs"][1], c["kernel_qrs"][2]};
    p.stride = dhw(c["stride_dhw"]);
    p.dilation = dhw(c["dilation_dhw"]);
    p.pad = {pad[0], pad[1], pad[2], pad[3], pad[4], pad[5]};
    p.bias = c["bias"];
    p.beta = c["beta"];
    p.residual = p.beta != 0;
    p.activation = c["activation"] == "silu" ? Activation::Silu : Activation::None;
    p.input = p.weight = dtype;
    p.output = p.normed = output_dtype;
    return p;
}

/// The case's tensors by the rule of tests/golden/README.md: all in bf16, channels moved last.
void fill(TestConvolution& test) {
    const ConvProblem& p = test.shape.problem;
    const auto by_rule = [&](const char* tensor, std::int64_t count, float gain) {
        return golden::bf16_values(tensor, count, gain);
    };
    test.filter = by_rule("filter", p.filter_elements(), golden::weight_gain(p.filter_elements() / p.filter.k));
    if (p.bias) test.bias = by_rule("bias", p.filter.k, 0.1F);
    const auto channels_last = [](std::vector<float> ncdhw, std::int64_t frames, std::int64_t pixels,
                                  std::int64_t channels) {
        return [=, values = std::move(ncdhw)](std::int64_t frame, std::int64_t i) {
            const std::int64_t n = frame / frames, t = frame % frames, pixel = i / channels, c = i % channels;
            return values[((n * channels + c) * frames + t) * pixels + pixel];
        };
    };
    test.input.fill(channels_last(by_rule("input", p.n * p.c_in * p.d * p.h * p.w, 1), p.d, p.h * p.w, p.c_in));
    const std::int64_t out_pixels = p.h_out() * p.w_out();
    test.residual.fill(channels_last(by_rule("source", p.n * p.filter.k * p.d_out() * out_pixels, 1), p.d_out(),
                                     out_pixels, p.filter.k));
}

std::vector<float> wanted_channels_last(const tensor::SafetensorsFile& file, const std::string& name,
                                        const ConvProblem& p) {
    const std::vector<float> stored = tensor::to_f32(*file.find(name), name).value();
    const std::int64_t pixels = p.h_out() * p.w_out();
    std::vector<float> result(stored.size());
    for (std::int64_t n = 0; n < p.n; ++n)
        for (std::int64_t k = 0; k < p.filter.k; ++k)
            for (std::int64_t t = 0; t < p.d_out(); ++t)
                for (std::int64_t i = 0; i < pixels; ++i)
                    result[((n * p.d_out() + t) * pixels + i) * p.filter.k + k] =
                        stored[((n * p.filter.k + k) * p.d_out() + t) * pixels + i];
    return result;
}

}  // namespace

int expect_golden_cases(accel::Device& device, const Combination& combination) {
    const auto stream = device.create_stream("test").value();
    const auto file = tensor::SafetensorsFile::open(golden::folder() / "conv_cases.safetensors").value();
    std::ifstream description(golden::folder() / "conv_cases.json");
    const Json cases = Json::parse(description).at("cases");
    EXPECT_EQ(cases.size(), 29);
    const bool transformed =
        std::ranges::find(candidates(), combination.backend, &Candidate::name)->rounding == Rounding::Operands;
    const auto magnitude = [](float value) { return std::abs(value); };
    int tested = 0;
    for (const Json& c : cases) {
        const std::string name = c["name"];
        const ConvProblem p = problem_of(c, combination.dtype, combination.output_dtype);
        SCOPED_TRACE(name + ": " + p.to_string());
        TestConvolution test(ConvShape{p});
        fill(test);
        const auto output = test.run(device, *stream, combination.backend);
        if (!output) {
            EXPECT_EQ(output.error().code, ErrorCode::Unsupported) << output.error().message;
            continue;
        }
        ++tested;
        const bool f16 = p.input.element == DType::F16;
        const double half_step = f16 ? 0x1p-11 : 0x1p-8;
        const auto wanted = wanted_channels_last(file, name, p);
        const Difference d = difference(output->values, wanted, half_step);
        // float32 accumulate and store 2e-6 (and what tensor cores cut off) / 1e-5; bf16 output of one fused
        // operation 2.5e-3 and 2^-8 |g| + 1e-3 rms(g), fp16 an eighth of that. Of transformed operands 1.84 times as
        // much (conv_properties.cpp), and no bound an element but 2^-7 of the largest.
        if (p.output.element == DType::F32) {
            EXPECT_LE(d.relative_l2, float32_limit(device.info(), p));
            EXPECT_LE(d.max_abs, 1e-5);
        } else if (transformed) {
            EXPECT_LE(d.relative_l2, 1.84 * (f16 ? 3.2e-4 : 2.5e-3));
            EXPECT_LE(d.max_abs, 2 * half_step * std::abs(*std::ranges::max_element(wanted, {}, magnitude)));
        } else {
            EXPECT_LE(d.relative_l2, f16 ? 3.2e-4 : 2.5e-3);
            EXPECT_LE(d.worst_excess, 1.0);
        }
    }
    return tested;
}

}  // namespace kinetograph::conv
