#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

namespace kinetograph::conv {
namespace {

using tensor::DType;
using Clock = std::chrono::steady_clock;

/// Frames of one tensor in device memory, one after another.
struct FrameBlock {
    std::unique_ptr<accel::Memory> memory;
    std::vector<std::byte*> frames;
    std::int64_t elements = 0;  ///< of one frame
    DType dtype = DType::F32;

    std::span<std::byte* const> writable() const { return frames; }
    std::vector<const std::byte*> readable() const { return {frames.begin(), frames.end()}; }
};

Result<FrameBlock> allocate(accel::Device& device, std::string_view name, std::int64_t count, std::int64_t elements,
                            DType dtype) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * tensor::bytes_per_element(dtype);
    FrameBlock block;
    auto memory = device.allocate(name, std::max<std::uint64_t>(bytes * static_cast<std::uint64_t>(count), 1));
    if (!memory) return fail(std::move(memory.error()));
    block.memory = std::move(*memory);
    block.elements = elements;
    block.dtype = dtype;
    for (std::int64_t i = 0; i < count; ++i) {
        block.frames.push_back(block.memory->data() + static_cast<std::uint64_t>(i) * bytes);
    }
    return block;
}

float bf16_rounded(float value) { return tensor::from_bf16(tensor::to_bf16(value)); }

/// Uniform in [-scale, scale), exactly representable in bf16: every dtype then starts from the same numbers.
void fill(FrameBlock& block, double scale, std::mt19937_64& random) {
    std::uniform_real_distribution<float> uniform(static_cast<float>(-scale), static_cast<float>(scale));
    for (std::byte* frame : block.frames) {
        for (std::int64_t i = 0; i < block.elements; ++i) {
            store_element(frame, i, block.dtype, bf16_rounded(uniform(random)));
        }
    }
}

std::vector<float> draw(std::int64_t count, double scale, std::mt19937_64& random) {
    std::uniform_real_distribution<float> uniform(static_cast<float>(-scale), static_cast<float>(scale));
    std::vector<float> values(count);
    for (float& value : values) value = bf16_rounded(uniform(random));
    return values;
}

void poison(FrameBlock& block) { std::memset(block.memory->data(), 0xFF, block.memory->bytes()); }  // NaN in any format

/// The same values at another dtype.
void copy_values(const FrameBlock& from, FrameBlock& to) {
    for (std::size_t f = 0; f < from.frames.size(); ++f) {
        for (std::int64_t i = 0; i < from.elements; ++i) {
            store_element(to.frames[f], i, to.dtype, static_cast<float>(load_element(from.frames[f], i, from.dtype)));
        }
    }
}

/// A convolution with its own output and workspace, on shared inputs.
struct Bound {
    std::unique_ptr<Convolution> convolution;
    std::unique_ptr<accel::Memory> workspace;
    FrameBlock output;

    static Result<Bound> create(accel::Device& device, const ConvProblem& problem, const ConvParameters& parameters,
                                std::string_view backend) {
        Bound bound;
        auto convolution = Convolution::create(device, problem, parameters, {.backend = backend});
        if (!convolution) return fail(std::move(convolution.error()));
        bound.convolution = std::move(*convolution);
        const std::uint64_t bytes = bound.convolution->workspace_bytes();
        auto workspace = device.allocate("workspace", std::max<std::uint64_t>(bytes, 64));
        if (!workspace) return fail(std::move(workspace.error()));
        bound.workspace = std::move(*workspace);
        auto output = allocate(device, "output", problem.n * problem.d_out(),
                               problem.h_out() * problem.w_out() * problem.filter.k, problem.output_dtype);
        if (!output) return fail(std::move(output.error()));
        bound.output = std::move(*output);
        poison(bound.output);
        return bound;
    }

    Result<void> run(accel::Stream& stream, const FrameBlock& input, const FrameBlock& residual) const {
        const auto inputs = input.readable(), residuals = residual.readable();
        auto enqueued = convolution->enqueue(
            stream, "conv",
            {.input = inputs, .output = output.writable(), .residual = residuals, .workspace = workspace->data()});
        if (!enqueued) return enqueued;
        return stream.synchronize();
    }
};

void compare(const FrameBlock& output, const FrameBlock& reference, ConvRun& run) {
    double error_squares = 0, reference_squares = 0;
    for (std::size_t f = 0; f < output.frames.size(); ++f) {
        for (std::int64_t i = 0; i < output.elements; ++i) {
            const double wanted = load_element(reference.frames[f], i, reference.dtype);
            double error = std::abs(load_element(output.frames[f], i, output.dtype) - wanted);
            if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
            error_squares += error * error;
            reference_squares += wanted * wanted;
            run.max_abs_error = std::max(run.max_abs_error, error);
            run.max_abs_reference = std::max(run.max_abs_reference, std::abs(wanted));
        }
    }
    run.relative_l2 = reference_squares > 0 ? std::sqrt(error_squares / reference_squares) : std::sqrt(error_squares);
}

}  // namespace

Result<ConvRun> run_problem(accel::Device& device, const ConvProblem& problem, const ConvRunOptions& options) {
    if (auto valid = problem.validate(); !valid) return fail(std::move(valid.error()));
    if (problem.norm != Norm::None) {
        return fail(ErrorCode::InvalidArgument, "convolution {}: a run compares bare outputs, not normed ones",
                    problem.to_string());
    }
    std::mt19937_64 random(options.seed);
    const double fan_in = static_cast<double>(problem.filter_elements()) / static_cast<double>(problem.filter.k);
    const std::vector<float> filter = draw(problem.filter_elements(), std::sqrt(3 / fan_in), random);
    const std::vector<float> bias = draw(problem.bias ? problem.filter.k : 0, 0.1, random);
    const ConvParameters parameters{filter, bias};

    const std::int64_t outputs = problem.h_out() * problem.w_out() * problem.filter.k;
    const std::int64_t residual_frames = problem.residual ? problem.n * problem.d_out() : 0;
    auto input = allocate(device, "input", problem.n * problem.d, problem.h * problem.w * problem.c_in, problem.dtype);
    if (!input) return fail(std::move(input.error()));
    auto residual = allocate(device, "residual", residual_frames, outputs, problem.output_dtype);
    if (!residual) return fail(std::move(residual.error()));
    auto exact_residual = allocate(device, "reference residual", residual_frames, outputs, DType::F32);
    if (!exact_residual) return fail(std::move(exact_residual.error()));
    fill(*input, 1, random);
    fill(*residual, 1, random);
    copy_values(*residual, *exact_residual);

    ConvProblem exact = problem;
    exact.output_dtype = DType::F32;
    auto tested = Bound::create(device, problem, parameters, options.backend);
    if (!tested) return fail(std::move(tested.error()));
    auto reference = Bound::create(device, exact, parameters, "reference");
    if (!reference) return fail(std::move(reference.error()));
    auto stream = device.create_stream("conv");
    if (!stream) return fail(std::move(stream.error()));

    if (auto ran = reference->run(**stream, *input, *exact_residual); !ran) return fail(std::move(ran.error()));
    if (auto ran = tested->run(**stream, *input, *residual); !ran) return fail(std::move(ran.error()));
    ConvRun run;
    compare(tested->output, reference->output, run);

    std::vector<double> seconds;
    for (int i = 0; i < std::max(1, options.repeats); ++i) {
        const auto start = Clock::now();
        if (auto ran = tested->run(**stream, *input, *residual); !ran) return fail(std::move(ran.error()));
        seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
    run.seconds_median = seconds[seconds.size() / 2];
    run.tflops = problem.flops() / run.seconds_median / 1e12;
    run.workspace_bytes = tested->convolution->workspace_bytes();
    run.backend = tested->convolution->backend();
    return run;
}

}  // namespace kinetograph::conv
