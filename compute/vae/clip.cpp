#include <kinetograph/compute/vae/clip.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace kinetograph::vae {

Result<std::unique_ptr<Clip>> Clip::create(std::shared_ptr<Model> model, LatentSize size, const StepOptions& options) {
    const StackSize steps{size.height, size.width, options.latent_frames, options.bands};
    KG_TRY(const auto* plans,
           options.bands.count == 1 ? model->plan_to_fit(steps, options.limits) : model->plan(steps, options.limits));
    std::unique_ptr<Clip> clip(new Clip(std::move(model), *plans, options));
    KG_CHECK(clip->allocate());
    return clip;
}

/// Each as large as StepPlans::histories counts it.
Result<Clip::Kept> Clip::allocate_kept() const {
    Kept kept;
    for (const auto& [key, bytes] : plans_->kept_bytes) {
        KG_TRY(kept[key], device_of(key).allocate(key + ".kept", whole_pages(bytes)));
    }
    return kept;
}

/// What is kept, and places for points.
Result<void> Clip::allocate() {
    KG_TRY(auto kept, allocate_kept());
    std::vector<Point> points(points_.size());
    for (Point& point : points) {
        KG_TRY(point.kept, allocate_kept());
    }
    kept_ = std::move(kept);
    points_ = std::move(points);
    forget_points();
    is_parked_ = false;
    ++addresses_;
    return {};
}

Result<StepKind> Clip::next(std::int64_t latent_frames) const {
    KG_CHECK(check_resumed());
    const bool first = next_latent_ == 0;
    if (model_->network().one_step && !first)
        return fail(ErrorCode::InvalidArgument, "a clip of this decoder is one step: reset() begins the next clip");
    if (latent_frames < 1 || latent_frames > plans_->size.max_frames)
        return fail(ErrorCode::InvalidArgument, "a step takes 1 to {} latent frames, {} were given",
                    plans_->size.max_frames, latent_frames);
    if (!rates_.takes(latent_frames, first))
        return fail(ErrorCode::InvalidArgument, "{} a multiple of {}; {} were given",
                    rates_.first == 1 ? "a clip's first step takes one frame, each later one" : "a step takes",
                    rates_.time.in, latent_frames);
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
    const FindKept find_kept = [this](const std::string& key, std::uint64_t bytes, std::uint32_t /*device*/) {
        return graph::Physical{reinterpret_cast<std::uintptr_t>(kept_.at(key)->data()), 0, bytes};
    };
    return model_->declare(graph, plans_->size, kind, find_kept, latents, frames, placement_);
}

FrameRange Clip::advance(std::int64_t latent_frames) {
    next_latent_ += latent_frames;
    const FrameRange range{next_frame_, rates_.frames_of(next_latent_) - next_frame_};
    next_frame_ += range.count;
    if (std::exchange(has_point_, false)) ++points_end_;
    return range;
}

Result<void> Clip::status() const {
    if (ended_) return fail(*ended_);
    return {};
}

Result<void> Clip::reset(accel::Stream& stream) {
    ended_.reset();
    next_latent_ = next_frame_ = 0;
    forget_points();
    static_cast<void>(synchronize(stream));  // an error of the abandoned clip was reported by its step
    if (is_parked_) KG_CHECK(allocate());
    for (const auto& [key, kept] : kept_)
        stream_of(key, stream).fill(kept->data(), fill_of_kept(model_->network(), key), kept->bytes());
    return synchronize(stream);
}

StackMemory Clip::memory() const {
    StackMemory memory = model_->memory(*plans_);
    memory.points = points_.size() * memory.histories;
    return memory;
}

// ---- the state as a value ------------------------------------------------------------------------------------------

accel::Device& Clip::device_of(const std::string& key) const { return *model_->devices()[plans_->kept_on.at(key)]; }

accel::Stream& Clip::stream_of(const std::string& key, accel::Stream& stream) const {
    const std::uint32_t device = plans_->kept_on.at(key);
    return device == 0 ? stream : *other_streams_.at(device - 1);
}

/// All, and the first of their errors.
Result<void> Clip::synchronize(accel::Stream& stream) const {
    auto done = stream.synchronize();
    for (accel::Stream* const other : other_streams_)
        if (auto also = other->synchronize(); done && !also) done = std::move(also);
    return done;
}

void Clip::copy(const Kept& from, const Kept& to, accel::Stream& stream) const {
    for (const auto& [key, kept] : from) stream_of(key, stream).copy(to.at(key)->data(), kept->data(), kept->bytes());
}

ClipState::Owner Clip::owner() const {
    const NetworkDesc& network = model_->network();
    return {network.title, model_->weights_hash(), latent_size(), network.dtype, network.sums};
}

Result<void> Clip::check_resumed() const {
    if (is_parked_) return fail(ErrorCode::InvalidArgument, "the clip is parked: resume() comes first");
    return {};
}

Result<accel::Stream*> Clip::state_stream() {
    if (!state_stream_) {
        KG_TRY(state_stream_, model_->device().create_stream("the state of a clip"));
    }
    return state_stream_.get();
}

Result<ClipState> Clip::save(accel::Stream& stream) const {
    KG_CHECK(status());
    ClipState state{.owner = owner(), .latent_frames = next_latent_, .frames = next_frame_};
    for (const auto& [key, bytes] : plans_->kept_bytes) {
        std::vector<std::byte>& to = state.kept[key];
        to.resize(bytes);
        const accel::Memory& kept = *kept_.at(key);
        if (is_parked_)
            std::memcpy(to.data(), kept.host_data(), to.size());
        else
            KG_CHECK(stream_of(key, stream).read_back(to, kept.data()));
    }
    return state;
}

Result<void> Clip::load(const ClipState& state, accel::Stream& stream) {
    KG_CHECK(check_resumed());
    KG_CHECK(state.check_fits(owner(), plans_->kept_bytes));
    for (const auto& [key, bytes] : state.kept) KG_CHECK(stream_of(key, stream).upload(kept_.at(key)->data(), bytes));
    next_latent_ = state.latent_frames;
    next_frame_ = state.frames;
    forget_points();
    return {};
}

Result<void> Clip::branch_from(const Clip& other, accel::Stream& stream) {
    KG_CHECK(check_resumed());
    KG_CHECK(other.status());
    if (other.model_ != model_ || other.plans_ != plans_)
        return fail(ErrorCode::InvalidArgument,
                    "a branch is of the same model and size as its clip, and decodes in as many bands");
    copy(other.kept_, kept_, stream);
    KG_CHECK(synchronize(stream));
    next_latent_ = other.next_latent_;
    next_frame_ = other.next_frame_;
    forget_points();
    return {};
}

Result<void> Clip::park(accel::Stream& stream) {
    KG_CHECK(status());
    if (is_parked_) return {};
    Kept parked;
    for (const auto& [key, kept] : kept_) {
        KG_TRY(parked[key], device_of(key).allocate_pinned(key + ".parked", kept->bytes()));
    }
    copy(kept_, parked, stream);
    KG_CHECK(synchronize(stream));
    kept_ = std::move(parked);
    for (Point& point : points_) point.kept.clear();
    forget_points();
    is_parked_ = true;
    return {};
}

Result<void> Clip::resume(accel::Stream& stream) {
    KG_CHECK(status());
    if (!is_parked_) return {};
    Kept parked = std::move(kept_);
    if (auto allocated = allocate(); !allocated) {
        kept_ = std::move(parked);
        return allocated;
    }
    copy(parked, kept_, stream);
    return synchronize(stream);
}

void Clip::keep_point(accel::Stream& stream) {
    if (points_.empty()) return;
    const auto most = static_cast<std::int64_t>(points_.size());
    Point& point = points_[static_cast<std::size_t>(points_end_ % most)];
    copy(kept_, point.kept, stream);
    point.next_latent = next_latent_;
    point.next_frame = next_frame_;
    points_begin_ = std::max(points_begin_, points_end_ + 1 - most);
    has_point_ = true;
}

Result<void> Clip::rewind(std::int64_t steps, accel::Stream& stream) {
    KG_CHECK(check_resumed());
    KG_CHECK(status());
    if (steps < 1 || steps > rewindable())
        return fail(ErrorCode::InvalidArgument, "rewinding {} steps: {} are kept of the {} asked for", steps,
                    rewindable(), points_.size());
    points_end_ -= steps;
    const Point& point = points_[static_cast<std::size_t>(points_end_) % points_.size()];
    copy(point.kept, kept_, stream);
    next_latent_ = point.next_latent;
    next_frame_ = point.next_frame;
    return synchronize(stream);
}

}  // namespace kinetograph::vae
