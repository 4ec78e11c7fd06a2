#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/compute/vae/layer_stack.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace kinetograph::vae {

namespace {

class StackDecoder final : public Decoder {
  public:
    explicit StackDecoder(std::unique_ptr<LayerStack> stack) : stack_(std::move(stack)) {}

    Result<DecodedFrames> step(std::span<const float> latent) override {
        KG_CHECK(check_latent(latent));
        KG_TRY(const auto shape, stack_->next_output());
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
        KG_TRY(const auto shape, stack_->next_output());
        auto values = kept(stack_->trace(latent, 1, module));
        if (values) advance(shape);
        return values;
    }

    std::vector<std::string> modules() const override {
        std::vector<std::string> modules;
        const nn::Network& network = stack_->model().network().network;
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
        KG_TRY(const auto shape, stack_->next_output());
        auto execution = stack_->enqueue(step, 1);
        if (!execution && execution.error().code != ErrorCode::InvalidArgument) broken_ = execution.error();
        if (!execution) return fail(std::move(execution.error()));
        const EnqueuedStep enqueued{next_frame_, shape.frames, *execution};
        advance(shape);
        return enqueued;
    }

    accel::AcceleratorLane& lane() override { return stack_->lane(); }

    LatentSize latent_size() const override { return {stack_->size().height, stack_->size().width}; }
    std::uint64_t latent_bytes() const override { return input_bytes(stack_->model().network(), stack_->size(), 1); }
    StepFrames step_frames() const override { return stack_->model().step_frames(latent_size()); }
    const graph::Plan* plan() const override { return stack_->plan(); }
    Result<graph::Plan> compile_plan(int step_kind) const override { return stack_->compile_plan({step_kind == 0, 1}); }
    std::uint64_t peak_device_bytes() const override {
        return stack_->model().device().peak_bytes() + stack_->memory().packed;
    }
    StackMemory memory() const override { return stack_->memory(); }

  private:
    /// What is refused here leaves the clip as it is.
    Result<void> check_latent(std::span<const float> latent) const {
        if (broken_) return fail(*broken_);
        KG_CHECK(stack_->check_input(latent, 1));
        return check_finite(latent, next_latent_, stack_->size().height * stack_->size().width);
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

Result<std::unique_ptr<Decoder>> Decoder::create(std::shared_ptr<Model> model, LatentSize size,
                                                 const DecoderOptions& options) {
    KG_TRY(auto stack, LayerStack::create(std::move(model), {.height = size.height, .width = size.width},
                                          {.recorder = options.recorder}));
    return std::make_unique<StackDecoder>(std::move(stack));
}

Result<std::unique_ptr<Decoder>> Decoder::create_for(std::shared_ptr<Model> model, const Latents& clip,
                                                     const DecoderOptions& options) {
    KG_CHECK(model->check_takes(clip));
    return create(std::move(model), {clip.height, clip.width}, options);
}

}  // namespace kinetograph::vae
