#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kinetograph::conv {
namespace {

using tensor::DType;

constexpr std::byte kPoison{0xFF};

/// The slot of frame `index` of one sample, and the number of slots of the sample.
std::int64_t slot_of(std::int64_t index, std::int64_t frames, FrameLayout layout, std::int64_t seam) {
    switch (layout) {
        case FrameLayout::Dense:
            return index;
        case FrameLayout::Ring:
            return (index + frames - seam) % frames;
        case FrameLayout::EveryOther:
            return 2 * index;
        case FrameLayout::Scattered:
            return 2 * (frames - 1 - index) + index % 2;
    }
    return index;
}

TestFrames make_input(const ConvShape& shape) {
    const ConvProblem& p = shape.problem;
    return {p.n, p.d, p.h * p.w * p.c_in, p.input.element, shape.input, shape.seam};
}

TestFrames make_output(const ConvProblem& p, FrameLayout layout) {
    const std::int64_t seam = layout == FrameLayout::Ring ? p.d_out() / 2 : 0;
    return {p.n, p.d_out(), p.h_out() * p.w_out() * p.filter.k, p.output.element, layout, seam};
}

/// Frames of `elements` each, whatever their types and layouts.
void copy_values(const TestFrames& from, TestFrames& to, std::int64_t elements) {
    to.fill([values = from.values(), elements](std::int64_t frame, std::int64_t i) {
        return values[static_cast<std::size_t>(frame * elements + i)];
    });
}

}  // namespace

TestFrames::TestFrames(std::int64_t samples, std::int64_t frames, std::int64_t elements, DType dtype,
                       FrameLayout layout, std::int64_t seam)
    : elements_(elements),
      dtype_(dtype),
      frame_bytes_(static_cast<std::uint64_t>(elements) * tensor::bytes_per_element(dtype)),
      storage_(static_cast<std::uint64_t>(samples * frames * 2 + 1) * frame_bytes_, kPoison) {
    for (std::int64_t sample = 0; sample < samples; ++sample) {
        for (std::int64_t i = 0; i < frames; ++i) {
            const std::int64_t slot = sample * frames * 2 + slot_of(i, frames, layout, seam);
            frames_.push_back(storage_.data() + static_cast<std::uint64_t>(slot) * frame_bytes_);
        }
    }
}

void TestFrames::fill(const std::function<float(std::int64_t, std::int64_t)>& value) {
    for (std::size_t frame = 0; frame < frames_.size(); ++frame) {
        for (std::int64_t i = 0; i < elements_; ++i) {
            store_element(frames_[frame], i, dtype_, value(static_cast<std::int64_t>(frame), i));
        }
    }
}

std::vector<float> TestFrames::values() const {
    std::vector<float> all;
    all.reserve(frames_.size() * static_cast<std::size_t>(elements_));
    for (const std::byte* frame : frames_) {
        for (std::int64_t i = 0; i < elements_; ++i) {
            all.push_back(static_cast<float>(load_element(frame, i, dtype_)));
        }
    }
    return all;
}

bool TestFrames::gaps_untouched() const {
    std::vector<bool> owned(storage_.size() / std::max<std::uint64_t>(frame_bytes_, 1), false);
    for (const std::byte* frame : frames_) owned[(frame - storage_.data()) / frame_bytes_] = true;
    for (std::size_t slot = 0; slot < owned.size(); ++slot) {
        const auto* first = storage_.data() + slot * frame_bytes_;
        const auto is_poison = [](std::byte byte) { return byte == kPoison; };
        if (!owned[slot] && !std::all_of(first, first + frame_bytes_, is_poison)) return false;
    }
    return true;
}

Result<DeviceFrames> DeviceFrames::upload(accel::Device& device, accel::Stream& stream, const TestFrames& frames) {
    DeviceFrames uploaded;
    KG_TRY(uploaded.memory_, device.allocate("frames", std::max<std::uint64_t>(frames.storage().size(), 1)));
    KG_CHECK(stream.upload(uploaded.memory_->data(), frames.storage()));
    for (const std::byte* frame : frames.writable())
        uploaded.frames_.push_back(uploaded.memory_->data() + (frame - frames.storage().data()));
    return uploaded;
}

Result<void> DeviceFrames::read_back(accel::Stream& stream, TestFrames& frames) const {
    return stream.read_back(frames.storage(), memory_->data());
}

TestConvolution::TestConvolution(const ConvShape& given)
    : shape(given),
      filter(given.problem.filter_elements()),
      bias(given.problem.bias ? given.problem.filter.k : 0),
      gamma(given.problem.norm == Norm::None ? 0 : given.problem.filter.k, 1.0F),
      input(make_input(given)),
      residual(make_output(given.problem, FrameLayout::Dense)) {}

Result<TestConvolution::Output> TestConvolution::run(accel::Device& device, accel::Stream& stream,
                                                     std::string_view backend) const {
    KG_TRY(const auto convolution,
           Convolution::create(device, shape.problem, {filter, bias, gamma}, {.backend = backend}));
    return run(device, stream, *convolution);
}

Result<TestConvolution::Output> TestConvolution::run(accel::Device& device, accel::Stream& stream,
                                                     const Convolution& convolution) const {
    const ConvProblem& p = shape.problem;
    const TestFrames scratch(1, 1, static_cast<std::int64_t>(convolution.workspace_bytes() / 4 + 16), DType::F32,
                             FrameLayout::Dense);
    const bool stored = p.norm != Norm::Instead, norms = p.norm != Norm::None;
    TestFrames output = make_output(p, shape.output), normed = make_output(p, shape.output);
    if (shape.in_place) copy_values(residual, output, p.pixels_out() * p.filter.k);
    const std::array<const TestFrames*, 5> host{&input, &residual, &scratch, &output, &normed};
    std::array<DeviceFrames, 5> on_device;
    for (std::size_t i = 0; i < host.size(); ++i) {
        KG_TRY(on_device[i], DeviceFrames::upload(device, stream, *host[i]));
    }
    const auto inputs = on_device[0].readable();
    auto residuals = on_device[shape.in_place ? 3 : 1].readable();
    residuals.resize(static_cast<std::size_t>(p.residual_frames()));
    const std::span<std::byte* const> nowhere;
    KG_CHECK(convolution.enqueue(stream, "test",
                                 {.input = inputs,
                                  .output = stored ? std::span(on_device[3].writable()) : nowhere,
                                  .residual = residuals,
                                  .workspace = on_device[2].writable()[0],
                                  .normed = norms ? std::span(on_device[4].writable()) : nowhere}));
    KG_CHECK(stream.synchronize());
    KG_CHECK(on_device[3].read_back(stream, output));
    KG_CHECK(on_device[4].read_back(stream, normed));
    return Output{stored ? output.values() : std::vector<float>{}, norms ? normed.values() : std::vector<float>{},
                  output.gaps_untouched() && normed.gaps_untouched(), std::string(convolution.backend())};
}

std::vector<float> TestConvolution::reference(accel::Device& device, accel::Stream& stream) const {
    ConvShape plain{shape.problem};
    plain.problem.output = plain.problem.normed = DType::F32;
    plain.problem.norm = Norm::None;
    TestConvolution exact(plain);
    exact.filter = filter;
    exact.bias = bias;
    const ConvProblem& p = shape.problem;
    copy_values(input, exact.input, p.h * p.w * p.c_in);
    copy_values(residual, exact.residual, p.pixels_out() * p.filter.k);
    return exact.run(device, stream, "reference-cpu").value().values;
}

std::vector<float> normed_reference(const ConvProblem& problem, const std::vector<float>& values,
                                    const std::vector<float>& gamma) {
    std::vector<float> result(values.size());
    const auto channels = static_cast<std::size_t>(problem.filter.k);
    for (std::size_t pixel = 0; pixel < values.size(); pixel += channels) {
        double squares = 0;
        for (std::size_t c = 0; c < channels; ++c)
            squares += static_cast<double>(values[pixel + c]) * values[pixel + c];
        const double scale = std::sqrt(static_cast<double>(channels)) / std::max(std::sqrt(squares), 1e-12);
        for (std::size_t c = 0; c < channels; ++c) {
            const double value = values[pixel + c] * scale * gamma[c];
            const bool silu = problem.norm_activation == Activation::Silu;
            result[pixel + c] = static_cast<float>(silu ? value / (1 + std::exp(-value)) : value);
        }
    }
    return result;
}

Difference difference(const std::vector<float>& got, const std::vector<float>& wanted, double half_step) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    if (got.size() != wanted.size()) return {kNever, kNever, kNever};
    double error_squares = 0, squares = 0;
    for (std::size_t i = 0; i < got.size(); ++i) squares += static_cast<double>(wanted[i]) * wanted[i];
    const double rms = std::sqrt(squares / static_cast<double>(std::max<std::size_t>(wanted.size(), 1)));
    Difference d;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double error = std::abs(static_cast<double>(got[i]) - wanted[i]);
        const double allowed = half_step * (std::abs(wanted[i]) + 0.25 * rms);
        error_squares += error * error;
        d.max_abs = std::isfinite(error) ? std::max(d.max_abs, error) : kNever;
        if (error > 0) d.worst_excess = std::max(d.worst_excess, error / allowed);
        if (!std::isfinite(error)) d.worst_excess = kNever;
    }
    d.relative_l2 = squares > 0 ? std::sqrt(error_squares / squares) : std::sqrt(error_squares);
    if (!std::isfinite(d.relative_l2)) d.relative_l2 = kNever;
    return d;
}

}  // namespace kinetograph::conv
