#include <kinetograph/compute/nn/cuda/operators.hpp>
#include <kinetograph/compute/nn/hip/operators.hpp>
#include <kinetograph/compute/nn/operators.hpp>

namespace kinetograph::nn {
namespace {

class CpuOperators final : public Operators {
  public:
    explicit CpuOperators(const accel::DeviceInfo& device) : device_(device) {}

    Result<void> unpack_latent(accel::Stream& stream, std::string_view pass_name,
                               const UnpackLatent& work) const override {
        return enqueue_unpack_latent(stream, pass_name, work);
    }
    Result<void> rms_norm(accel::Stream& stream, std::string_view pass_name, const RmsNorm& work) const override {
        return enqueue_rms_norm(stream, pass_name, work);
    }
    Result<void> upsample_nearest2x(accel::Stream& stream, std::string_view pass_name,
                                    const UpsampleNearest2x& work) const override {
        return enqueue_upsample_nearest2x(stream, pass_name, work);
    }
    Result<void> depth_to_space(accel::Stream& stream, std::string_view pass_name,
                                const PixelShuffle& work) const override {
        return enqueue_depth_to_space(stream, pass_name, work);
    }
    Result<void> keep_frames(accel::Stream& stream, std::string_view pass_name, const KeepFrames& work) const override {
        return enqueue_keep_frames(stream, pass_name, work);
    }
    Result<void> store_float(accel::Stream& stream, std::string_view pass_name, const StoreFloat& work) const override {
        return enqueue_store_float(stream, pass_name, work);
    }
    Result<void> store_picture(accel::Stream& stream, std::string_view pass_name,
                               const StorePicture& work) const override {
        return enqueue_store_picture(stream, pass_name, work);
    }
    Result<std::unique_ptr<Attention>> attention(const AttentionProblem& problem) const override {
        return create_cpu_attention(device_, problem);
    }

  private:
    accel::DeviceInfo device_;
};

}  // namespace

Result<std::unique_ptr<Operators>> Operators::create(accel::Device& device) {
    const accel::DeviceInfo& info = device.info();
    if (info.is_host()) return std::make_unique<CpuOperators>(info);
    if (info.kind == "cuda") return cuda::create_operators(device);
    if (info.kind == "hip") return hip::create_operators(device);
    return fail(ErrorCode::Unsupported, "{} ({} {}): there are no decoder passes for it in this build", info.name,
                info.kind, info.architecture);
}

Result<void> enqueue_attention(const Operators& operators, const Attention& attention, const AttentionProblem& problem,
                               accel::Stream& stream, std::string_view pass_name, const AttentionTensors& tensors) {
    if (!problem.adds || attention.problem().adds) return attention.enqueue(stream, pass_name, tensors);
    AttentionTensors result = tensors;
    result.output = tensors.normed;
    KG_CHECK(attention.enqueue(stream, pass_name, result));
    const std::vector<const std::byte*> input(tensors.normed.begin(), tensors.normed.end());
    return operators.rms_norm(stream, pass_name,
                              {.input = input,
                               .output = tensors.normed,
                               .pixels = problem.tokens,
                               .channels = problem.channels,
                               .gamma = tensors.gamma,
                               .dtype = problem.dtype,
                               .activation = problem.norm_activation,
                               .sum = tensors.output});
}

}  // namespace kinetograph::nn
