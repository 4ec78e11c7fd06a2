#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/upload.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

namespace kinetograph::conv {
namespace {

using tensor::DType;
using Clock = std::chrono::steady_clock;

/// Frames of one tensor in device memory, one after another, and a copy on the host.
struct FrameBlock {
    std::unique_ptr<accel::Memory> memory;
    std::vector<std::byte> host;
    std::int64_t count = 0;     ///< frames
    std::int64_t elements = 0;  ///< of one frame
    DType dtype = DType::F32;

    std::uint64_t frame_bytes() const {
        return static_cast<std::uint64_t>(elements) * tensor::bytes_per_element(dtype);
    }
    std::byte* host_frame(std::int64_t i) { return host.data() + static_cast<std::uint64_t>(i) * frame_bytes(); }
    const std::byte* host_frame(std::int64_t i) const {
        return host.data() + static_cast<std::uint64_t>(i) * frame_bytes();
    }
    std::vector<std::byte*> writable() const {
        std::vector<std::byte*> frames;
        for (std::int64_t i = 0; i < count; ++i)
            frames.push_back(memory->data() + static_cast<std::uint64_t>(i) * frame_bytes());
        return frames;
    }
    std::vector<const std::byte*> readable() const {
        const auto frames = writable();
        return {frames.begin(), frames.end()};
    }
    Result<void> upload(accel::Stream& stream) const { return stream.upload(memory->data(), host); }
    Result<void> read_back(accel::Stream& stream) { return stream.read_back(host, memory->data()); }
};

Result<FrameBlock> allocate(accel::Device& device, std::string_view name, std::int64_t count, std::int64_t elements,
                            DType dtype) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * tensor::bytes_per_element(dtype);
    FrameBlock block;
    KG_TRY(block.memory, device.allocate(name, std::max<std::uint64_t>(bytes * static_cast<std::uint64_t>(count), 1)));
    block.host.assign(bytes * static_cast<std::uint64_t>(count), std::byte{0xFF});  // NaN in any format
    block.count = count;
    block.elements = elements;
    block.dtype = dtype;
    return block;
}

float bf16_rounded(float value) { return tensor::from_bf16(tensor::to_bf16(value)); }

float rounded_to(DType dtype, float value) {
    std::array<std::byte, sizeof(float)> bytes{};
    store_element(bytes.data(), 0, dtype, value);
    return static_cast<float>(load_element(bytes.data(), 0, dtype));
}

/// Uniform in [-scale, scale), exactly representable in bf16, so that every dtype starts from the same numbers.
void fill(FrameBlock& block, double scale, std::mt19937_64& random) {
    std::uniform_real_distribution<float> uniform(static_cast<float>(-scale), static_cast<float>(scale));
    for (std::int64_t f = 0; f < block.count; ++f) {
        for (std::int64_t i = 0; i < block.elements; ++i) {
            store_element(block.host_frame(f), i, block.dtype, bf16_rounded(uniform(random)));
        }
    }
}

std::vector<float> draw(std::int64_t count, double scale, std::mt19937_64& random) {
    std::uniform_real_distribution<float> uniform(static_cast<float>(-scale), static_cast<float>(scale));
    std::vector<float> values(count);
    for (float& value : values) value = bf16_rounded(uniform(random));
    return values;
}

/// The same values in another dtype.
void copy_values(const FrameBlock& from, FrameBlock& to) {
    for (std::int64_t f = 0; f < from.count; ++f) {
        for (std::int64_t i = 0; i < from.elements; ++i) {
            store_element(to.host_frame(f), i, to.dtype,
                          static_cast<float>(load_element(from.host_frame(f), i, from.dtype)));
        }
    }
}

/// A convolution on a device, with its own tensors there.
struct Bound {
    std::unique_ptr<accel::Stream> stream;
    std::unique_ptr<Convolution> convolution;
    std::unique_ptr<accel::Memory> workspace, filter{};
    FrameBlock input, residual, output, normed;

    /// Fills the output and the normed output with NaN; the caller fills and uploads input and residual.
    static Result<Bound> create(accel::Device& device, const ConvProblem& problem, const ConvParameters& parameters,
                                const ConvOptions& options, bool filter_on_device = false) {
        Bound bound;
        if (filter_on_device) {
            KG_TRY(bound.filter, accel::upload(device, "filter as given", std::as_bytes(parameters.filter)));
            const auto copy = [](std::span<const float> values) {
                return std::vector<float>(values.begin(), values.end());
            };
            Weights weights(DeviceFilter{bound.filter->data()},
                            {{}, copy(parameters.bias), copy(parameters.gamma), copy(parameters.scales)});
            KG_TRY(bound.convolution, Convolution::create(device, problem, weights, options));
        } else {
            KG_TRY(bound.convolution, Convolution::create(device, problem, parameters, options));
        }
        KG_TRY(bound.stream, device.create_stream("conv"));
        const std::uint64_t bytes = bound.convolution->workspace_bytes();
        KG_TRY(bound.workspace, device.allocate("workspace", std::max<std::uint64_t>(bytes, 64)));

        const std::int64_t outputs = problem.h_out() * problem.w_out() * problem.filter.k;
        const std::int64_t output_frames = problem.n * problem.d_out();
        struct Wanted {
            FrameBlock& block;
            std::string_view name;
            std::int64_t count, elements;
            DType dtype;
        };
        for (const Wanted& wanted :
             {Wanted{bound.input, "input", problem.n * problem.d, problem.h * problem.w * problem.c_in,
                     problem.input.element},
              Wanted{bound.residual, "residual", problem.residual_frames(), outputs, problem.output.element},
              Wanted{bound.output, "output", problem.norm == Norm::Instead ? 0 : output_frames, outputs,
                     problem.output.element},
              Wanted{bound.normed, "normed", problem.norm == Norm::None ? 0 : output_frames, outputs,
                     problem.output.element}}) {
            KG_TRY(wanted.block, allocate(device, wanted.name, wanted.count, wanted.elements, wanted.dtype));
        }
        KG_CHECK(bound.output.upload(*bound.stream));
        KG_CHECK(bound.normed.upload(*bound.stream));
        return bound;
    }

    Result<void> upload_inputs() const {
        KG_CHECK(input.upload(*stream));
        return residual.upload(*stream);
    }

    Result<void> run() const {
        const auto inputs = input.readable(), residuals = residual.readable();
        const auto outputs = output.writable(), norms = normed.writable();
        KG_CHECK(convolution->enqueue(*stream, "conv",
                                      {.input = inputs,
                                       .output = outputs,
                                       .residual = residuals,
                                       .workspace = workspace->data(),
                                       .normed = norms}));
        return stream->synchronize();
    }
    Result<void> read_back() {
        KG_CHECK(output.read_back(*stream));
        return normed.read_back(*stream);
    }
};

/// Errors of the frames that a run stored, against the reference's frames.
struct Errors {
    double relative_l2 = 0, max_abs = 0, max_abs_reference = 0;

    Errors(const FrameBlock& stored, const FrameBlock& reference) {
        double error_squares = 0, reference_squares = 0;
        for (std::int64_t f = 0; f < stored.count; ++f) {
            for (std::int64_t i = 0; i < stored.elements; ++i) {
                const double wanted = load_element(reference.host_frame(f), i, reference.dtype);
                double error = std::abs(load_element(stored.host_frame(f), i, stored.dtype) - wanted);
                if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
                error_squares += error * error;
                reference_squares += wanted * wanted;
                max_abs = std::max(max_abs, error);
                max_abs_reference = std::max(max_abs_reference, std::abs(wanted));
            }
        }
        relative_l2 = reference_squares > 0 ? std::sqrt(error_squares / reference_squares) : std::sqrt(error_squares);
    }
};

/// Replaces float32 frames by their RMS norm, in fp64. Values are rounded to the problem's output dtype first.
void norm_in_place(const ConvProblem& problem, const std::vector<float>& gamma, FrameBlock& frames) {
    const std::int64_t channels = problem.filter.k;
    std::vector<double> pixel(static_cast<std::size_t>(channels));
    for (std::int64_t f = 0; f < frames.count; ++f) {
        for (std::int64_t first = 0; first < frames.elements; first += channels) {
            double squares = 0;
            for (std::int64_t c = 0; c < channels; ++c) {
                const auto value = static_cast<float>(load_element(frames.host_frame(f), first + c, frames.dtype));
                pixel[c] = rounded_to(problem.output.element, value);
                squares += pixel[c] * pixel[c];
            }
            const double scale = std::sqrt(static_cast<double>(channels)) / std::max(std::sqrt(squares), 1e-12);
            for (std::int64_t c = 0; c < channels; ++c) {
                const double value = pixel[c] * scale * gamma[c];
                const bool silu = problem.norm_activation == Activation::Silu;
                store_element(frames.host_frame(f), first + c, frames.dtype,
                              static_cast<float>(silu ? value / (1 + std::exp(-value)) : value));
            }
        }
    }
}

}  // namespace

Result<ConvRun> run_problem(accel::Device& device, const ConvProblem& problem, const ConvRunOptions& options) {
    KG_CHECK(conv::validate(problem));
    std::mt19937_64 random(options.seed);
    const double fan_in = static_cast<double>(problem.filter_elements()) / static_cast<double>(problem.filter.k);
    std::vector<float> given = draw(problem.filter_elements(), std::sqrt(3 / fan_in), random);
    if (!options.filter.empty()) {
        given.assign(options.filter.begin(), options.filter.end());
        for (float& value : given) value = rounded_to(problem.weight.element, value);
    }
    KG_TRY(const auto filter, in_parameter_order(problem, options.filter_layout, given));
    const std::vector<float> bias = draw(problem.bias ? problem.filter.k : 0, 0.1, random);
    const std::vector<float> scales = draw(problem.channel_scales ? problem.filter.k : 0, 2, random);
    const std::vector<float> gamma = draw(problem.norm == Norm::None ? 0 : problem.filter.k, 2, random);
    const ConvParameters parameters{.filter = filter, .bias = bias, .gamma = gamma, .scales = scales};

    ConvProblem exact = problem;
    exact.output = exact.normed = DType::F32;
    exact.norm = Norm::None;
    const auto host = accel::cpu::create_device();
    KG_TRY(auto tested, Bound::create(device, problem, parameters, {.backend = options.backend, .sums = options.sums},
                                      options.filter_on_device));
    KG_TRY(auto reference, Bound::create(*host, exact, {.filter = filter, .bias = bias, .scales = scales},
                                         {.backend = "reference-cpu"}));
    fill(tested.input, 1, random);
    fill(tested.residual, 1, random);
    copy_values(tested.input, reference.input);
    copy_values(tested.residual, reference.residual);

    for (Bound* bound : {&reference, &tested}) {
        KG_CHECK(bound->upload_inputs());
        KG_CHECK(bound->run());
        KG_CHECK(bound->read_back());
    }
    ConvRun run;
    Errors errors(tested.output, reference.output);
    if (problem.norm != Norm::None) {
        norm_in_place(problem, gamma, reference.output);
        const Errors normed(tested.normed, reference.output);
        run.normed_relative_l2 = normed.relative_l2;
        if (problem.norm == Norm::Instead) errors = normed;
    }
    run.relative_l2 = errors.relative_l2;
    run.max_abs_error = errors.max_abs;
    run.max_abs_reference = errors.max_abs_reference;

    std::vector<double> seconds;
    for (int i = 0; i < std::max(1, options.repeats); ++i) {
        const auto start = Clock::now();
        KG_CHECK(tested.run());
        seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
    run.seconds_median = seconds[seconds.size() / 2];
    run.tflops = problem.flops() / run.seconds_median / 1e12;
    run.workspace_bytes = tested.convolution->workspace_bytes();
    run.backend = tested.convolution->backend();
    return run;
}

}  // namespace kinetograph::conv
