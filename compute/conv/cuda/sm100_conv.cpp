#include <kinetograph/compute/conv/cuda/frame_runs.hpp>
#include <kinetograph/compute/conv/cuda/norm_pass.hpp>
#include <kinetograph/compute/conv/cuda/parameters.hpp>
#include <kinetograph/compute/conv/cuda/sm100_conv.hpp>
#include <kinetograph/compute/conv/cuda/sm100_launch.hpp>
#include <kinetograph/compute/conv/cuda/sm100_problem.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace kinetograph::conv::cuda {
namespace {

/// What is chosen, loaded and packed once for any number of frames.
struct Bound {
    std::string_view backend;
    std::optional<Sm100Kernel> frames;  ///< one temporal tap: dense images
    std::optional<Sm100Kernel> volume;  ///< more: dense volumes, where a map's corners reach
    std::optional<Sm100Kernel> window;  ///< more: frames that lie anywhere
    std::optional<NormPass> norm;
    DeviceParameters packed;
};

template <class To, class From>
std::vector<To> addresses(std::span<From* const> frames) {
    std::vector<To> all;
    all.reserve(frames.size());
    // Tensor maps have no const: the same description serves loads and stores.
    for (From* frame : frames) all.push_back(const_cast<std::byte*>(frame));
    return all;
}

class Sm100Conv final : public Convolution {
  public:
    Sm100Conv(const ConvProblem& problem, std::shared_ptr<const Bound> bound)
        : Convolution(problem), bound_(std::move(bound)) {}
    std::string_view backend() const override { return bound_->backend; }
    std::uint64_t workspace_bytes() const override { return 0; }
    std::unique_ptr<Convolution> with_frames(std::int64_t frames) const override {
        ConvProblem other = problem();
        other.d = frames;
        const auto form = bound_->frames ? sm100::Activation::Frames2d : sm100::Activation::Window3d;
        if (!declined_by_sm100(sm100::gates(form), other).empty()) return nullptr;
        return std::make_unique<Sm100Conv>(other, bound_);
    }

  private:
    struct Frames {
        std::span<const std::byte*const> input, residual;
        std::span<std::byte* const> output;
    };

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        // The output that nobody else wants is normed where it lies.
        const auto stored = problem().norm == Norm::Instead ? tensors.normed : tensors.output;
        const Frames frames{tensors.input, tensors.residual, stored};
        auto convolved = bound_->frames ? images(stream, pass_name, frames) : volume(stream, pass_name, frames);
        if (!convolved) return convolved;
        if (bound_->norm)
            bound_->norm->enqueue(stream, pass_name, problem(), floats(bound_->packed.gamma), stored, tensors.normed);
        return {};
    }

    Result<void> images(accel::Stream& stream, std::string_view pass_name, Frames left) const {
        while (!left.input.empty()) {
            std::size_t count = adjoining(left.input, problem().input_frame_bytes());
            count = std::min(count, adjoining(left.output, problem().output_frame_bytes()));
            if (problem().residual) count = std::min(count, adjoining(left.residual, problem().output_frame_bytes()));
            sm100::Conv2dProblemShape shape = sm100_shape(problem());
            shape.n = static_cast<std::int64_t>(count);
            shape.d = 1;
            const std::size_t sources = std::min<std::size_t>(left.residual.size(), 1);
            auto launched = launch(stream, pass_name, *bound_->frames, shape,
                                   {left.input.first(1), left.residual.first(sources), left.output.first(1)});
            if (!launched) return launched;
            left = {left.input.subspan(count), left.residual.subspan(sources * count), left.output.subspan(count)};
        }
        return {};
    }

    Result<void> volume(accel::Stream& stream, std::string_view pass_name, const Frames& frames) const {
        const bool dense = bound_->volume && all_adjoin(frames.input, problem().input_frame_bytes()) &&
                           all_adjoin(frames.output, problem().output_frame_bytes()) &&
                           all_adjoin(frames.residual, problem().output_frame_bytes());
        if (!dense) return launch(stream, pass_name, *bound_->window, sm100_shape(problem()), frames);
        const std::size_t sources = std::min<std::size_t>(frames.residual.size(), 1);
        return launch(stream, pass_name, *bound_->volume, sm100_shape(problem()),
                      {frames.input.first(1), frames.residual.first(sources), frames.output.first(1)});
    }

    Result<void> launch(accel::Stream& stream, std::string_view pass_name, const Sm100Kernel& kernel,
                        const sm100::Conv2dProblemShape& shape, const Frames& frames) const {
        const auto input = addresses<void*>(frames.input), output = addresses<void*>(frames.output);
        const auto residual = addresses<void*>(frames.residual);
        return kernel.enqueue(
            stream, pass_name,
            sm100::plan_launch(
                kernel.config(), shape,
                {.activation = input, .filter = bound_->packed.filter->data(), .output = output, .source = residual}),
            {.bias = floats(bound_->packed.bias), .beta = problem().residual ? problem().beta : 0});
    }

    std::shared_ptr<const Bound> bound_;
};

sm100::Source source_of(const ConvProblem& problem) {
    return problem.residual ? sm100::Source::Residual : sm100::Source::None;
}

sm100::EntryFunction function_of(const ConvProblem& problem) {
    return problem.activation == Activation::Silu ? sm100::EntryFunction::SiluInRegisters : sm100::EntryFunction::None;
}

/// The kernel that estimates say is best for the form.
Result<Sm100Kernel> choose(const std::shared_ptr<Kernels>& kernels, const ConvProblem& problem,
                           sm100::Activation activation) {
    sm100::Conv2dProblemShape shape = sm100_shape(problem);
    if (activation == sm100::Activation::Frames2d) {
        shape.n *= shape.d;
        shape.d = 1;
    }
    return Sm100Kernel::create(
        kernels, sm100::choose_entry(
                     shape, {.activation = activation, .source = source_of(problem), .function = function_of(problem)},
                     sm100_rates(kernels->device().info())));
}

/// Packs and adds the norm.
Result<std::unique_ptr<Convolution>> finish(accel::Device& device, const ConvProblem& problem,
                                            const ConvParameters& parameters, std::shared_ptr<Bound> bound) {
    if (problem.norm != Norm::None) {
        KG_TRY(bound->norm, NormPass::create(*Kernels::of(device), problem));
    }
    KG_TRY(bound->packed, upload_parameters(device, sm100_filter(problem, parameters.filter), parameters));
    return std::make_unique<Sm100Conv>(problem, std::move(bound));
}

}  // namespace

Result<std::unique_ptr<Convolution>> create_conv2d_sm100(accel::Device& device, const ConvProblem& problem,
                                                         const ConvParameters& parameters) {
    const auto kernels = Kernels::of(device);
    auto bound = std::make_shared<Bound>();
    bound->backend = "conv2d-sm100";
    KG_TRY(bound->frames, choose(kernels, problem, sm100::Activation::Frames2d));
    return finish(device, problem, parameters, std::move(bound));
}

Result<std::unique_ptr<Convolution>> create_conv3d_sm100(accel::Device& device, const ConvProblem& problem,
                                                         const ConvParameters& parameters) {
    const auto kernels = Kernels::of(device);
    auto bound = std::make_shared<Bound>();
    bound->backend = "conv3d-sm100";
    KG_TRY(bound->window, choose(kernels, problem, sm100::Activation::Window3d));
    if (declined_by_sm100(sm100::gates(sm100::Activation::Volume3d), problem).empty()) {
        KG_TRY(bound->volume, choose(kernels, problem, sm100::Activation::Volume3d));
    }
    return finish(device, problem, parameters, std::move(bound));
}

}  // namespace kinetograph::conv::cuda
