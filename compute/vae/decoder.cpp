#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/compute/vae/layer_stack.hpp>

#include <optional>

namespace kinetograph::vae {

std::string_view to_string(Precision precision) {
    switch (precision) {
        case Precision::Fp32:
            return "fp32";
        case Precision::Bf16:
            return "bf16";
        case Precision::Fp16:
            return "fp16";
        case Precision::Fp8:
            return "fp8";
    }
    return "?";
}

namespace {

constexpr std::int64_t kLargestSide = 1024;  // latent pixels: 8192 pixels of video

/// What activations are stored in; nothing where the lane has no such passes.
std::optional<tensor::DType> dtype_of(Precision precision, accel::Kind lane) {
    const bool cpu = lane == accel::Kind::Cpu;
    switch (precision) {
        case Precision::Fp32:
            return cpu ? std::optional(tensor::DType::F32) : std::nullopt;
        case Precision::Bf16:
            return tensor::DType::BF16;
        case Precision::Fp16:
            return cpu ? std::nullopt : std::optional(tensor::DType::F16);
        case Precision::Fp8:
            return std::nullopt;
    }
    return std::nullopt;
}

class StackDecoder final : public Decoder {
  public:
    StackDecoder(accel::Device& device, std::unique_ptr<LayerStack> stack)
        : device_(device), stack_(std::move(stack)) {}

    Result<DecodedFrames> step(std::span<const float> latent) override {
        KG_CHECK(check_finite(latent));
        const StepKind kind = stack_->next_kind(1);
        const StepShape shape = output_shape(stack_->desc(), kind);
        const Nanoseconds begin = host_now();
        KG_TRY(const auto output, stack_->step(latent, 1));
        DecodedFrames frames{next_frame_, shape.frames, shape.height, shape.width, output, host_now() - begin};
        advance(shape);
        return frames;
    }

    Result<std::vector<float>> trace(std::span<const float> latent, std::string_view module) override {
        KG_CHECK(check_finite(latent));
        const StepShape shape = output_shape(stack_->desc(), stack_->next_kind(1));
        auto values = stack_->trace(latent, 1, module);
        if (values) advance(shape);
        return values;
    }

    Result<void> reset() override {
        next_frame_ = 0;
        next_latent_ = 0;
        return stack_->reset();
    }

    Result<void> attach(DeviceOutput output) override {
        next_frame_ = 0;
        next_latent_ = 0;
        return stack_->attach(std::move(output));
    }

    Result<EnqueuedStep> enqueue(const DeviceStep& step) override {
        const StepShape shape = output_shape(stack_->desc(), stack_->next_kind(1));
        KG_TRY(auto execution, stack_->enqueue(step, 1));
        const EnqueuedStep enqueued{next_frame_, shape.frames, execution};
        advance(shape);
        return enqueued;
    }

    accel::AcceleratorLane& lane() override { return stack_->lane(); }

    LatentSize latent_size() const override { return {stack_->desc().height, stack_->desc().width}; }
    const graph::Plan* plan() const override { return stack_->plan(); }
    Result<graph::Plan> compile_plan(int step_kind) const override { return stack_->compile_plan({step_kind == 0, 1}); }
    std::uint64_t peak_device_bytes() const override { return device_.peak_bytes() + stack_->memory().packed; }
    StackMemory memory() const override { return stack_->memory(); }

  private:
    Result<void> check_finite(std::span<const float> latent) const {
        return vae::check_finite(latent, next_latent_, stack_->desc().height * stack_->desc().width);
    }
    void advance(const StepShape& shape) {
        next_frame_ += shape.frames;
        ++next_latent_;
    }

    accel::Device& device_;
    std::unique_ptr<LayerStack> stack_;
    std::int64_t next_frame_ = 0;
    std::int64_t next_latent_ = 0;
};

}  // namespace

Result<void> check_fit(const Decoder& decoder, const Latents& clip) {
    const LatentSize size = decoder.latent_size();
    if (clip.height != size.height || clip.width != size.width)
        return fail(ErrorCode::InvalidArgument, "{}: latents of {}x{} do not fit a decoder made for {}x{}", clip.name,
                    clip.width, clip.height, size.width, size.height);
    const std::int64_t values = clip.channels * clip.frames * clip.height * clip.width;
    if (clip.channels < 1 || clip.frames < 1 || static_cast<std::int64_t>(clip.values.size()) != values)
        return fail(ErrorCode::InvalidArgument, "{}: {} values are not {} latent frames of {} channels", clip.name,
                    clip.values.size(), clip.frames, clip.channels);
    return {};
}

Result<std::unique_ptr<Decoder>> Decoder::create(accel::Device& device, const Checkpoint& checkpoint, LatentSize size,
                                                 const DecoderOptions& options) {
    const accel::Kind lane = device.info().kind;
    const auto dtype = dtype_of(options.precision, lane);
    if (!dtype)
        return fail(ErrorCode::Unsupported, "precision {}: the {} lane runs {}", to_string(options.precision),
                    accel::to_string(lane), lane == accel::Kind::Cpu ? "fp32 and bf16" : "bf16 and fp16");
    for (const std::int64_t side : {size.height, size.width})
        if (side < 1 || side > kLargestSide)
            return fail(ErrorCode::InvalidArgument, "latents of {}x{}: each side must be 1 to {} latent pixels",
                        size.width, size.height, kLargestSide);

    StackDesc desc;
    desc.layers = wan21_layers(checkpoint.dim(), checkpoint.z_dim());
    desc.height = size.height;
    desc.width = size.width;
    desc.dtype = *dtype;
    desc.clamp = options.clamp;
    if (options.latents == LatentScale::Normalized) {
        desc.scale = checkpoint.latents_std();
        desc.shift = checkpoint.latents_mean();
    }
    auto stack = LayerStack::create(
        device, std::move(desc), [&checkpoint](const std::string& name) { return checkpoint.load(name); },
        options.recorder);
    if (!stack) return fail(std::move(stack.error()), checkpoint.name());
    return std::make_unique<StackDecoder>(device, std::move(*stack));
}

Result<std::unique_ptr<Decoder>> Decoder::create_for(accel::Device& device, const Checkpoint& checkpoint,
                                                     const Latents& clip, const DecoderOptions& options) {
    if (clip.channels != checkpoint.z_dim())
        return fail(ErrorCode::InvalidArgument, "{} has {} latent channels, {} takes {}{}", clip.name, clip.channels,
                    checkpoint.name(), checkpoint.z_dim(),
                    clip.channels == 48 ? " (48 channels are latents of the Wan 2.2 VAE)" : "");
    return create(device, checkpoint, {clip.height, clip.width}, options);
}

}  // namespace kinetograph::vae
