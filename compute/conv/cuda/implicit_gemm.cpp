#include <kinetograph/compute/conv/cuda/implicit_gemm.hpp>
#include <kinetograph/compute/conv/cuda/norm_pass.hpp>
#include <kinetograph/compute/conv/cuda/parameters.hpp>
#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_filter.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_launch.hpp>

#include <utility>

namespace kinetograph::conv::cuda {
namespace {

using tensor::DType;

sm80::Norm norm_of(Norm norm) {
    switch (norm) {
        case Norm::None:
            return sm80::Norm::None;
        case Norm::Beside:
            return sm80::Norm::Beside;
        case Norm::Instead:
            return sm80::Norm::Instead;
    }
    return sm80::Norm::None;
}

/// The problem's epilogue, without the norm where no tile holds all channels.
sm80::ConvEpilogue epilogue_in_tile(const ConvProblem& p, const sm80::ConvShape& shape) {
    sm80::ConvEpilogue epilogue = epilogue_of(p);
    if (!sm80::declined(shape, epilogue).empty()) epilogue.norm = sm80::Norm::None;
    return epilogue;
}

/// What is compiled, chosen and packed once for any number of frames.
struct Bound {
    sm80::ConvConfig config;
    sm80::ConvEpilogue epilogue;
    std::shared_ptr<accel::Kernel> kernel;
    std::optional<NormPass> norm;  ///< behind the convolution; none where the tile norms or nothing does
    DeviceParameters packed;
    std::shared_ptr<Kernels> kernels;  ///< keeps the modules loaded for the next one
};

class ImplicitGemm final : public Convolution {
  public:
    ImplicitGemm(const ConvProblem& problem, std::shared_ptr<const Bound> bound)
        : Convolution(problem), shape_(sm80_shape(problem)), bound_(std::move(bound)) {}

    std::string_view backend() const override { return "implicit-gemm"; }
    std::uint64_t workspace_bytes() const override { return 0; }
    std::unique_ptr<Convolution> with_frames(std::int64_t frames) const override {
        ConvProblem other = problem();
        other.d = frames;
        return std::make_unique<ImplicitGemm>(other, bound_);
    }

  private:
    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        // With the norm in a pass of its own, the output that nobody else wants is normed where it lies.
        const bool in_place = bound_->norm.has_value() && problem().norm == Norm::Instead;
        const auto stored = in_place ? tensors.normed : tensors.output;
        const std::vector<const void*> input(tensors.input.begin(), tensors.input.end());
        const std::vector<const void*> residual(tensors.residual.begin(), tensors.residual.end());
        const std::vector<void*> output(stored.begin(), stored.end());
        const std::vector<void*> normed(tensors.normed.begin(), tensors.normed.end());
        for (const sm80::ConvLaunch& launch :
             sm80::plan_conv(bound_->config, shape_, bound_->epilogue,
                             {.input = input,
                             .output = output,
                             .residual = residual,
                             .normed = bound_->norm ? std::span<void* const>{} : std::span(normed),
                             .filter = bound_->packed.filter->data(),
                             .bias = floats(bound_->packed.bias),
                             .gamma = floats(bound_->packed.gamma)})) {
            stream.launch({pass_name,
                           *bound_->kernel,
                           {launch.grid[0], launch.grid[1], 1},
                           {launch.threads, 1, 1},
                           {},
                           launch.shared_bytes,
                           accel::bytes_of(launch.params)});
        }
        if (bound_->norm)
            bound_->norm->enqueue(stream, pass_name, problem(), floats(bound_->packed.gamma), stored, tensors.normed);
        return {};
    }

    sm80::ConvShape shape_;
    std::shared_ptr<const Bound> bound_;
};

Result<void> load_kernels(Bound& bound, const ConvProblem& problem, const sm80::NamedConvConfig& named) {
    KG_TRY(bound.kernel, bound.kernels->get(binary_of(named.config.element), named.kernel));
    if (norm_of(problem.norm) == bound.epilogue.norm) return {};
    KG_TRY(bound.norm, NormPass::create(*bound.kernels, problem));
    return {};
}

}  // namespace

std::optional<Element> element_of(DType dtype) {
    if (dtype == DType::BF16) return Element::BF16;
    if (dtype == DType::F16) return Element::F16;
    return std::nullopt;
}

sm80::ConvShape sm80_shape(const ConvProblem& p) {
    sm80::ConvShape shape{.n = p.n,
                          .d = p.d,
                          .h = p.h,
                          .w = p.w,
                          .c_in = p.c_in,
                          .c_out = p.filter.k,
                          .q = p.filter.q,
                          .r = p.filter.r,
                          .s = p.filter.s,
                          .stride = {p.stride.d, p.stride.h, p.stride.w},
                          .dilation = {p.dilation.d, p.dilation.h, p.dilation.w},
                          .pad_front = {p.pad.front, p.pad.top, p.pad.left},
                          .pad_back = {p.pad.back, p.pad.bottom, p.pad.right},
                          .upsample = sm80::Upsample::None,
                          .element = *element_of(p.dtype)};
    if (p.upsample) {
        shape.upsample = sm80::Upsample::SubPixel;
        if (!sm80::declined(shape, {}).empty()) shape.upsample = sm80::Upsample::Nearest2x;
    }
    return shape;
}

sm80::ConvEpilogue epilogue_of(const ConvProblem& p) {
    return {.silu = p.activation == Activation::Silu,
            .beta = p.beta,
            .norm = norm_of(p.norm),
            .norm_silu = p.norm_activation == Activation::Silu,
            .float32 = p.output_dtype == DType::F32};
}

sm80::ConvChip chip_of(const accel::DeviceInfo& device) {
    constexpr std::uint32_t kOfTheSystem = 1024;  // what a block cannot have of an SM's shared memory
    return {device.compute_units, device.shared_bytes_per_block + kOfTheSystem};
}

std::string_view binary_of(Element element) { return element == Element::BF16 ? "conv_bf16" : "conv_f16"; }

std::string declined_by_sm80(const ConvProblem& problem) { return sm80::declined(sm80_shape(problem), {}); }

Result<std::unique_ptr<Convolution>> create_implicit_gemm(accel::Device& device, const ConvProblem& problem,
                                                          const ConvParameters& parameters) {
    const sm80::ConvShape shape = sm80_shape(problem);
    auto bound = std::make_shared<Bound>();
    bound->epilogue = epilogue_in_tile(problem, shape);
    bound->kernels = Kernels::of(device);
    const sm80::NamedConvConfig& named = sm80::choose_config(shape, bound->epilogue, chip_of(device.info()));
    bound->config = named.config;
    KG_CHECK(load_kernels(*bound, problem, named));
    const std::vector<std::uint16_t> rows = sm80::pack_filter(shape, parameters.filter.data());
    KG_TRY(bound->packed, upload_parameters(device, std::as_bytes(std::span(rows)), parameters));
    return std::make_unique<ImplicitGemm>(problem, std::move(bound));
}

}  // namespace kinetograph::conv::cuda
