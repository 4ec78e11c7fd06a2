// The convolutions of a decoder at 1280x704 on a GPU: sampled pixels of every layer against sums in fp64.
#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

#include <algorithm>
#include <cmath>
#include <random>

namespace kinetograph::conv {
namespace {

using tensor::DType;

/// Frames that differ although the host holds one: frame f is the shared numbers from the f-th prime's place on.
class RollingFrames {
  public:
    RollingFrames(accel::Device& device, accel::Stream& stream, std::int64_t frames, std::int64_t elements, DType dtype)
        : dtype_(dtype), bytes_(tensor::bytes_per_element(dtype)) {
        const std::int64_t numbers = elements + kShift * frames;
        numbers_.resize(static_cast<std::size_t>(numbers * bytes_));
        std::uint32_t state = 1;
        for (std::int64_t i = 0; i < numbers; ++i) {
            state = state * 1664525U + 1013904223U;
            store_element(numbers_.data(), i, dtype, static_cast<double>(static_cast<std::int32_t>(state)) * 0x1p-31);
        }
        memory_ = device.allocate("frames", static_cast<std::uint64_t>(frames * elements * bytes_)).value();
        for (std::int64_t f = 0; f < frames; ++f) {
            addresses_.push_back(memory_->data() + f * elements * bytes_);
            EXPECT_TRUE(stream.upload(memory_->data() + f * elements * bytes_,
                                      std::span(numbers_).subspan(static_cast<std::size_t>(f * kShift * bytes_),
                                                                  static_cast<std::size_t>(elements * bytes_))));
        }
    }
    std::span<const std::byte* const> addresses() const { return addresses_; }
    double at(std::int64_t frame, std::int64_t index) const {
        return load_element(numbers_.data(), frame * kShift + index, dtype_);
    }

  private:
    static constexpr std::int64_t kShift = 1009;
    DType dtype_;
    std::int64_t bytes_;
    std::vector<std::byte> numbers_;
    std::unique_ptr<accel::Memory> memory_;
    std::vector<const std::byte*> addresses_;
};

/// conv + bias + residual at one pixel of one output frame, all channels.
std::vector<double> wanted_pixel(const ConvProblem& p, const RollingFrames& input, const RollingFrames& residual,
                                 const std::vector<float>& filter, const std::vector<float>& bias, std::int64_t t,
                                 std::int64_t y, std::int64_t x) {
    std::vector<double> sums(bias.begin(), bias.end());
    const std::int64_t scale = p.upsample ? 2 : 1;
    for (std::int64_t q = 0; q < p.filter.q; ++q)
        for (std::int64_t r = 0; r < p.filter.r; ++r)
            for (std::int64_t s = 0; s < p.filter.s; ++s) {
                const std::int64_t from_y = y + r - p.pad.top, from_x = x + s - p.pad.left;
                if (from_y < 0 || from_y >= p.h * scale || from_x < 0 || from_x >= p.w * scale) continue;
                const std::int64_t pixel = (from_y / scale * p.w + from_x / scale) * p.c_in;
                const std::int64_t tap = (q * p.filter.r + r) * p.filter.s + s;
                const std::int64_t taps = p.filter.q * p.filter.r * p.filter.s;
                for (std::int64_t c = 0; c < p.c_in; ++c) {
                    const double value = input.at(t + q, pixel + c);
                    for (std::int64_t k = 0; k < p.filter.k; ++k)
                        sums[k] += value * filter[(k * p.c_in + c) * taps + tap];
                }
            }
    for (std::int64_t k = 0; p.residual && k < p.filter.k; ++k)
        sums[k] += residual.at(t, (y * p.w_out() + x) * p.filter.k + k);
    return sums;
}

/// What the layer after it reads: RMS norm of the stored pixel, then SiLU.
std::vector<double> normed_pixel(const ConvProblem& p, std::vector<double> pixel, const std::vector<float>& gamma) {
    double squares = 0;
    for (double& value : pixel) {
        value = rounded_element(value, p.output.element);
        squares += value * value;
    }
    const double scale = std::sqrt(static_cast<double>(p.filter.k)) / std::max(std::sqrt(squares), 1e-12);
    for (std::size_t k = 0; k < pixel.size(); ++k) {
        const double normed = pixel[k] * scale * gamma[k];
        pixel[k] = normed / (1 + std::exp(-normed));
    }
    return pixel;
}

/// ||error|| / ||wanted|| of sampled pixels.
class Errors {
  public:
    void add(std::span<const std::byte> pixel, DType dtype, const std::vector<double>& wanted) {
        for (std::size_t k = 0; k < wanted.size(); ++k) {
            const double error = load_element(pixel.data(), static_cast<std::int64_t>(k), dtype) - wanted[k];
            errors_ += error * error;
            squares_ += wanted[k] * wanted[k];
        }
    }
    double relative() const { return std::sqrt(errors_ / squares_); }

  private:
    double errors_ = 0, squares_ = 0;
};

/// Frames that a launch writes, 0xFF before.
class WrittenFrames {
  public:
    WrittenFrames(accel::Device& device, accel::Stream& stream, std::int64_t frames, std::uint64_t frame_bytes) {
        const auto bytes = static_cast<std::uint64_t>(frames) * frame_bytes;
        memory_ = device.allocate("written", std::max<std::uint64_t>(bytes, 64)).value();
        stream.fill(memory_->data(), std::byte{0xFF}, memory_->bytes());
        for (std::int64_t t = 0; t < frames; ++t)
            addresses_.push_back(memory_->data() + static_cast<std::uint64_t>(t) * frame_bytes);
    }
    std::span<std::byte* const> addresses() const { return addresses_; }

  private:
    std::unique_ptr<accel::Memory> memory_;
    std::vector<std::byte*> addresses_;
};

class CudaLargeConvolution : public test::CudaGpu, public testing::WithParamInterface<DType> {
  protected:
    /// The chip's own method where there is one: a new one that runs elsewhere by mistake would only be slow.
    std::string_view expected_backend(const ConvProblem& p, Sums sums) const {
        if (device_->info().architecture != "sm_90") return "implicit-gemm-sm80";
        if (sums == Sums::Fast)
            return p.input.element == DType::BF16 && p.c_in >= 512 && p.filter.k >= 512 ? "winograd-volume-sm90"
                                                                                        : "winograd-time-sm90";
        return p.filter.k % 8 == 0 ? "implicit-gemm-sm90" : "narrow-gemm-sm90";
    }
    /// One rounding of the output, and one of the folded filter, or of the transformed frames, where there are such.
    double limit(const ConvProblem& p, Sums sums) const {
        if (p.output.element == DType::F32) return float32_limit(device_->info(), p);
        const double bf16 = p.upsample || sums == Sums::Fast ? 4e-3 : 2.5e-3;
        return p.input.element == DType::F16 ? bf16 / 8 : bf16;  // three bits more
    }
    void expect_samples_agree(const ConvProblem& p, Sums sums = Sums::Exact) {
        SCOPED_TRACE(p.to_string());
        const auto stream = device_->create_stream("test").value();
        std::mt19937_64 random(1);
        std::uniform_real_distribution<double> uniform(-1, 1);
        const double gain = std::sqrt(3.0 / static_cast<double>(p.filter_elements() / p.filter.k));
        std::vector<float> filter(p.filter_elements()), bias(p.filter.k), gamma(p.norm == Norm::None ? 0 : p.filter.k);
        for (float& value : filter)
            value = static_cast<float>(rounded_element(gain * uniform(random), p.input.element));
        for (float& value : bias) value = static_cast<float>(0.1 * uniform(random));
        for (float& value : gamma) value = static_cast<float>(1 + 0.5 * uniform(random));

        const ConvParameters parameters{.filter = filter, .bias = bias, .gamma = gamma};
        const auto convolution = Convolution::create(*device_, p, parameters, {.sums = sums}).value();
        EXPECT_EQ(convolution->backend(), expected_backend(p, sums));
        const std::int64_t outputs = p.h_out() * p.w_out() * p.filter.k;
        const RollingFrames input(*device_, *stream, p.d, p.h * p.w * p.c_in, p.input.element);
        const RollingFrames residual(*device_, *stream, p.residual ? p.d_out() : 0, outputs, p.output.element);
        const std::uint64_t frame_bytes = p.output_frame_bytes();
        const WrittenFrames output(*device_, *stream, p.norm == Norm::Instead ? 0 : p.d_out(), frame_bytes);
        const WrittenFrames normed(*device_, *stream, p.norm == Norm::None ? 0 : p.d_out(), frame_bytes);
        const auto workspace =
            device_->allocate("workspace", std::max<std::uint64_t>(convolution->workspace_bytes(), 64)).value();
        ASSERT_TRUE(convolution->enqueue(*stream, "large",
                                         {.input = input.addresses(),
                                          .output = output.addresses(),
                                          .residual = residual.addresses(),
                                          .workspace = workspace->data(),
                                          .normed = normed.addresses()}));
        ASSERT_TRUE(stream->synchronize());

        Errors of_output, of_norm;
        std::vector<std::byte> pixel(p.filter.k * tensor::bytes_per_element(p.output.element));
        const auto place = [&](std::int64_t end, int sample) -> std::int64_t {
            if (sample % 8 == 0) return 0;  // corners and edges too
            return sample % 8 == 1 ? end - 1 : std::uniform_int_distribution<std::int64_t>(0, end - 1)(random);
        };
        for (int sample = 0; sample < 256; ++sample) {
            const std::int64_t t = place(p.d_out(), sample / 16), y = place(p.h_out(), sample / 2),
                               x = place(p.w_out(), sample);
            const auto wanted = wanted_pixel(p, input, residual, filter, bias, t, y, x);
            const auto add = [&](const WrittenFrames& frames, Errors& errors, const std::vector<double>& values) {
                const std::uint64_t at = static_cast<std::uint64_t>(y * p.w_out() + x) * pixel.size();
                ASSERT_TRUE(stream->read_back(pixel, frames.addresses()[t] + at));
                errors.add(pixel, p.output.element, values);
            };
            if (p.norm != Norm::Instead) add(output, of_output, wanted);
            if (p.norm != Norm::None) add(normed, of_norm, normed_pixel(p, wanted, gamma));
        }
        if (p.norm != Norm::Instead) {
            EXPECT_LE(of_output.relative(), limit(p, sums));
        }
        // The output's error through a norm, which keeps its share, and SiLU: of a normal variable x, ||silu(x)|| is
        // 0.6 ||x|| and its slope at most 1.1. The norm's own rounding comes on top.
        if (p.norm != Norm::None) {
            EXPECT_LE(of_norm.relative(), (1.1 / 0.6 + 1) * limit(p, sums));
        }
    }
};

bool is_block(const NamedProblem& layer) { return layer.name.ends_with(".residual"); }

/// With the epilogues of a decoder: a residual block's second convolution adds, and stores its norm beside; so does an
/// upsampling, which a GPU runs on the small image.
TEST_P(CudaLargeConvolution, OfEveryLayerOfADecoderAgreesAtSampledPixels) {
    for (NamedProblem& layer : decoder_problems(96, 704, 1280, GetParam())) {
        SCOPED_TRACE(layer.name);
        if (layer.name.ends_with(".resample")) {
            layer.problem.upsample = true;
            layer.problem.h /= 2;
            layer.problem.w /= 2;
        }
        if (layer.problem.upsample || is_block(layer)) layer.problem.norm = Norm::Beside;
        expect_samples_agree(layer.problem);
        if (HasFailure()) return;
    }
}

/// A block's first convolution stores its norm alone.
TEST_P(CudaLargeConvolution, OfABlocksFirstLayersAgreesAtSampledPixels) {
    for (NamedProblem& layer : decoder_problems(96, 704, 1280, GetParam())) {
        if (!is_block(layer)) continue;
        SCOPED_TRACE(layer.name);
        layer.problem.residual = false;
        layer.problem.norm = Norm::Instead;
        expect_samples_agree(layer.problem);
        if (HasFailure()) return;
    }
}

TEST_P(CudaLargeConvolution, OfFastSumsAgreesAtSampledPixels) {
    if (device_->info().architecture != "sm_90") GTEST_SKIP() << "Winograd along time is sm_90's";
    for (NamedProblem& layer : decoder_problems(96, 704, 1280, GetParam())) {
        if (!is_block(layer) || layer.problem.d_out() < 2) continue;
        SCOPED_TRACE(layer.name);
        layer.problem.norm = Norm::Beside;
        expect_samples_agree(layer.problem, Sums::Fast);
        if (HasFailure()) return;
    }
}

/// Layers of Wan 2.2 at 1280x704, whose pictures the method takes in parts.
TEST_P(CudaLargeConvolution, OfWan22sWideLayersWithFastSumsAgreesAtSampledPixels) {
    if (GetParam() != DType::BF16) GTEST_SKIP() << "bf16 alone has a method of its own for them";
    ConvProblem p;
    p.d = 4;
    p.h = 88;
    p.w = 160;
    p.c_in = 1024;
    p.filter = {1024, 3, 3, 3};
    p.pad = {.top = 1, .bottom = 1, .left = 1, .right = 1};
    p.residual = true;
    p.norm = Norm::Beside;
    expect_samples_agree(p, Sums::Fast);
    p.d = 6;
    p.h = 176;
    p.w = 320;
    p.c_in = p.filter.k = 512;
    p.residual = false;
    p.norm = Norm::Instead;
    expect_samples_agree(p, Sums::Fast);
}

INSTANTIATE_TEST_SUITE_P(Of, CudaLargeConvolution, testing::Values(DType::BF16, DType::F16),
                         [](const auto& dtype) { return std::string(tensor::to_string(dtype.param)); });

}  // namespace
}  // namespace kinetograph::conv
