#include <kinetograph/compute/conv/hip/launch_in_parts.hpp>
#include <kinetograph/compute/conv/hip/storage.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/nn/hip/operators.hpp>
#include <kinetograph/compute/nn/planned_attention.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_values_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_launch.hpp>

namespace kinetograph::nn::hip {
namespace {

using conv::Kernels;
using conv::hip::launch_in_parts;
using conv::hip::storage_of;

class HipOperators final : public Operators {
  public:
    explicit HipOperators(accel::Device& device) : kernels_(device) {}

    Result<void> unpack_latent(accel::Stream& stream, std::string_view pass_name,
                               const UnpackLatent& work) const override {
        KG_CHECK(check_latent_dtype(pass_name, work.latent_dtype));
        KG_TRY(auto storage, storage_of(work.dtype, pass_name));
        return launch_in_parts(
            kernels_, stream, pass_name,
            gfx950::UnpackLatentProblem{.pixels = work.pixels,
                                        .channels = work.channels,
                                        .storage = storage,
                                        .soft_limit = work.soft_limit,
                                        .latent = work.latent_dtype},
            std::span(&work.latent, 1), std::span(&work.output, 1),
            [&](const auto& problem, const auto& frames) { return gfx950::make_params(problem, frames, work.map); });
    }

    Result<void> rms_norm(accel::Stream& stream, std::string_view pass_name, const RmsNorm& work) const override {
        KG_TRY(auto storage, storage_of(work.dtype, pass_name));
        KG_CHECK(check_sums(pass_name, work));
        if (work.input.size() != work.output.size() || work.gamma == nullptr)
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": RMS norm of {} input and {} output frames{}",
                        pass_name, work.input.size(), work.output.size(),
                        work.gamma == nullptr ? " without gamma" : "");
        const std::size_t together = work.sum.empty() ? work.input.size() : 1;
        for (std::size_t i = 0; i < work.input.size(); i += together)
            KG_CHECK(launch_in_parts(kernels_, stream, pass_name,
                                     gfx950::RmsNormProblem{.pixels = work.pixels,
                                                            .channels = work.channels,
                                                            .storage = storage,
                                                            .silu = work.activation == Activation::Silu},
                                     work.input.subspan(i, together), work.output.subspan(i, together),
                                     [&](const auto& problem, const auto& frames) {
                                         return gfx950::make_params(problem, frames, work.gamma,
                                                                    work.sum.empty() ? nullptr : work.sum[i]);
                                     }));
        return {};
    }

    Result<void> upsample_nearest2x(accel::Stream& stream, std::string_view pass_name,
                                    const UpsampleNearest2x& work) const override {
        KG_TRY(auto storage, storage_of(work.dtype, pass_name));
        if (work.input.size() != work.output.size())
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": upsampling of {} input to {} output frames",
                        pass_name, work.input.size(), work.output.size());
        return launch_in_parts(
            kernels_, stream, pass_name,
            gfx950::UpsampleProblem{
                .height = work.height, .width = work.width, .channels = work.channels, .storage = storage},
            work.input, work.output,
            [](const auto& problem, const auto& frames) { return gfx950::make_params(problem, frames); });
    }

    Result<void> depth_to_space(accel::Stream& stream, std::string_view pass_name,
                                const PixelShuffle& work) const override {
        KG_TRY(auto storage, storage_of(work.dtype, pass_name));
        KG_CHECK(check(pass_name, work));
        return launch_in_parts(kernels_, stream, pass_name,
                               gfx950::DepthToSpaceProblem{.height = work.height,
                                                           .width = work.width,
                                                           .channels_in = work.channels_in,
                                                           .channels_out = work.channels_out,
                                                           .order = work.order,
                                                           .storage = storage},
                               work.input, work.output, [](const auto& problem, const auto& frames) {
                                   return gfx950::make_params(problem, frames);
                               });
    }

    Result<void> keep_frames(accel::Stream& stream, std::string_view pass_name, const KeepFrames& work) const override {
        return enqueue_keep_frames(stream, pass_name, work);
    }

    Result<void> store_float(accel::Stream& stream, std::string_view pass_name, const StoreFloat& work) const override {
        KG_CHECK(check_stored_dtype(pass_name, work.output_dtype));
        KG_TRY(auto storage, storage_of(work.dtype, pass_name));
        std::vector<std::byte*> output;
        for (std::size_t i = 0; i < work.input.size(); ++i) output.push_back(stored_frame(work, i));
        return launch_in_parts(kernels_, stream, pass_name,
                               gfx950::StoreFloatProblem{.pixels = work.elements,
                                                         .channels = 1,
                                                         .storage = storage,
                                                         .planar = false,
                                                         .limit = work.limit,
                                                         .not_finite = work.not_finite,
                                                         .output = work.output_dtype},
                               work.input, output, [](const auto& problem, const auto& frames) {
                                   return gfx950::make_params(problem, frames);
                               });
    }

    Result<void> store_picture(accel::Stream& stream, std::string_view pass_name,
                               const StorePicture& work) const override {
        KG_TRY(auto storage, storage_of(work.dtype, pass_name));
        if (work.input.size() != work.output.size())
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} frames of {} pixels stored as {} pictures",
                        pass_name, work.input.size(), work.pixels, work.output.size());
        return launch_in_parts(
            kernels_, stream, pass_name,
            gfx950::StorePictureProblem{.pixels = work.pixels, .storage = storage, .not_finite = work.not_finite},
            work.input, work.output,
            [](const auto& problem, const auto& frames) { return gfx950::make_params(problem, frames); });
    }

    Result<std::unique_ptr<Attention>> attention(const AttentionProblem& problem) const override {
        return create_planned_attention(kernels_, problem);
    }

  private:
    Kernels kernels_;
};

}  // namespace

Result<std::unique_ptr<Operators>> create_operators(accel::Device& device) {
    const std::string_view architecture = device.info().architecture;
    std::string chips;
    for (const conv::KnownDevice& known : conv::known_devices()) {
        if (known.kind != "hip") continue;
        if (architecture.substr(0, architecture.find(':')) == known.architecture)
            return std::make_unique<HipOperators>(device);
        chips += fmt::format("{}{}", chips.empty() ? "" : ", ", known.architecture);
    }
    return fail(ErrorCode::Unsupported, "{} is {}: the decoder's kernels for HIP are built for {}", device.info().name,
                architecture, chips);
}

}  // namespace kinetograph::nn::hip
