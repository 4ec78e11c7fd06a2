#include <kinetograph/compute/stream/reencoder.hpp>
#include <kinetograph/engine/interop/bridge.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace kinetograph::stream {
namespace {

constexpr std::int64_t kRgb = 3;

/// `bytes` of `memory` from `offset` on, as a step's import.
graph::Physical part_of(const accel::Memory& memory, std::uint64_t offset, std::uint64_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(memory.data() + offset), 0, bytes};
}

graph::Physical flag_of(const accel::Memory& flags, std::size_t slot) {
    return part_of(flags, slot * sizeof(std::uint32_t), sizeof(std::uint32_t));
}

std::uint32_t& host_flag(const accel::Memory& flags, std::size_t slot) {
    return reinterpret_cast<std::uint32_t*>(flags.host_data())[slot];
}

Result<void> check_models(const vae::Model& decoder, const vae::Model& encoder, const vae::StepFrames& frames) {
    if (decoder.network().network.ends().output != nn::End::Pictures || frames.channels != kRgb)
        return fail(ErrorCode::Unsupported, "{}: frames of {} channels are not encoded again: pictures have 3",
                    decoder.name(), frames.channels);
    if (decoder.devices().size() > 1)
        return fail(ErrorCode::Unsupported,
                    "{}: frames that several devices decode are not encoded again on one of them: open one device",
                    decoder.name());
    if (frames.most > encoder.pushed_frames())
        return fail(ErrorCode::Unsupported, "{}: a step makes {} frames, one of its encoder takes {}", decoder.name(),
                    frames.most, encoder.pushed_frames());
    return {};
}

}  // namespace

Result<std::unique_ptr<Reencoder>> Reencoder::create(std::shared_ptr<interop::Bridge> bridge,
                                                     const std::shared_ptr<vae::Model>& decoder,
                                                     const std::shared_ptr<vae::Model>& encoder, vae::LatentSize size,
                                                     families::LatentStatistics statistics,
                                                     const ReencoderOptions& options) {
    KG_CHECK(decoder->check({.height = size.height, .width = size.width}));
    const vae::StepFrames frames = decoder->step_frames(size);
    KG_CHECK(check_models(*decoder, *encoder, frames));
    const PictureSize pictures{frames.height, frames.width};
    KG_TRY(auto moments, Moments::create(*encoder, pictures, std::move(statistics), options.moments));
    std::unique_ptr<Reencoder> made(new Reencoder(std::move(bridge), pictures, std::move(moments), options.frames));
    KG_CHECK(made->make(decoder, encoder, size, options));
    return made;
}

/// The encoder first, which is not cut into bands: the decoder is, if it does not fit beside it.
Result<void> Reencoder::make(const std::shared_ptr<vae::Model>& decoder, const std::shared_ptr<vae::Model>& encoder,
                             vae::LatentSize size, const ReencoderOptions& options) {
    vae::StepOptions own = options.steps;
    own.rewind_steps = 0;
    own.latent_frames = 1;
    vae::StepOptions of_encoder = own;
    of_encoder.latent_frames = encoder->pushed_frames();
    of_encoder.bands = {};
    KG_TRY(encoding_.clip, vae::Clip::create(encoder, {size_.height, size_.width}, of_encoder));
    KG_TRY(runner_, vae::Runner::create(*encoding_.clip, of_encoder));
    const std::uint64_t frames = 2 * static_cast<std::uint64_t>(encoder->pushed_frames()) * frame_bytes();
    KG_TRY(frames_, encoder->device().allocate("decoded frames", vae::whole_pages(frames)));
    KG_TRY(decoding_.clip, vae::Clip::create(decoder, size, own));
    KG_CHECK(runner_->admit(*decoding_.clip));
    KG_CHECK(allocate());
    state_memory();
    return {};
}

Result<void> Reencoder::allocate() {
    accel::Device& device = decoding_.clip->model().device();
    for (Side* const side : {&decoding_, &encoding_}) {
        KG_TRY(side->flags, device.allocate_pinned("not finite", kUnderWay * sizeof(std::uint32_t)));
    }
    KG_TRY(staged_, device.allocate_pinned("latents", kUnderWay * decoding_.clip->latent_bytes()));
    KG_TRY(made_, device.allocate_pinned("moments", kUnderWay * moment_bytes()));
    if (!keeps_frames_) return {};
    const auto most = static_cast<std::uint64_t>(decoding_.clip->step_frames().most);
    KG_TRY(copied_frames_, device.allocate_pinned("frames", kUnderWay * most * frame_bytes()));
    return {};
}

void Reencoder::state_memory() {
    facts_ = moments_.facts();
    const vae::StackMemory decoder = decoding_.clip->memory(), encoder = encoding_.clip->memory();
    vae::StackMemory& memory = facts_.memory;
    memory = decoder;
    memory.transients = runner_->arena_bytes();
    memory.histories += encoder.histories;
    memory.parameters += encoder.parameters;
    memory.stream = frames_->bytes();
    for (const auto* pinned : {&decoding_.flags, &encoding_.flags, &staged_, &made_, &copied_frames_})
        if (*pinned) memory.io += vae::whole_pages((*pinned)->bytes());
}

std::uint64_t Reencoder::frame_bytes() const {
    return static_cast<std::uint64_t>(kRgb * size_.height * size_.width) * sizeof(float);
}

std::uint64_t Reencoder::moment_bytes() const { return static_cast<std::uint64_t>(moments_.values()) * sizeof(float); }

std::int64_t Reencoder::group() const {
    const vae::Model& encoder = encoding_.clip->model();
    return groups_ == 0 ? encoder.rates().first : encoder.pushed_frames();
}

/// Of the frame that comes `after` others: groups of frames lie in two places by turns.
graph::Physical Reencoder::place_of_next(std::int64_t after) const {
    std::int64_t in_group = gathered_ + after, place = groups_ % 2;
    if (in_group >= group()) {
        in_group -= group();
        place = 1 - place;
    }
    const std::int64_t most = encoding_.clip->model().pushed_frames();
    assert(in_group < most);
    return part_of(*frames_, static_cast<std::uint64_t>(place * most + in_group) * frame_bytes(), frame_bytes());
}

Result<void> Reencoder::check(std::span<const float> latents) const {
    const auto [height, width] = latent_size();
    const std::int64_t each = channels() * height * width, count = std::ssize(latents) / each;
    if (count == 0 || std::ssize(latents) != count * each)
        return fail(ErrorCode::InvalidArgument, "{} values are no latent frames of {}x{}x{}, which have {} each",
                    latents.size(), channels(), height, width, each);
    const vae::NetworkDesc& network = decoding_.clip->model().network();
    if (network.one_step && decoding_.clip->latent_frame() + count > 1)
        return fail(ErrorCode::InvalidArgument, "a clip of {} is one latent frame: restart() begins the next one",
                    network.title);
    for (std::int64_t t = 0; t < count; ++t)
        KG_CHECK(vae::check_finite(latents.subspan(static_cast<std::size_t>(t * each), static_cast<std::size_t>(each)),
                                   decoding_.clip->latent_frame() + t, height * width));
    return {};
}

Result<Reencoded> Reencoder::reencode(std::span<const float> latents, const CallLimits& limits) {
    if (ended_) return fail(*ended_);
    KG_CHECK(check(latents));
    const auto run = [&]() -> Result<Reencoded> {
        Reencoded made;
        const auto [height, width] = latent_size();
        const auto each = static_cast<std::size_t>(channels() * height * width);
        for (std::size_t at = 0; at < latents.size(); at += each)
            KG_CHECK(decode(latents.subspan(at, each), made, limits));
        return take_all(std::move(made), limits);
    };
    auto made = run();
    if (!made) ended_ = made.error();
    return made;
}

Result<Reencoded> Reencoder::finish(const CallLimits& limits) {
    if (ended_) return fail(*ended_);
    const auto run = [&]() -> Result<Reencoded> {
        Reencoded made;
        if (gathered_ == 0) return made;
        const graph::Physical last = place_of_next(-1);
        for (; gathered_ < group(); ++gathered_)
            runner_->lane().stream().copy(reinterpret_cast<std::byte*>(place_of_next(0).object),
                                          reinterpret_cast<const std::byte*>(last.object), frame_bytes());
        KG_CHECK(encode(made, limits));
        return take_all(std::move(made), limits);
    };
    auto made = run();
    ended_ =
        made ? Error{ErrorCode::InvalidArgument, "the clip has ended: restart() begins the next one"} : made.error();
    return made;
}

Result<void> Reencoder::restart() {
    for (Side* const side : {&decoding_, &encoding_}) {
        side->under_way.clear();
        KG_CHECK(runner_->reset(*side->clip));
    }
    groups_ = gathered_ = 0;
    ended_.reset();
    return {};
}

/// And encodes what it completes.
Result<void> Reencoder::decode(std::span<const float> latent, Reencoded& made, const CallLimits& limits) {
    KG_CHECK(limits.check("decoding and encoding again"));
    while (decoding_.under_way.size() >= kUnderWay) KG_CHECK(take_frames(made, limits));
    vae::Clip& clip = *decoding_.clip;
    const std::size_t slot = decoding_.steps++ % kUnderWay;
    host_flag(*decoding_.flags, slot) = 0;
    std::memcpy(staged_->host_data() + slot * latent.size_bytes(), latent.data(), latent.size_bytes());
    KG_TRY(const auto kind, clip.next());
    KG_TRY(StepGraph* const step, decoding(kind));
    step->frame.rebind(step->in, part_of(*staged_, slot * latent.size_bytes(), latent.size_bytes()));
    step->frame.rebind(step->not_finite, flag_of(*decoding_.flags, slot));
    const auto most = static_cast<std::size_t>(clip.step_frames().most);
    for (std::size_t i = 0; i < step->out.size(); ++i)
        step->frame.rebind(step->out[i], place_of_next(static_cast<std::int64_t>(i)));
    for (std::size_t i = 0; i < step->copies.size(); ++i)
        step->frame.rebind(step->copies[i], part_of(*copied_frames_, (slot * most + i) * frame_bytes(), frame_bytes()));
    KG_TRY(const auto enqueued, runner_->execute(clip, step->frame));
    decoding_.under_way.push_back({enqueued, slot});
    gathered_ += enqueued.frames.count;
    while (gathered_ >= group()) KG_CHECK(encode(made, limits));
    return {};
}

Result<void> Reencoder::encode(Reencoded& made, const CallLimits& limits) {
    while (encoding_.under_way.size() >= kUnderWay) KG_CHECK(take_latents(made, limits));
    vae::Clip& clip = *encoding_.clip;
    const std::size_t slot = encoding_.steps++ % kUnderWay;
    host_flag(*encoding_.flags, slot) = 0;
    const std::int64_t count = group();
    KG_TRY(const auto kind, clip.next(count));
    KG_TRY(StepGraph* const step, encoding(kind));
    gathered_ -= count;
    const std::uint64_t most = static_cast<std::uint64_t>(clip.model().pushed_frames()) * frame_bytes();
    step->frame.rebind(step->in, part_of(*frames_, static_cast<std::uint64_t>(groups_ % 2) * most,
                                         static_cast<std::uint64_t>(count) * frame_bytes()));
    step->frame.rebind(step->not_finite, flag_of(*encoding_.flags, slot));
    step->frame.rebind(step->out.front(), part_of(*made_, slot * moment_bytes(), moment_bytes()));
    KG_TRY(const auto enqueued, runner_->execute(clip, step->frame, count));
    encoding_.under_way.push_back({enqueued, slot});
    ++groups_;
    return {};
}

/// Waits for the oldest step of the decoder.
Result<void> Reencoder::take_frames(Reencoded& made, const CallLimits& limits) {
    const UnderWay oldest = decoding_.under_way.front();
    decoding_.under_way.pop_front();
    KG_CHECK(runner_->wait(*decoding_.clip, oldest.step, limits));
    if (host_flag(*decoding_.flags, oldest.slot) != 0)
        return fail(ErrorCode::OutOfRange,
                    "frame {}: values that are not finite are not encoded: another precision has a wider range",
                    oldest.step.frames.first);
    if (!keeps_frames_) return {};
    const auto most = static_cast<std::size_t>(decoding_.clip->step_frames().most);
    const std::size_t values = frame_bytes() / sizeof(float);
    const auto* frames = reinterpret_cast<const float*>(copied_frames_->host_data()) + oldest.slot * most * values;
    for (std::int64_t i = 0; i < oldest.step.frames.count; ++i, frames += values)
        made.frames.emplace_back(frames, frames + values);
    return {};
}

/// Waits for the oldest step of the encoder.
Result<void> Reencoder::take_latents(Reencoded& made, const CallLimits& limits) {
    const UnderWay oldest = encoding_.under_way.front();
    encoding_.under_way.pop_front();
    KG_CHECK(runner_->wait(*encoding_.clip, oldest.step, limits));
    const auto values = static_cast<std::size_t>(moments_.values());
    const std::span moments(reinterpret_cast<const float*>(made_->host_data()) + oldest.slot * values, values);
    const std::int64_t index = oldest.step.frames.first;
    made.latents.push_back({.index = index,
                            .is_finite = host_flag(*encoding_.flags, oldest.slot) == 0,
                            .values = moments_.latents(moments, index)});
    return {};
}

Result<Reencoded> Reencoder::take_all(Reencoded made, const CallLimits& limits) {
    while (!decoding_.under_way.empty()) KG_CHECK(take_frames(made, limits));
    while (!encoding_.under_way.empty()) KG_CHECK(take_latents(made, limits));
    runner_->lane().collect();
    return made;
}

// ---- graphs --------------------------------------------------------------------------------------------------------

Result<Reencoder::StepGraph*> Reencoder::decoding(vae::StepKind kind) {
    const auto [it, added] = decoding_.graphs.try_emplace(kind);
    StepGraph& step = it->second;
    if (!added) return &step;
    vae::Clip& clip = *decoding_.clip;
    step.in = clip.import_latents(step.frame, part_of(*staged_, 0, clip.latent_bytes()));
    step.not_finite = step.frame.import_buffer(
        "not finite", {sizeof(std::uint32_t), 4, graph::MemoryDomain::Accelerator}, flag_of(*decoding_.flags, 0));
    const graph::BufferDesc desc = clip.frame_desc(vae::FrameFormat::Float32);
    for (std::int64_t i = 0; i < clip.output(kind).frames; ++i)
        step.out.push_back(step.frame.import_buffer(fmt::format("frame {}", i), desc, place_of_next(i)));
    KG_TRY(const auto frames,
           clip.declare(step.frame, step.in,
                        {.format = vae::FrameFormat::Float32, .places = step.out, .not_finite = step.not_finite},
                        kind.frames));
    if (!keeps_frames_) return &step;
    for (std::size_t i = 0; i < frames.size(); ++i)
        step.copies.push_back(step.frame.import_buffer(fmt::format("copy of frame {}", i), desc,
                                                       part_of(*copied_frames_, 0, frame_bytes())));
    struct Data {
        std::vector<graph::Buffer> from, to;
    };
    step.frame.add_pass<Data>(
        "copy_frames", clip.placement().lane,
        [&](graph::PassBuilder& pass, Data& data) {
            for (std::size_t i = 0; i < frames.size(); ++i) {
                data.from.push_back(pass.read(frames[i], graph::Access::KernelRead));
                data.to.push_back(pass.write(step.copies[i], graph::Access::KernelWrite));
            }
            pass.has_side_effect();
            pass.run_anew();
        },
        [bytes = frame_bytes()](const Data& data, accel::PassContext& context) {
            for (std::size_t i = 0; i < data.from.size(); ++i)
                context.stream().copy(context.address(data.to[i]), context.address(data.from[i]), bytes);
        });
    return &step;
}

Result<Reencoder::StepGraph*> Reencoder::encoding(vae::StepKind kind) {
    const auto [it, added] = encoding_.graphs.try_emplace(kind);
    StepGraph& step = it->second;
    if (!added) return &step;
    vae::Clip& clip = *encoding_.clip;
    step.in = clip.import_latents(
        step.frame, part_of(*frames_, 0, static_cast<std::uint64_t>(kind.frames) * frame_bytes()), kind.frames);
    step.not_finite = step.frame.import_buffer(
        "not finite", {sizeof(std::uint32_t), 4, graph::MemoryDomain::Accelerator}, flag_of(*encoding_.flags, 0));
    step.out.push_back(step.frame.import_buffer("moments", clip.frame_desc(vae::FrameFormat::Float32),
                                                part_of(*made_, 0, moment_bytes())));
    KG_CHECK(clip.declare(step.frame, {step.in, tensor::DType::F32, vae::InputLayout::Pixels},
                          {.format = vae::FrameFormat::Float32, .places = step.out, .not_finite = step.not_finite},
                          kind.frames));
    return &step;
}

}  // namespace kinetograph::stream
