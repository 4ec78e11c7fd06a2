#include <kinetograph/compute/conv/cuda/launch.hpp>
#include <kinetograph/compute/nn/cuda/operators.hpp>
#include <kinetograph/compute/nn/planned_attention.hpp>

#include <array>
#include <cmath>

namespace kinetograph::nn::cuda {
namespace {

using conv::cuda::launch_frames;
using conv::cuda::launch_pass;
using tensor::DType;

constexpr std::array kTypes{DType::BF16, DType::F16, DType::F32};
constexpr std::array<std::uint32_t, 3> kUpsampleUnits{16, 4, 2};  // bytes, as sm80::upsample_unit gives them
constexpr std::array<std::uint32_t, 2> kElementBytes{4, 2};

std::uint32_t u32(std::int64_t value) { return static_cast<std::uint32_t>(value); }

/// One pass's kernels for each of kTypes.
struct TypedKernels {
    std::array<std::shared_ptr<accel::Kernel>, kTypes.size()> of_type;

    /// Null for a type that has none.
    accel::Kernel* find(DType dtype) const {
        for (std::size_t i = 0; i < kTypes.size(); ++i)
            if (kTypes[i] == dtype) return of_type[i].get();
        return nullptr;
    }
};

Result<std::shared_ptr<accel::Kernel>> load(const conv::Kernels& kernels, const std::string& name) {
    return kernels.get("frame_passes", "sm80_" + name);
}

Result<void> load(const conv::Kernels& kernels, std::string_view pass, TypedKernels& loaded) {
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
        KG_TRY(auto kernel, load(kernels, fmt::format("{}_{}", pass, element_name(kTypes[i]))));
        loaded.of_type[i] = std::move(kernel);
    }
    return {};
}

/// The kernel for frames of `dtype`. Errors: InvalidArgument (a type that has none; numbers of frames that differ).
Result<accel::Kernel*> kernel_for(const TypedKernels& kernels, DType dtype, std::string_view pass_name,
                                  std::size_t inputs, std::size_t outputs) {
    if (inputs != outputs)
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} input and {} output frames", pass_name, inputs,
                    outputs);
    accel::Kernel* kernel = kernels.find(dtype);
    if (kernel == nullptr)
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": frames of {}, wanted F32, BF16 or F16", pass_name,
                    tensor::to_string(dtype));
    return kernel;
}

class CudaOperators final : public Operators {
  public:
    explicit CudaOperators(accel::Device& device) : kernels_(device) {}

    Result<void> load_kernels() {
        for (const auto& [pass, loaded] : {std::pair<std::string_view, TypedKernels*>{"unpack_latent", &unpack_},
                                           {"rms_norm", &norm_},
                                           {"store_float", &store_float_},
                                           {"store_picture", &store_picture_}})
            KG_CHECK(load(kernels_, pass, *loaded));
        for (std::size_t i = 0; i < kUpsampleUnits.size(); ++i) {
            KG_TRY(auto kernel, load(kernels_, fmt::format("upsample_{}", kUpsampleUnits[i])));
            upsample_[i] = std::move(kernel);
        }
        for (std::size_t i = 0; i < kElementBytes.size(); ++i) {
            KG_TRY(auto kernel, load(kernels_, fmt::format("depth_to_space_{}", kElementBytes[i])));
            depth_to_space_[i] = std::move(kernel);
        }
        KG_TRY(keep_, load(kernels_, "keep_frames"));
        return {};
    }

    Result<void> unpack_latent(accel::Stream& stream, std::string_view pass_name,
                               const UnpackLatent& work) const override {
        KG_CHECK(check_latent_dtype(pass_name, work.latent_dtype));
        KG_TRY(auto kernel, kernel_for(unpack_, work.dtype, pass_name, 1, 1));
        launch_frames(stream, pass_name, *kernel,
                      sm80::UnpackLatentParams{.frames = {},
                                               .map = work.map,
                                               .pixels = u32(work.pixels),
                                               .channels = u32(work.channels),
                                               .soft_limit = work.soft_limit,
                                               .latent = work.latent_dtype},
                      std::span(&work.latent, 1), std::span(&work.output, 1), [&](std::uint32_t frames) {
                          return sm80::unpack_latent_launch(u32(work.pixels), u32(work.channels), frames);
                      });
        return {};
    }

    Result<void> rms_norm(accel::Stream& stream, std::string_view pass_name, const RmsNorm& work) const override {
        if (work.gamma == nullptr)
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": RMS norm without gamma", pass_name);
        KG_CHECK(check_sums(pass_name, work));
        KG_TRY(auto kernel, kernel_for(norm_, work.dtype, pass_name, work.input.size(), work.output.size()));
        sm80::RmsNormParams params{.frames = {},
                                   .gamma = work.gamma,
                                   .pixels = u32(work.pixels),
                                   .channels = u32(work.channels),
                                   .silu = work.activation == Activation::Silu,
                                   .sqrt_channels = std::sqrt(static_cast<float>(work.channels))};
        const std::size_t together = work.sum.empty() ? work.input.size() : 1;
        for (std::size_t i = 0; i < work.input.size(); i += together) {
            if (!work.sum.empty()) params.sum = work.sum[i];
            launch_frames(stream, pass_name, *kernel, params, work.input.subspan(i, together),
                          work.output.subspan(i, together),
                          [&](std::uint32_t frames) { return sm80::rms_norm_launch(u32(work.pixels), frames); });
        }
        return {};
    }

    Result<void> upsample_nearest2x(accel::Stream& stream, std::string_view pass_name,
                                    const UpsampleNearest2x& work) const override {
        if (work.input.size() != work.output.size())
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} input and {} output frames", pass_name,
                        work.input.size(), work.output.size());
        const std::uint32_t pixel_bytes = u32(work.channels * tensor::bytes_per_element(work.dtype));
        const std::uint32_t unit = sm80::upsample_unit(pixel_bytes), units = pixel_bytes / unit;
        const std::uint32_t row = u32(work.width) * units;
        for (std::size_t i = 0; i < kUpsampleUnits.size(); ++i)
            if (kUpsampleUnits[i] == unit)
                launch_frames(
                    stream, pass_name, *upsample_[i],
                    sm80::UpsampleParams{.frames = {}, .row_units = row, .pixel_units = units}, work.input, work.output,
                    [&](std::uint32_t frames) { return sm80::upsample_launch(row, u32(work.height), frames); });
        return {};
    }

    Result<void> depth_to_space(accel::Stream& stream, std::string_view pass_name,
                                const PixelShuffle& work) const override {
        KG_CHECK(check(pass_name, work));
        const auto bytes = u32(tensor::bytes_per_element(work.dtype));
        const auto* size = std::ranges::find(kElementBytes, bytes);
        if (size == kElementBytes.end())
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": channels of {} to pixels, wanted F32, BF16 or F16",
                        pass_name, tensor::to_string(work.dtype));
        launch_frames(stream, pass_name, *depth_to_space_[static_cast<std::size_t>(size - kElementBytes.begin())],
                      sm80::DepthToSpaceParams{.frames = {},
                                               .width = u32(work.width),
                                               .channels_in = u32(work.channels_in),
                                               .channels_out = u32(work.channels_out),
                                               .order = work.order},
                      work.input, work.output, [&](std::uint32_t frames) {
                          return sm80::depth_to_space_launch(u32(work.width), u32(work.height), u32(work.channels_out),
                                                             bytes, frames);
                      });
        return {};
    }

    /// One kernel for all frames: a device-to-device copy of a CUDA graph costs its launch and the GPU more than one.
    Result<void> keep_frames(accel::Stream& stream, std::string_view pass_name, const KeepFrames& work) const override {
        KG_CHECK(check(pass_name, work));
        const auto aligned = [](const std::byte* frame) {
            return reinterpret_cast<std::uintptr_t>(frame) % sm80::kKeepUnit == 0;
        };
        const bool whole = work.frame_bytes % sm80::kKeepUnit == 0 && work.kept.size() <= sm80::kMaxKept &&
                           std::ranges::all_of(work.kept, aligned) && std::ranges::all_of(work.fresh, aligned);
        if (!whole) return enqueue_keep_frames(stream, pass_name, work);
        sm80::KeepFramesParams params{.input = {},
                                      .output = {},
                                      .frames = static_cast<std::uint32_t>(work.kept.size()),
                                      .units = static_cast<std::uint32_t>(work.frame_bytes / sm80::kKeepUnit)};
        for (std::size_t i = 0; i < work.kept.size(); ++i) {
            params.output[i] = work.kept[i];
            params.input[i] = work.source(i);
        }
        launch_pass(stream, pass_name, *keep_, sm80::elements_launch(params.units, 1), params);
        return {};
    }

    Result<void> store_float(accel::Stream& stream, std::string_view pass_name, const StoreFloat& work) const override {
        KG_CHECK(check_stored_dtype(pass_name, work.output_dtype));
        KG_TRY(auto kernel, kernel_for(store_float_, work.dtype, pass_name, work.input.size(), work.input.size()));
        std::vector<std::byte*> output;
        output.reserve(work.input.size());
        for (std::size_t i = 0; i < work.input.size(); ++i) output.push_back(stored_frame(work, i));
        launch_frames(stream, pass_name, *kernel,
                      sm80::StoreFloatParams{.frames = {},
                                             .elements = u32(work.elements),
                                             .limit = work.limit,
                                             .not_finite = work.not_finite,
                                             .output = work.output_dtype},
                      work.input, output,
                      [&](std::uint32_t frames) { return sm80::elements_launch(u32(work.elements), frames); });
        return {};
    }

    Result<void> store_picture(accel::Stream& stream, std::string_view pass_name,
                               const StorePicture& work) const override {
        KG_TRY(auto kernel, kernel_for(store_picture_, work.dtype, pass_name, work.input.size(), work.output.size()));
        launch_frames(stream, pass_name, *kernel,
                      sm80::StorePictureParams{.frames = {}, .pixels = u32(work.pixels), .not_finite = work.not_finite},
                      work.input, work.output,
                      [&](std::uint32_t frames) { return sm80::elements_launch(u32(work.pixels), frames); });
        return {};
    }

    Result<std::unique_ptr<Attention>> attention(const AttentionProblem& problem) const override {
        return create_planned_attention(kernels_, problem);
    }

  private:
    conv::Kernels kernels_;
    TypedKernels unpack_, norm_, store_float_, store_picture_;
    std::array<std::shared_ptr<accel::Kernel>, kUpsampleUnits.size()> upsample_;
    std::array<std::shared_ptr<accel::Kernel>, kElementBytes.size()> depth_to_space_;
    std::shared_ptr<accel::Kernel> keep_;
};

}  // namespace

Result<std::unique_ptr<Operators>> create_operators(accel::Device& device) {
    auto operators = std::make_unique<CudaOperators>(device);
    KG_CHECK(operators->load_kernels());
    return operators;
}

}  // namespace kinetograph::nn::cuda
