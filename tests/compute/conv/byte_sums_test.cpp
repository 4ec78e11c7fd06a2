// Convolutions of U8 and I8: the same integers as the reference on every instruction set, and what the epilogue makes
// of them.
#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/base/processor.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kinetograph::conv {
namespace {

using tensor::DType;

/// Frames of `elements`, drawn over the whole range of their type.
struct Frames {
    std::vector<std::byte> bytes;
    std::uint64_t frame_bytes = 0;
    std::int64_t count = 0;

    Frames(std::int64_t frames, std::int64_t elements, DType dtype)
        : bytes(static_cast<std::size_t>(frames * elements) * element_bytes(dtype), std::byte{0xFF}),
          frame_bytes(static_cast<std::uint64_t>(elements) * element_bytes(dtype)),
          count(frames) {}
    std::vector<std::byte*> writable() {
        std::vector<std::byte*> frames;
        for (std::int64_t i = 0; i < count; ++i)
            frames.push_back(bytes.data() + static_cast<std::uint64_t>(i) * frame_bytes);
        return frames;
    }
    std::vector<const std::byte*> readable() {
        const auto frames = writable();
        return {frames.begin(), frames.end()};
    }
};

/// A layer as a decoder has it: four frames of U8, of which two are kept ones, and zero point 40.
ConvProblem layer(std::int64_t c_in, std::int64_t k) {
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
ConvProblem sums_of(ConvProblem p) {
    p.input.scale = 1;
    p.output = p.normed = DType::F32;
    p.channel_scales = p.bias = false;
    return p;
}

struct Parameters {
    std::vector<float> filter, bias, gamma, scales, folds;

    Parameters(const ConvProblem& p, std::mt19937& random) {
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

class ByteSums : public testing::Test {
  protected:
    struct Made {
        std::vector<std::byte> output, normed;
        std::string backend;
    };

    /// On the same drawn bytes at every call.
    Made run(const ConvProblem& p, const Parameters& parameters, std::string_view backend) {
        const auto conv = Convolution::create(*device_, p, parameters.view(), {.backend = backend});
        EXPECT_TRUE(conv) << conv.error().message;
        if (!conv) return {};
        const std::int64_t outputs = p.pixels_out() * p.filter.k;
        Frames input(p.frames_in(), p.h * p.w * p.c_in, p.input.element);
        Frames residual(p.residual_frames(), outputs, p.output.element);
        Frames output(p.norm == Norm::Instead ? 0 : p.frames_out(), outputs, p.output.element);
        Frames normed(p.norm == Norm::None ? 0 : p.frames_out(), outputs, p.normed.element);
        std::mt19937 random(3);
        for (std::int64_t i = 0; i < p.frames_in() * p.h * p.w * p.c_in; ++i)
            store_element(input.bytes.data(), i, p.input.element, static_cast<double>(random() % 256));
        for (std::int64_t i = 0; i < p.residual_frames() * outputs; ++i)
            store_element(residual.bytes.data(), i, p.output.element, static_cast<double>(i % 17) / 4 - 2);
        std::vector<std::byte> workspace((*conv)->workspace_bytes() + 64);
        auto* aligned =
            reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) / 64 * 64);
        const auto in = input.readable(), skip = residual.readable();
        const auto out = output.writable(), norms = normed.writable();
        EXPECT_TRUE((*conv)->enqueue(*stream_, "bytes", {in, out, skip, aligned, norms}));
        EXPECT_TRUE(stream_->synchronize());
        return {std::move(output.bytes), std::move(normed.bytes), std::string((*conv)->backend())};
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    std::unique_ptr<accel::Stream> stream_ = device_->create_stream("bytes").value();
    std::mt19937 random_{5};
};

TEST_F(ByteSums, AreTheReferencesIntegers) {
    std::vector<ConvProblem> problems;
    for (const std::int64_t k : {5, 16, 33, 48, 96, 128}) problems.push_back(layer(k == 33 ? 4 : 32, k));
    problems.push_back(layer(384, 64));  // more filter than half a second-level cache
    ConvProblem first = layer(32, 32);   // the taps of a clip's first frames read only padding
    first.d = 2;
    first.pad.front = 2;
    problems.push_back(first);
    ConvProblem strided = layer(32, 24);
    strided.stride = {1, 2, 2};
    strided.dilation = {1, 1, 2};
    strided.pad.left = 3;
    problems.push_back(strided);
    for (ConvProblem p : problems) {
        p = sums_of(p);
        const Parameters parameters(p, random_);
        const Made wanted = run(p, parameters, "reference-cpu"), made = run(p, parameters, "direct-bytes-cpu");
        EXPECT_EQ(made.backend, "direct-bytes-cpu");
        EXPECT_EQ(made.output, wanted.output) << p.to_string();
    }
}

TEST_F(ByteSums, OfTheLargestNumbersDoNotSaturate) {
    ConvProblem p = sums_of(layer(128, 16));
    p.input.zero = 255;
    Parameters parameters(p, random_);
    std::ranges::fill(parameters.filter, 127.0F);
    EXPECT_EQ(run(p, parameters, "direct-bytes-cpu").output, run(p, parameters, "reference-cpu").output);
    p.input.zero = 0;
    std::ranges::fill(parameters.filter, -127.0F);
    EXPECT_EQ(run(p, parameters, "direct-bytes-cpu").output, run(p, parameters, "reference-cpu").output);
}

TEST_F(ByteSums, AreScaledBiasedAndAddedToTheResidualWithOneRounding) {
    ConvProblem p = layer(32, 64);
    p.residual = true;
    const Parameters parameters(p, random_);
    ConvProblem exact = p;
    exact.output = exact.normed = DType::F32;
    const auto wanted = run(exact, parameters, "reference-cpu").output;
    const auto made = run(p, parameters, "").output;
    for (std::int64_t i = 0; i < p.frames_out() * p.pixels_out() * p.filter.k; ++i) {
        const double value = load_element(wanted.data(), i, DType::F32);
        ASSERT_NEAR(load_element(made.data(), i, DType::BF16), value, std::abs(value) * 0x1p-8 + 1e-5) << i;
    }
}

/// The bytes that the norm of the stored output becomes, from its definition.
std::vector<double> bytes_of(const ConvProblem& p, const Parameters& parameters, const std::vector<std::byte>& output) {
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

TEST_F(ByteSums, NormToBytesWithinTheRoundingOfTheirGrid) {
    for (const Norm norm : {Norm::Beside, Norm::Instead})
        for (const Storage input : {Storage(Element::U8, 0.03F, 40), Storage(Element::BF16)})
            for (const std::int64_t k : {32, 96, 20}) {
                ConvProblem p = layer(32, k);
                p.input = input;
                if (!p.multiplies_integers()) p.weight = input, p.channel_scales = false;
                p.norm = norm;
                p.normed = {Element::U8, 0.02F, 25};
                Parameters parameters(p, random_);
                if (!p.multiplies_integers())
                    for (float& value : parameters.filter) value /= 2000;
                ConvProblem bare = p;
                bare.norm = Norm::None;
                bare.normed = bare.output;
                Parameters unnormed = parameters;
                unnormed.gamma = unnormed.folds = {};
                const std::vector<double> wanted = bytes_of(p, parameters, run(bare, unnormed, "").output);
                const std::vector<std::byte> made = run(p, parameters, "").normed;
                ASSERT_EQ(made.size(), wanted.size());
                for (std::size_t i = 0; i < made.size(); ++i)
                    ASSERT_NEAR(std::to_integer<int>(made[i]), wanted[i], 0.52) << p.to_string() << " at " << i;
            }
}

TEST_F(ByteSums, RunOnTheProcessorsBestInstructions) {
    EXPECT_EQ(explain(device_->info(), layer(32, 32)).front().candidate, "direct-bytes-cpu");
}

/// Kernels of GPUs read and write no bytes yet: they must not take such a layer for one of bf16.
TEST(ByteProblems, AreClosedToMethodsThatDoNotKnowThem) {
    ConvProblem normed = layer(32, 32);
    normed.input = normed.weight = Storage();
    normed.channel_scales = false;
    normed.norm = Norm::Beside;
    normed.normed = {Element::U8, 0.02F, 25};
    for (const KnownDevice& known : known_devices())
        for (const ConvProblem& p : {layer(32, 32), normed})
            EXPECT_FALSE(explain(chip_of(*describe_known_device(known.architecture)), p).front().open)
                << known.architecture << " " << p.to_string();
}

}  // namespace
}  // namespace kinetograph::conv
