#include <kinetograph/compute/conv/hip/four_wave.hpp>
#include <kinetograph/compute/conv/hip/launch_in_parts.hpp>
#include <kinetograph/compute/conv/hip/storage.hpp>
#include <kinetograph/engine/accel/upload.hpp>
#include <kinetograph/kernels/conv/tensors.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_launch.hpp>

#include <utility>

namespace kinetograph::conv::hip {
namespace {

using tensor::DType;

constexpr std::int64_t kMostNormedChannels = 256;  // of a pixel in the widest tile

/// On the device; convolutions over different numbers of frames share it.
struct Packed {
    std::unique_ptr<accel::Memory> filter, bias, gamma;  ///< bias and gamma may be null
};

Result<std::unique_ptr<accel::Memory>> upload_channels(accel::Device& device, std::string_view name,
                                                       const gfx950::FourWaveConvPlan& plan,
                                                       std::span<const float> values) {
    if (values.empty()) return nullptr;
    const std::vector<float> packed = gfx950::pack_channels(plan, values);
    return accel::upload(device, name, std::as_bytes(std::span(packed)));
}

class FourWaveConvolution final : public Convolution {
  public:
    FourWaveConvolution(const ConvProblem& problem, const gfx950::FourWaveConvPlan& plan,
                        std::shared_ptr<Kernels> kernels, std::shared_ptr<accel::Kernel> kernel,
                        std::shared_ptr<const Packed> packed)
        : Convolution(problem),
          plan_(plan),
          kernels_(std::move(kernels)),
          kernel_(std::move(kernel)),
          packed_(std::move(packed)) {}

    std::string_view backend() const override { return "four-wave"; }
    std::uint64_t workspace_bytes() const override {
        const ConvProblem& p = problem();
        const auto frames = static_cast<std::uint64_t>(p.n * p.d_out());
        return norms_apart() && p.norm == Norm::Instead ? frames * pitch() : 0;
    }
    std::unique_ptr<Convolution> with_frames(std::int64_t frames) const override {
        ConvProblem other = problem();
        other.d = frames;
        auto planned = gfx950::plan_four_wave_conv(four_wave_problem(other), {plan_.kernel->tile, plan_.kernel->path});
        if (!planned.plan) return nullptr;
        return std::make_unique<FourWaveConvolution>(other, *planned.plan, kernels_, kernel_, packed_);
    }

  private:
    bool norms_apart() const { return problem().norm != Norm::None && !plan_.problem.norm; }
    std::uint64_t pitch() const { return workspace_part(problem().output_frame_bytes()); }

    /// Input frames of every output frame and tap; null where the tap lies in the padding.
    std::vector<const void*> tap_frames(std::span<const std::byte* const> input) const {
        const ConvProblem& p = problem();
        std::vector<const void*> frames;
        frames.reserve(static_cast<std::size_t>(p.n * p.d_out() * p.filter.q));
        for (std::int64_t sample = 0; sample < p.n; ++sample)
            for (std::int64_t t = 0; t < p.d_out(); ++t)
                for (std::int64_t q = 0; q < p.filter.q; ++q) {
                    const std::int64_t frame = t * p.stride.d + q * p.dilation.d - p.pad.front;
                    frames.push_back(frame >= 0 && frame < p.d ? input[sample * p.d + frame] : nullptr);
                }
        return frames;
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        std::vector<std::byte*> output(tensors.output.begin(), tensors.output.end());
        if (norms_apart() && problem().norm == Norm::Instead)
            for (std::size_t i = 0; i < tensors.normed.size(); ++i) output.push_back(tensors.workspace + i * pitch());
        const auto input = tap_frames(tensors.input);
        const std::vector<void*> stored(output.begin(), output.end());
        const std::vector<void*> normed(tensors.normed.begin(), tensors.normed.end());
        const std::vector<const void*> source(tensors.residual.begin(), tensors.residual.end());
        for (const gfx950::FourWaveConvLaunch& launch :
             gfx950::launches(plan_, {.input = input,
                                     .output = stored,
                                     .source = source,
                                     .normed = normed,
                                     .filter = packed_->filter->data(),
                                     .bias = packed_->bias ? packed_->bias->data() : nullptr,
                                     .gamma = packed_->gamma ? packed_->gamma->data() : nullptr})) {
            stream.launch({pass_name,
                           *kernel_,
                           {launch.workgroups, 1, 1},
                           {plan_.threads, 1, 1},
                           {},
                           0,
                           accel::bytes_of(launch.params)});
        }
        return norms_apart() ? norm(stream, pass_name, output, tensors.normed) : Result<void>{};
    }

    Result<void> norm(accel::Stream& stream, std::string_view pass_name, const std::vector<std::byte*>& output,
                      std::span<std::byte* const> normed) const {
        const ConvProblem& p = problem();
        KG_TRY(auto storage, storage_of(p.output_dtype, pass_name));
        const std::vector<const std::byte*> input(output.begin(), output.end());
        return launch_in_parts(*kernels_, stream, pass_name,
                               gfx950::RmsNormProblem{.pixels = p.h_out() * p.w_out(),
                                                      .channels = p.filter.k,
                                                      .storage = storage,
                                                      .silu = p.norm_activation == Activation::Silu},
                               input, normed, [&](const auto& work, const auto& frames) {
                                   return gfx950::make_params(work, frames,
                                                              reinterpret_cast<const float*>(packed_->gamma->data()));
                               });
    }

    gfx950::FourWaveConvPlan plan_;
    std::shared_ptr<Kernels> kernels_;
    std::shared_ptr<accel::Kernel> kernel_;
    std::shared_ptr<const Packed> packed_;
};

}  // namespace

std::optional<Element> element_of(DType dtype) {
    if (dtype == DType::BF16) return Element::BF16;
    if (dtype == DType::F16) return Element::F16;
    if (dtype == DType::F8E4M3) return Element::F8E4M3;
    return std::nullopt;
}

gfx950::FourWaveConvProblem four_wave_problem(const ConvProblem& p) {
    const bool norm = p.norm != Norm::None && p.filter.k <= kMostNormedChannels && p.output_dtype != DType::F32;
    return {.element = *element_of(p.dtype),
            .frames = p.n * p.d_out(),
            .h = p.h,
            .w = p.w,
            .c_in = p.c_in,
            .upsample = p.upsample,
            .c_out = p.filter.k,
            .q = p.filter.q,
            .r = p.filter.r,
            .s = p.filter.s,
            .stride_h = p.stride.h,
            .stride_w = p.stride.w,
            .dilation_h = p.dilation.h,
            .dilation_w = p.dilation.w,
            .pad_top = p.pad.top,
            .pad_bottom = p.pad.bottom,
            .pad_left = p.pad.left,
            .pad_right = p.pad.right,
            .groups = p.groups,
            .bias = p.bias,
            .silu = p.activation == Activation::Silu,
            .source = p.residual,
            .beta = p.beta,
            .output = p.norm != Norm::Instead || !norm,
            .output_f32 = p.output_dtype == DType::F32,
            .norm = norm,
            .norm_silu = p.norm_activation == Activation::Silu};
}

Result<std::unique_ptr<Convolution>> create_four_wave(accel::Device& device, const ConvProblem& problem,
                                                      const ConvParameters& parameters) {
    auto planned = gfx950::plan_four_wave_conv(four_wave_problem(problem));
    if (!planned.plan) return fail(ErrorCode::Unsupported, "{}", planned.error);
    const gfx950::FourWaveConvPlan& plan = *planned.plan;
    auto kernels = Kernels::of(device);
    KG_TRY(auto kernel, kernels->get(plan.kernel->code_object, plan.kernel->name));

    auto packed = std::make_shared<Packed>();
    KG_TRY(auto filter, accel::upload(device, "filter", gfx950::pack_filter(plan, parameters.filter)));
    KG_TRY(auto bias, upload_channels(device, "bias", plan, parameters.bias));
    KG_TRY(auto gamma, upload_channels(device, "gamma", plan, parameters.gamma));
    packed->filter = std::move(filter);
    packed->bias = std::move(bias);
    packed->gamma = std::move(gamma);
    return std::make_unique<FourWaveConvolution>(problem, plan, std::move(kernels), std::move(kernel),
                                                 std::move(packed));
}

}  // namespace kinetograph::conv::hip
