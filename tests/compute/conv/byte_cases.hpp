// Convolutions of U8 and I8 on any device: problems as decoders have them, drawn numbers, and what a method makes of
// them.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace kinetograph::conv {

/// A layer as a decoder has it: four frames of U8, of which two are kept ones, and zero point 40.
inline ConvProblem byte_layer(std::int64_t c_in, std::int64_t k) {
    ConvProblem p;
    p.d = 4;
    p.h = 5;
    p.w = 19;
    p.c_in = c_in;
    p.filter = {k, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.input = {Element::U8, 0.03F, 40};
    p.weight = Element::I8;
    p.channel_scales = true;
    return p;
}

/// Sums alone, as float32.
inline ConvProblem sums_of(ConvProblem p) {
    p.input.scale = 1;
    p.output = p.normed = Element::F32;
    p.channel_scales = p.bias = p.residual = false;
    p.norm = Norm::None;
    return p;
}

/// Drawn parameters: filters of integers.
struct ByteParameters {
    std::vector<float> filter, bias, gamma, scales, folds;

    ByteParameters(const ConvProblem& p, std::mt19937& random) {
        const auto draw = [&](bool has, std::int64_t count, float least, float most) {
            std::uniform_real_distribution<float> uniform(least, most);
            std::vector<float> values(has ? static_cast<std::size_t>(count) : 0);
            for (float& value : values) value = uniform(random);
            return values;
        };
        filter = draw(true, p.filter_elements(), -127, 127);
        for (float& value : filter) value = std::round(value);
        bias = draw(p.bias, p.filter.k, -1, 1);
        gamma = draw(p.norm != Norm::None, p.filter.k, 0.5F, 2);
        scales = draw(p.channel_scales, p.filter.k, 1e-4F, 1e-3F);
        folds = draw(p.norms_to_bytes(), p.filter.k, 0.5F, 2);
    }
    ConvParameters view() const { return {filter, bias, gamma, scales, folds}; }
};

struct ByteOutputs {
    std::vector<std::byte> output, normed;
    std::string backend;
};

/// On the same drawn bytes at every call, poisoned outputs; `residual`: empty for small numbers.
inline ByteOutputs run_bytes(accel::Device& device, const ConvProblem& p, const ByteParameters& parameters,
                             std::string_view backend, std::span<const std::byte> residual = {}) {
    const auto conv = Convolution::create(device, p, parameters.view(), {.backend = backend});
    EXPECT_TRUE(conv) << conv.error().message;
    if (!conv) return {};
    const auto stream = device.create_stream("bytes").value();
    const std::int64_t outputs = p.pixels_out() * p.filter.k;
    struct Block {
        std::vector<std::byte> host;
        std::unique_ptr<accel::Memory> memory;
        std::vector<std::byte*> frames;
    };
    const auto block = [&](std::int64_t frames, std::int64_t elements, Element element, const auto& fill) {
        Block made;
        const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * element_bytes(element);
        made.host.assign(static_cast<std::size_t>(frames) * bytes, std::byte{0xFF});
        fill(made.host);
        made.memory = device.allocate("frames", made.host.size() + 1).value();
        EXPECT_TRUE(stream->upload(made.memory->data(), made.host));
        for (std::int64_t i = 0; i < frames; ++i)
            made.frames.push_back(made.memory->data() + static_cast<std::uint64_t>(i) * bytes);
        return made;
    };
    const auto poison = [](std::vector<std::byte>&) {};
    std::mt19937 random(3);
    Block input = block(p.frames_in(), p.h * p.w * p.c_in, p.input.element, [&](std::vector<std::byte>& host) {
        for (std::int64_t i = 0; i < p.frames_in() * p.h * p.w * p.c_in; ++i)
            store_element(host.data(), i, p.input.element, static_cast<double>(random() % 256));
    });
    Block skip = block(p.residual_frames(), outputs, p.output.element, [&](std::vector<std::byte>& host) {
        if (!residual.empty()) host.assign(residual.begin(), residual.end());
        for (std::int64_t i = 0; residual.empty() && i < p.residual_frames() * outputs; ++i)
            store_element(host.data(), i, p.output.element, static_cast<double>(i % 17) / 4 - 2);
    });
    Block output = block(p.norm == Norm::Instead ? 0 : p.frames_out(), outputs, p.output.element, poison);
    Block normed = block(p.norm == Norm::None ? 0 : p.frames_out(), outputs, p.normed.element, poison);
    const auto workspace = device.allocate("workspace", (*conv)->workspace_bytes() + 64).value();
    const std::vector<const std::byte*> in(input.frames.begin(), input.frames.end());
    const std::vector<const std::byte*> skips(skip.frames.begin(), skip.frames.end());
    EXPECT_TRUE((*conv)->enqueue(*stream, "bytes", {in, output.frames, skips, workspace->data(), normed.frames}));
    EXPECT_TRUE(stream->synchronize());
    for (Block* made : {&output, &normed}) EXPECT_TRUE(stream->read_back(made->host, made->memory->data()));
    return {std::move(output.host), std::move(normed.host), std::string((*conv)->backend())};
}

/// What the norm of the stored output `output` is in units of its bytes, from its definition.
inline std::vector<double> bytes_of(const ConvProblem& p, const ByteParameters& parameters,
                                    const std::vector<std::byte>& output) {
    std::vector<double> wanted;
    const std::int64_t k = p.filter.k, pixels = p.frames_out() * p.pixels_out();
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        double squares = 0;
        for (std::int64_t c = 0; c < k; ++c)
            squares += std::pow(load_element(output.data(), pixel * k + c, p.output.element), 2);
        for (std::int64_t c = 0; c < k; ++c) {
            const double x = load_element(output.data(), pixel * k + c, p.output.element) *
                             std::sqrt(static_cast<double>(k) / squares) * parameters.gamma[c];
            const double stored = x / (1 + std::exp(-x)) * parameters.folds[c] / p.normed.scale + p.normed.zero;
            wanted.push_back(std::clamp(stored, 0.0, 255.0));
        }
    }
    return wanted;
}

/// The norm of `p` as bytes is that of the output that the same method stores, within `most` of a byte's step.
inline void expect_byte_norms(accel::Device& device, ConvProblem p, std::string_view backend, double most,
                              std::mt19937& random) {
    p.normed = {Element::U8, 0.02F, 25};
    ByteParameters parameters(p, random);
    if (!p.multiplies_integers())
        for (float& value : parameters.filter) value /= 2000;
    ConvProblem bare = p;
    bare.norm = Norm::None;
    bare.normed = bare.output;
    ByteParameters unnormed = parameters;
    unnormed.gamma = unnormed.folds = {};
    const std::vector<double> wanted = bytes_of(p, parameters, run_bytes(device, bare, unnormed, backend).output);
    const std::vector<std::byte> made = run_bytes(device, p, parameters, backend).normed;
    ASSERT_EQ(made.size(), wanted.size());
    for (std::size_t i = 0; i < made.size(); ++i)
        ASSERT_NEAR(std::to_integer<int>(made[i]), wanted[i], most) << p.to_string() << " at " << i;
}

/// What the device's best method stores is the reference's float32 output, rounded once to bf16.
inline void expect_one_rounding(accel::Device& device, accel::Device& cpu, const ConvProblem& p, std::mt19937& random) {
    const ByteParameters parameters(p, random);
    ConvProblem exact = p;
    exact.output = exact.normed = Element::F32;
    const auto wanted = run_bytes(cpu, exact, parameters, "reference-cpu").output;
    const auto made = run_bytes(device, p, parameters, "").output;
    for (std::int64_t i = 0; i < p.frames_out() * p.pixels_out() * p.filter.k; ++i) {
        const double value = load_element(wanted.data(), i, Element::F32);
        ASSERT_NEAR(load_element(made.data(), i, Element::BF16), value, std::abs(value) * 0x1p-8 + 1e-5) << i;
    }
}

}  // namespace kinetograph::conv
