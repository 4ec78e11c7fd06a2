#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/compute/vae/layer_stack.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
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

/// No frame between two primitives has more than 2^31 - 1 elements.
Result<void> check_size(LatentSize size, const Checkpoint& checkpoint) {
    const nn::Network network = checkpoint.network();
    for (const std::int64_t side : {size.height, size.width})
        if (side < 1 || side > kLargestSide)
            return fail(ErrorCode::InvalidArgument, "latents of {}x{}: each side must be 1 to {} latent pixels",
                        size.width, size.height, kLargestSide);
    std::int64_t widest = 0;  // elements of a frame, for each latent pixel
    for (const nn::Extent& extent : nn::extents(network, {1, 1, 1, network.input_channels()}, true))
        widest = std::max(widest, extent.height * extent.width * extent.channels);
    const std::int64_t space = nn::factors(network).space, pixels = space * space * size.width * size.height;
    const std::int64_t most = std::numeric_limits<std::int32_t>::max() * space * space / widest;
    if (pixels > most)
        return fail(ErrorCode::InvalidArgument,
                    "latents of {}x{} are {} pixels of video, a decoder of width {} takes up to {}", size.width,
                    size.height, pixels, checkpoint.dim(), most);
    return {};
}

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

float largest(tensor::DType dtype) {
    return dtype == tensor::DType::F16 ? 65504.0F : std::numeric_limits<float>::max();  // bf16's is as large
}

/// Latents of a few deviations must fit the type that they are stored in.
Result<void> check_statistics(const std::vector<float>& std, const std::vector<float>& mean, tensor::DType dtype) {
    constexpr double kDeviations = 8;
    for (std::size_t channel = 0; channel < std.size(); ++channel)
        if (std::abs(double{mean[channel]}) + kDeviations * std[channel] > largest(dtype))
            return fail(ErrorCode::InvalidArgument,
                        "latents_mean {:g} and latents_std {:g} of channel {} are too large for {}, which ends at {:g}",
                        mean[channel], std[channel], channel, tensor::to_string(dtype), largest(dtype));
    return {};
}

class StackDecoder final : public Decoder {
  public:
    StackDecoder(accel::Device& device, std::unique_ptr<LayerStack> stack)
        : device_(device), stack_(std::move(stack)) {}

    Result<DecodedFrames> step(std::span<const float> latent) override {
        KG_CHECK(check_latent(latent));
        const StepKind kind = stack_->next_kind(1);
        const nn::Extent shape = output_shape(stack_->desc(), kind);
        const Nanoseconds begin = host_now();
        KG_TRY(const auto output, kept(stack_->step(latent, 1)));
        DecodedFrames frames{next_frame_, shape.frames, shape.height, shape.width, output, host_now() - begin};
        if (!stack_->step_is_finite())
            frames.not_finite = std::ranges::count_if(output, [](float value) { return !std::isfinite(value); });
        advance(shape);
        return frames;
    }

    Result<std::vector<float>> trace(std::span<const float> latent, std::string_view module) override {
        KG_CHECK(check_latent(latent));
        const nn::Extent shape = output_shape(stack_->desc(), stack_->next_kind(1));
        auto values = kept(stack_->trace(latent, 1, module));
        if (values) advance(shape);
        return values;
    }

    std::vector<std::string> modules() const override {
        std::vector<std::string> modules;
        const nn::Network& network = stack_->desc().network;
        for (const auto& [value, name] : network.modules())
            if (network.nodes()[value - 1].steps == nn::Steps::All) modules.push_back(name);
        return modules;
    }

    Result<void> reset() override {
        next_frame_ = 0;
        next_latent_ = 0;
        broken_.reset();
        return kept(stack_->reset());
    }

    Result<void> attach(DeviceOutput output) override {
        next_frame_ = 0;
        next_latent_ = 0;
        broken_.reset();
        return kept(stack_->attach(std::move(output)));
    }

    Result<EnqueuedStep> enqueue(const DeviceStep& step) override {
        if (broken_) return fail(*broken_);
        const nn::Extent shape = output_shape(stack_->desc(), stack_->next_kind(1));
        auto execution = stack_->enqueue(step, 1);
        if (!execution && execution.error().code != ErrorCode::InvalidArgument) broken_ = execution.error();
        if (!execution) return fail(std::move(execution.error()));
        const EnqueuedStep enqueued{next_frame_, shape.frames, *execution};
        advance(shape);
        return enqueued;
    }

    accel::AcceleratorLane& lane() override { return stack_->lane(); }

    LatentSize latent_size() const override { return {stack_->desc().height, stack_->desc().width}; }
    StepFrames step_frames() const override {
        const nn::Extent most = output_shape(stack_->desc(), {.first = stack_->desc().one_step, .frames = 1});
        return {most.frames, most.height, most.width};
    }
    const graph::Plan* plan() const override { return stack_->plan(); }
    Result<graph::Plan> compile_plan(int step_kind) const override { return stack_->compile_plan({step_kind == 0, 1}); }
    std::uint64_t peak_device_bytes() const override { return device_.peak_bytes() + stack_->memory().packed; }
    StackMemory memory() const override { return stack_->memory(); }

  private:
    /// What is refused here leaves the clip as it is.
    Result<void> check_latent(std::span<const float> latent) const {
        if (broken_) return fail(*broken_);
        KG_CHECK(stack_->check_input(latent, 1));
        return check_finite(latent, next_latent_, stack_->desc().height * stack_->desc().width);
    }
    /// An Error after that may have left anything in the histories.
    template <class T>
    Result<T> kept(Result<T> result) {
        if (!result) broken_ = result.error();
        return result;
    }
    void advance(const nn::Extent& shape) {
        next_frame_ += shape.frames;
        ++next_latent_;
    }

    accel::Device& device_;
    std::unique_ptr<LayerStack> stack_;
    std::int64_t next_frame_ = 0;
    std::int64_t next_latent_ = 0;
    std::optional<Error> broken_;  ///< what ended the clip
};

}  // namespace

/// What is not finite stays so on the way to the picture: a module is found by halving.
Result<std::string> first_module_not_finite(Decoder& decoder, const Latents& clip, std::int64_t step) {
    const std::vector<std::string> modules = decoder.modules();
    std::size_t first = 0, end = modules.size();
    while (first < end) {
        const std::size_t middle = first + (end - first) / 2;
        KG_CHECK(decoder.reset());
        for (std::int64_t t = 0; t < step; ++t) KG_CHECK(decoder.step(clip.frame(t)));
        KG_TRY(const auto values, decoder.trace(clip.frame(step), modules[middle]));
        if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
            first = middle + 1;
        else
            end = middle;
    }
    KG_CHECK(decoder.reset());
    return first < modules.size() ? modules[first] : std::string();
}

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
    KG_CHECK(check_size(size, checkpoint));

    StackDesc desc;
    desc.network = checkpoint.network();
    desc.one_step = checkpoint.family().one_latent_frame;
    desc.height = size.height;
    desc.width = size.width;
    desc.dtype = *dtype;
    desc.clamp = options.clamp;
    if (options.latents == LatentScale::Normalized) {
        desc.scale = checkpoint.latents_std();
        desc.shift = checkpoint.latents_mean();
        if (auto fits = check_statistics(desc.scale, desc.shift, *dtype); !fits)
            return fail(std::move(fits.error()), checkpoint.name());
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
    if (checkpoint.family().one_latent_frame && clip.frames != 1)
        return fail(ErrorCode::InvalidArgument, "{} has {} latent frames; a clip of a {} decoder is one", clip.name,
                    clip.frames, checkpoint.family().title);
    return create(device, checkpoint, {clip.height, clip.width}, options);
}

}  // namespace kinetograph::vae
