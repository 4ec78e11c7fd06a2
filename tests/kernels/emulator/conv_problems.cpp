/// Writes convolutions for FourWaveConv into the folder on the command line: one for every kernel, and one for every
/// feature. The reference is the definition of a convolution in fp64 over the stored inputs.

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/pack.hpp>
#include <kinetograph/tests/kernels/fp64_conv.hpp>
#include <kinetograph/tests/kernels/stored_values.hpp>
#include <random>

#include "frames.hpp"

namespace kinetograph::emulator {
namespace {

using conv::Activation;
using conv::ConvProblem;
using conv::Norm;
using gfx950::ConvOverrides;
using gfx950::ConvPath;
using gfx950::ConvTile;

enum class Numbers : uint8_t { Whole, Normal };

struct Case {
    std::string name = {};
    ConvProblem problem = {};
    ConvOverrides overrides = {};
    Numbers numbers = Numbers::Whole;  ///< whole: every sum is exact, so that the results agree bit for bit
    size_t input_frames = 1;           ///< output frame t sees t + 1 - q ... t; those before 0 are zeros
    uint32_t xcd_chunk = 0;            ///< order of workgroups, otherwise used only for large grids
    uint32_t group_m = 0;
};

/// The data of one launch.
class Convolution {
  public:
    explicit Convolution(const Case& conv)
        : case_(conv),
          p_(conv.problem),
          plan_(*gfx950::plan_four_wave_conv(conv.problem, conv.overrides).plan),
          input_(stored(), conv.input_frames, size(p_.h * p_.w * p_.c_in)),
          source_(returned(), p_.residual ? size(p_.frames_out()) : 0, output_elements()),
          output_(returned(), p_.norm != Norm::Instead ? size(p_.frames_out()) * conv.overrides.splits : 0,
                  output_elements()),
          normed_(returned(), p_.norm != Norm::None ? size(p_.frames_out()) : 0, output_elements()),
          weights_(stored(), 1, size(p_.filter.q * p_.filter.r * p_.filter.s * p_.c_in * p_.filter.k)),
          bias_(Element::F32, 1, size(p_.filter.k)),
          gamma_(Element::F32, 1, size(p_.filter.k)),
          scales_(Element::F32, 1, size(p_.filter.k)) {
        uint32_t seed = static_cast<uint32_t>(p_.c_in * 31 + p_.filter.k);
        for (Frames* data : {&input_, &source_, &weights_, &bias_, &gamma_, &scales_}) {
            if (conv.numbers == Numbers::Whole) {
                data->fill_whole(++seed, 3);
            } else {
                data->fill_normal(++seed);
            }
        }
        std::vector<float> weights(size(p_.filter.q * p_.filter.r * p_.filter.s * p_.c_in * p_.filter.k));
        for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(weights_.get(0, i));
        filter_ = gfx950::pack_filter(p_, *plan_.kernel, weights, gfx950::FilterOrder::Qrsck);
        if (p_.bias) packed_bias_ = gfx950::pack_channels(p_, channels(bias_));
        if (p_.norm != Norm::None) packed_gamma_ = gfx950::pack_channels(p_, channels(gamma_));
        if (p_.channel_scales) packed_scales_ = gfx950::pack_channels(p_, channels(scales_));
    }

    void write(ProblemWriter& writer) {
        std::vector<const void*> input, source;
        std::vector<void*> output, norms;
        for (int64_t t = 0; t < p_.frames_out(); ++t) {
            for (int64_t q = 0; q < p_.filter.q; ++q) {
                const int64_t frame = t + 1 - p_.filter.q + q;
                input.push_back(frame < 0 ? nullptr : input_.inputs()[size(frame)]);
            }
            if (p_.residual) source.push_back(source_.inputs()[size(t)]);
            if (p_.norm != Norm::Instead) output.push_back(output_.outputs()[size(t)]);
            if (p_.norm != Norm::None) norms.push_back(normed_.outputs()[size(t)]);
        }
        auto launched = gfx950::launches(plan_, {.input = input,
                                                 .output = output,
                                                 .split_bytes = split_bytes(),
                                                 .source = source,
                                                 .normed = norms,
                                                 .filter = filter_.data(),
                                                 .bias = p_.bias ? packed_bias_.data() : nullptr,
                                                 .gamma = p_.norm != Norm::None ? packed_gamma_.data() : nullptr,
                                                 .scales = p_.channel_scales ? packed_scales_.data() : nullptr});
        gfx950::FourWaveConvLaunch& launch = launched.front();
        if (case_.group_m != 0) {
            launch.params.xcd_chunk = case_.xcd_chunk;
            launch.params.group_m = case_.group_m;
        }
        Problem problem{.name = case_.name,
                        .kernel = std::string(plan_.kernel->name),
                        .grid = {launch.workgroups},
                        .parameters = std::as_bytes(std::span(&launch.params, 1)),
                        .buffers = {{"input", input_.bytes()},
                                    {"output", output_.bytes()},
                                    {"filter", std::span(filter_)},
                                    {"bias", std::as_writable_bytes(std::span(packed_bias_))},
                                    {"gamma", std::as_writable_bytes(std::span(packed_gamma_))},
                                    {"scales", std::as_writable_bytes(std::span(packed_scales_))},
                                    {"source", source_.bytes()},
                                    {"normed", normed_.bytes()}}};
        std::erase_if(problem.buffers, [](const ProblemBuffer& buffer) { return buffer.memory.empty(); });
        const double rounding = p_.output.element == Element::F32  ? 1e-6
                                : p_.input.element == Element::F16 ? 3.5e-4
                                                                   : 2.5e-3;
        const bool exact = case_.numbers == Numbers::Whole && p_.activation != Activation::Silu;
        if (case_.overrides.splits > 1) {  // sums of parts: bit for bit the model's, which tests hold to fp64
            problem.expectations.push_back({"output", returned(), 0, {}, 0});
        } else if (p_.norm != Norm::Instead) {
            problem.expectations.push_back({"output", returned(), exact ? 0 : rounding / 2,
                                            output_.reference([&](size_t t, size_t i) { return value(t, i); }),
                                            rounding});
        }
        if (p_.norm != Norm::None) {  // computed from the rounded values
            problem.expectations.push_back({"normed", returned(), rounding / 2,
                                            normed_.reference([&](size_t t, size_t i) { return normed(t, i); }),
                                            2 * rounding});
        }
        writer.add(problem);
    }

  private:
    static size_t size(int64_t value) { return static_cast<size_t>(value); }
    Element stored() const {
        if (p_.input.element == Element::F8E4M3) return Element::F8E4M3;
        return p_.input.element == Element::F16 ? Element::F16 : Element::BF16;
    }
    Element returned() const {
        if (p_.output.element == Element::F32) return Element::F32;
        return p_.input.element == Element::F16 ? Element::F16 : Element::BF16;
    }
    uint64_t split_bytes() const {
        return case_.overrides.splits == 1
                   ? 0
                   : static_cast<uint64_t>(output_.outputs()[size(p_.frames_out())] - output_.outputs()[0]);
    }
    size_t output_elements() const { return size(p_.h_out() * p_.w_out() * p_.filter.k); }
    std::vector<float> channels(const Frames& values) const {
        std::vector<float> result(size(p_.filter.k));
        for (size_t k = 0; k < result.size(); ++k) result[k] = static_cast<float>(values.get(0, k));
        return result;
    }

    /// One output value: the sum over all taps and channels, bias, SiLU, source.
    double value(size_t t, size_t index) {
        const size_t k = index % size(p_.filter.k);
        if (sums_.empty()) {
            std::vector<double> weights(size(p_.taps() * p_.c_in * p_.filter.k));
            for (size_t i = 0; i < weights.size(); ++i) weights[i] = weights_.get(0, i);
            sums_ =
                test::convolve(
                    p_, [&](size_t frame, size_t at) { return frame < case_.input_frames ? input_.get(frame, at) : 0; },
                    weights)
                    .sums;
        }
        double sum = sums_[t * output_elements() + index];
        if (p_.channel_scales) sum *= scales_.get(0, k);
        if (p_.bias) sum += bias_.get(0, k);
        if (p_.activation == Activation::Silu) sum = test::silu(sum);
        if (p_.residual) sum += static_cast<double>(p_.beta) * source_.get(t, index);
        return p_.activation == Activation::Relu && sum < 0 ? sum * static_cast<double>(p_.negative_slope) : sum;
    }

    double normed(size_t t, size_t index) {
        const size_t count = size(p_.filter.k), first = index / count * count;
        double square = 0;
        for (size_t k = 0; k < count; ++k) square += std::pow(value(t, first + k), 2);
        const double root = std::sqrt(static_cast<double>(count) / square);
        const double result = value(t, index) * root * gamma_.get(0, index % count);
        return p_.norm_activation == Activation::Silu ? test::silu(result) : result;
    }

    Case case_;
    ConvProblem p_;
    gfx950::FourWaveConvPlan plan_;
    Frames input_, source_, output_, normed_, weights_, bias_, gamma_, scales_;
    std::vector<double> sums_;  ///< of the taps
    std::vector<std::byte> filter_;
    std::vector<float> packed_bias_, packed_gamma_, packed_scales_;
};

/// "Same" padding with `taps` x `taps`.
ConvProblem square(Element element, int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t taps = 3) {
    const int64_t pad = taps / 2;
    return {.h = h,
            .w = w,
            .c_in = c_in,
            .filter = {c_out, 1, taps, taps},
            .stride = {},
            .dilation = {},
            .pad = {.top = pad, .bottom = pad, .left = pad, .right = pad},
            .input = element,
            .weight = element,
            .output = element == Element::F16 ? Element::F16 : Element::BF16,
            .normed = element == Element::F16 ? Element::F16 : Element::BF16};
}

/// q taps in time over `frames` output frames, which each see themselves and the q - 1 frames before.
void set_time(ConvProblem& problem, int64_t q, int64_t frames) {
    problem.filter.q = q;
    problem.d = frames;
    problem.pad.front = q - 1;
}

/// A 3x3 convolution of few pixels, with channels for the path and tile of `kernel`; rows and channels end within a
/// tile.
Case case_of(const gfx950::ConvKernel& kernel) {
    const bool fp8 = kernel.element == Element::F8E4M3;
    int64_t c_in = 3;
    if (kernel.path == ConvPath::Uniform) c_in = kernel.tile.bk;
    if (kernel.path == ConvPath::Padded) c_in = kernel.tile.bn == 32 ? 24 : 48;
    if (kernel.path == ConvPath::Chunks) c_in = fp8 ? 48 : 24;
    if (kernel.path == ConvPath::Pieces) c_in = fp8 ? 20 : 12;
    Case conv{.name = "every kernel once",
              .problem = square(kernel.element, 9, 8, c_in, kernel.tile.bn + 8),
              .overrides = {.tile = kernel.tile, .path = kernel.path}};
    conv.problem.residual = kernel.tile.bm >= 128;
    conv.problem.channel_scales = fp8 && kernel.tile.bm == 128;
    return conv;
}

std::vector<Case> features() {
    using enum Element;
    constexpr ConvTile kSmall{64, 64, 32}, kLarge{128, 128, 64};
    std::vector<Case> cases;
    const auto add = [&](std::string name, ConvProblem problem, Case rest = {}) {
        rest.name = std::move(name);
        rest.problem = problem;
        cases.push_back(std::move(rest));
    };
    ConvProblem p = square(BF16, 12, 11, 64, 64);
    p.stride.h = p.stride.w = 2;
    add("stride 2", p, {.overrides = {.tile = kLarge}});
    p.pad.top = p.pad.left = 0;
    add("stride 2, padding after only", p, {.overrides = {.tile = kSmall}});
    p = square(BF16, 10, 9, 48, 40);
    p.dilation.h = p.dilation.w = 2;
    p.pad.top = p.pad.bottom = p.pad.left = p.pad.right = 2;
    add("dilation 2", p);
    add("1x1", square(F16, 13, 7, 96, 72, 1));
    add("5x5", square(BF16, 9, 9, 16, 16, 5));
    add("7x7, padding 3", square(F16, 8, 10, 8, 24, 7));
    add("100 channels", square(BF16, 7, 9, 100, 66));
    add("384 channels", square(BF16, 4, 5, 384, 64), {.overrides = {.tile = ConvTile{64, 64, 64}}});
    add("no padding, normal numbers",
        [] {
            auto valid = square(BF16, 9, 10, 32, 64);
            valid.pad = {};
            return valid;
        }(),
        {.numbers = Numbers::Normal});
    for (const Element element : {BF16, F16, F8E4M3}) {
        p = square(element, 6, 7, element == F8E4M3 ? 128 : 64, 64);
        set_time(p, 3, 3);
        p.residual = true;
        p.beta = 0.5f;
        add("causal 3x3x3, three frames, residual, normal numbers", p, {.numbers = Numbers::Normal, .input_frames = 3});
        p.activation = Activation::Silu;
        p.bias = false;
        add("causal 3x3x3, SiLU, no bias", p, {.numbers = Numbers::Normal, .input_frames = 3});
        p.activation = Activation::Relu;
        p.negative_slope = 0.2f;
        add("causal 3x3x3, residual, ReLU with a slope", p, {.numbers = Numbers::Normal, .input_frames = 3});
    }
    p = square(BF16, 6, 9, 16, 40);
    set_time(p, 3, 3);
    add("causal 3x3x3 of 16 channels", p, {.input_frames = 3});
    p = square(BF16, 8, 8, 96, 192, 1);
    set_time(p, 3, 2);
    add("3x1x1", p, {.input_frames = 2});
    p = square(BF16, 5, 6, 64, 96);
    p.upsample = true;
    p.stride.h = 2;
    add("upsampling in the loader", p, {.overrides = {.tile = kLarge, .path = ConvPath::Chunks}});
    p = square(BF16, 8, 9, 96, 96);
    p.norm = Norm::Beside;
    add("norm and SiLU beside", p, {.numbers = Numbers::Normal});
    p.norm = Norm::Instead;
    p.norm_activation = Activation::None;
    add("norm instead", p, {.numbers = Numbers::Normal});
    p = square(F16, 40, 40, 32, 136, 1);
    add("order of workgroups by XCD", p, {.overrides = {.tile = kSmall}, .xcd_chunk = 2, .group_m = 4});
    p = square(BF16, 9, 9, 96, 3);
    p.output = p.normed = Element::F32;
    add("a decoder's head: three channels as float32", p, {.numbers = Numbers::Normal});
    add("one pixel", square(BF16, 1, 1, 64, 1));
    for (const Element element : {BF16, F8E4M3}) {
        p = square(element, 7, 7, 128, 64);
        p.d = 5;
        p.residual = true;
        add("images as one frame", p,
            {.overrides = {.tile = ConvTile{64, 64, element == BF16 ? 64U : 128U}}, .input_frames = 5});
    }
    return cases;
}

/// A problem drawn at random for `kernel`: image, taps, strides, channels, frames, epilogue.
Case drawn(const gfx950::ConvKernel& kernel, std::mt19937& random) {
    const auto draw = [&](int64_t low, int64_t high) {
        return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    };
    Case conv = case_of(kernel);
    ConvProblem& p = conv.problem;
    conv.name = "drawn at random";
    p.h = draw(2, 9);
    p.w = draw(2, 9);
    p.filter.r = draw(1, 3);
    p.filter.s = draw(1, 3);
    p.stride.h = draw(1, 2);
    p.stride.w = draw(1, 2);
    p.pad.top = draw(0, p.filter.r - 1), p.pad.bottom = draw(0, p.filter.r - 1);
    p.pad.left = draw(0, p.filter.s - 1), p.pad.right = draw(0, p.filter.s - 1);
    p.h = std::max(p.h, p.filter.r);
    p.w = std::max(p.w, p.filter.s);
    const int64_t q = draw(1, 2);
    set_time(p, q, draw(1, 2));
    conv.input_frames = static_cast<size_t>(p.frames_out());
    p.filter.k = 8 * draw(1, 9);
    const bool silu = draw(0, 3) == 0;
    p.bias = draw(0, 1) == 0;
    p.residual = draw(0, 1) == 0;
    p.channel_scales = draw(0, 2) == 0;
    const bool relu = draw(0, 2) == 0;
    p.activation = silu ? Activation::Silu : relu ? Activation::Relu : Activation::None;
    p.negative_slope = relu ? 0.25f * static_cast<float>(draw(0, 1)) : 0.0f;
    p.beta = 0.5f;
    if (draw(0, 3) == 0 && p.filter.k <= kernel.tile.bn && kernel.tile.bn <= gfx950::kMostNormedChannels)
        p.norm = Norm::Beside;
    if (kernel.path == ConvPath::Padded) p.c_in = 8 * draw(1, 9);
    if (p.c_in % kernel.tile.bk == 0 && kernel.path == ConvPath::Padded) p.c_in += 8;
    conv.numbers = Numbers::Normal;
    return conv;
}

/// Two or three parts of K, of one frame or two.
Case drawn_parts(const gfx950::ConvKernel& kernel, std::mt19937& random) {
    Case conv = drawn(kernel, random);
    conv.name = "drawn at random, in parts of K";
    conv.numbers = Numbers::Whole;
    ConvProblem& p = conv.problem;
    p.output = p.normed = Element::F32;
    p.bias = p.residual = p.channel_scales = false;
    p.activation = Activation::None;
    p.norm = Norm::None;
    conv.overrides.splits = 2 + static_cast<uint32_t>(random() % 2);
    return conv;
}

/// An upsampling by four folded filters: numbers of which four add up exactly.
Case doubling(Element element, int64_t c_in, int64_t c_out, ConvTile tile) {
    Case conv{.name = "upsampling by four filters", .problem = square(element, 5, 6, c_in, c_out)};
    conv.problem.upsample = true;
    conv.overrides.tile = tile;
    return conv;
}

/// The same for an image and channels drawn at random.
Case drawn_doubling(const gfx950::ConvKernel& kernel, std::mt19937& random) {
    const auto draw = [&](int64_t low, int64_t high) {
        return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    };
    Case conv = doubling(kernel.element, kernel.tile.bk * draw(1, 2), 8 * draw(1, 9), kernel.tile);
    conv.name = "drawn at random, upsampling by four filters";
    conv.problem.h = draw(2, 6);
    conv.problem.w = draw(2, 6);
    conv.problem.bias = draw(0, 1) == 0;
    conv.problem.residual = draw(0, 1) == 0;
    return conv;
}

int write_problems(const char* path) {
    ProblemWriter writer(path);
    for (const gfx950::ConvKernel& kernel : gfx950::kConvKernels) Convolution(case_of(kernel)).write(writer);
    for (const Case& conv : features()) Convolution(conv).write(writer);
    using enum Element;
    for (const Case& conv : {doubling(BF16, 64, 96, {128, 192, 64}), doubling(BF16, 64, 40, {256, 256, 64}),
                             doubling(F16, 32, 96, {256, 96, 32}), doubling(BF16, 128, 24, {64, 64, 64})})
        Convolution(conv).write(writer);
    std::mt19937 random(20261122);
    for (const gfx950::ConvKernel& kernel : gfx950::kConvKernels) {
        const bool fast = kernel.path == ConvPath::Uniform || kernel.path == ConvPath::Chunks;
        if (fast) Convolution(drawn(kernel, random)).write(writer);
    }
    for (const gfx950::ConvKernel& kernel : gfx950::kConvKernels) {
        for (int count = 0; kernel.path == ConvPath::Padded && count < 4; ++count)
            Convolution(drawn(kernel, random)).write(writer);
    }
    for (const gfx950::ConvKernel& kernel : gfx950::kConvKernels) {
        if (kernel.path != ConvPath::Uniform || kernel.element == Element::F8E4M3) continue;
        Convolution(drawn_parts(kernel, random)).write(writer);
        Convolution(drawn_doubling(kernel, random)).write(writer);
    }
    return writer.finish();
}

}  // namespace
}  // namespace kinetograph::emulator

int main(int argc, char** argv) {
    if (argc == 2) return kinetograph::emulator::write_problems(argv[1]);
    fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
    return 2;
}
