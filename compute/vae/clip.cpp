#include <kinetograph/compute/vae/clip.hpp>

namespace kinetograph::vae {

Result<std::unique_ptr<Clip>> Clip::create(std::shared_ptr<Model> model, LatentSize size, const StepOptions& options) {
    const StackSize steps{size.height, size.width, options.latent_frames, options.bands};
    KG_TRY(const auto* plans,
           options.bands.count == 1 ? model->plan_to_fit(steps, options.limits) : model->plan(steps, options.limits));
    std::unique_ptr<Clip> clip(new Clip(std::move(model), *plans, options.placement));
    for (const auto& [key, bytes] : plans->kept_bytes) {
        KG_TRY(auto kept, clip->model().device().allocate(key.empty() ? "zeros" : key + ".kept", bytes));
        clip->kept_.emplace(key, std::move(kept));
    }
    return clip;
}

Result<StepKind> Clip::next(std::int64_t latent_frames) const {
    const bool first = next_latent_ == 0;
    if (model_->network().one_step && !first)
        return fail(ErrorCode::InvalidArgument, "a clip of this decoder is one step: reset() begins the next clip");
    if (latent_frames < 1 || latent_frames > plans_->size.max_frames)
        return fail(ErrorCode::InvalidArgument, "a step takes 1 to {} latent frames, {} were given",
                    plans_->size.max_frames, latent_frames);
    if (const std::int64_t group = rates_.time.in;
        group > 1 && (first ? latent_frames > 1 : latent_frames % group != 0))
        return fail(ErrorCode::InvalidArgument,
                    "a clip's first step takes one frame, each later one a multiple of {}; {} were given", group,
                    latent_frames);
    return StepKind{first, latent_frames};
}

std::uint64_t Clip::latent_bytes(tensor::DType dtype) const {
    return input_bytes(model_->network(), plans_->size, 1, dtype);
}

graph::Buffer Clip::import_latents(graph::FrameGraph& graph, const graph::Physical& memory, std::int64_t latent_frames,
                                   tensor::DType dtype) const {
    const std::uint64_t bytes = input_bytes(model_->network(), plans_->size, latent_frames, dtype);
    return graph.import_buffer("latents", {bytes, 16, placement_.memory}, memory);
}

graph::BufferDesc Clip::frame_desc(FrameFormat format, graph::MemoryDomain domain) const {
    const StepFrames frames = step_frames();
    return {static_cast<std::uint64_t>(frames.width * frames.height) * bytes_per_pixel(format, frames.channels), 256,
            domain};
}

Result<std::vector<graph::Buffer>> Clip::declare(graph::FrameGraph& graph, const InputBuffer& latents,
                                                 const StepOutput& frames, std::int64_t latent_frames) {
    KG_TRY(const auto kind, next(latent_frames));
    const FindKept find_kept = [this](const std::string& key, std::uint64_t bytes) {
        return graph::Physical{reinterpret_cast<std::uintptr_t>(kept_.at(key)->data()), 0, bytes};
    };
    return model_->declare(graph, plans_->size, kind, find_kept, latents, frames, placement_);
}

FrameRange Clip::advance(std::int64_t latent_frames) {
    next_latent_ += latent_frames;
    const FrameRange range{next_frame_, rates_.frames_of(next_latent_) - next_frame_};
    next_frame_ += range.count;
    return range;
}

Result<void> Clip::status() const {
    if (ended_) return fail(*ended_);
    return {};
}

Result<void> Clip::reset(accel::Stream& stream) {
    ended_.reset();
    next_latent_ = next_frame_ = 0;
    static_cast<void>(stream.synchronize());  // an error of the abandoned clip was reported by its step
    for (const auto& [key, kept] : kept_)
        stream.fill(kept->data(), fill_of_kept(model_->network(), key), kept->bytes());
    return stream.synchronize();
}

}  // namespace kinetograph::vae
