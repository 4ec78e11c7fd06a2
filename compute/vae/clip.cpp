#include <kinetograph/compute/vae/clip.hpp>

namespace kinetograph::vae {

Result<Clip> Clip::create(std::shared_ptr<Model> model, const StepPlans& plans) {
    Clip clip(std::move(model), plans);
    for (const auto& [key, bytes] : plans.kept_bytes) {
        KG_TRY(auto kept, clip.model().device().allocate(key.empty() ? "zeros" : key + ".kept", bytes));
        clip.kept_.emplace(key, std::move(kept));
    }
    return clip;
}

Result<StepKind> Clip::next(std::int64_t frames) const {
    if (model_->network().one_step && !first_)
        return fail(ErrorCode::InvalidArgument, "a clip of this decoder is one step: reset() begins the next clip");
    if (frames < 1 || frames > plans_->size.max_frames)
        return fail(ErrorCode::InvalidArgument, "a step takes 1 to {} latent frames, {} were given",
                    plans_->size.max_frames, frames);
    return StepKind{first_, frames};
}

Result<DeclaredStep> Clip::declare(graph::FrameGraph& graph, StepKind kind, const StepMemory& memory,
                                   TraceRequest* trace) {
    const FindKept find_kept = [this](const std::string& key, std::uint64_t bytes) {
        return graph::Physical{reinterpret_cast<std::uintptr_t>(kept_.at(key)->data()), 0, bytes};
    };
    return model_->declare(graph, plans_->size, kind, find_kept, memory, trace);
}

Result<std::vector<graph::Buffer>> Clip::declare(graph::FrameGraph& graph, graph::Buffer latents,
                                                 const ClipFrames& frames) {
    KG_TRY(const auto kind, next(1));
    const DeviceOutput output{
        .format = frames.format, .memory = DeviceOutput::Memory::Transient, .domain = frames.domain};
    KG_TRY(auto step, declare(graph, kind, {.input = {}, .latents = latents, .output = {}, .device = &output}));
    return std::move(step.frames);
}

Result<void> Clip::reset(accel::Stream& stream) {
    first_ = true;
    static_cast<void>(stream.synchronize());  // an error of the abandoned clip was reported by its step
    for (const auto& [key, kept] : kept_) stream.fill(kept->data(), std::byte{0}, kept->bytes());
    return stream.synchronize();
}

}  // namespace kinetograph::vae
