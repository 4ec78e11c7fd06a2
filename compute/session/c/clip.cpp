#include "clip.hpp"

#include "choices.hpp"
#include "one_at_a_time.hpp"
#include "tensors.hpp"

#include <kinetograph/compute/vae/clip_state_bytes.hpp>
#include <kinetograph/engine/graph/patience.hpp>
#include <kinetograph/engine/interop/shared_buffer.hpp>

#include <algorithm>

namespace kinetograph::c {
namespace {

using Storage = interop::FrameStorage;
constexpr std::array kStorages{Storage::Host, Storage::Buffer, Storage::Image};
constexpr std::array kFormatNames{"RGBA8", "RGB32F", "RGBA16F", "NV12", "P010", "RGB16F"};
constexpr std::uint32_t kMostSlots = 65536;
constexpr std::size_t kRecordedPasses = 2048;
constexpr Nanoseconds kPoll = std::chrono::milliseconds(20);  // how soon a wait notices that it is cancelled

/// An id that no other frame of the process has.
std::uint64_t next_id() {
    static std::atomic<std::uint64_t> newest{0};
    return ++newest;
}

/// What the decoder makes; other formats are converted from it on the host.
vae::FrameFormat decoded_format(std::uint32_t format) {
    if (format == KG_FORMAT_RGBA8) return vae::FrameFormat::Rgba8;
    return format == KG_FORMAT_RGB16F ? vae::FrameFormat::Float16 : vae::FrameFormat::Float32;
}

std::optional<stream::HostPixels> pixels_of(std::uint32_t format) {
    switch (format) {
        case KG_FORMAT_RGBA16F:
            return stream::HostPixels::Rgba16Float;
        case KG_FORMAT_NV12:
            return stream::HostPixels::Nv12;
        case KG_FORMAT_P010:
            return stream::HostPixels::P010;
        default:
            return std::nullopt;
    }
}

Result<void> check_format(Storage storage, std::uint32_t format) {
    if (format >= kFormatNames.size()) return fail(ErrorCode::InvalidArgument, "{} is no kg_format", format);
    if (storage == Storage::Image && format != KG_FORMAT_RGBA8)
        return fail(ErrorCode::InvalidArgument, "frames as images are RGBA8, not {}", kFormatNames.at(format));
    if (storage == Storage::Buffer && pixels_of(format))
        return fail(ErrorCode::InvalidArgument, "frames in the device's memory are RGBA8, RGB32F or RGB16F, not {}",
                    kFormatNames.at(format));
    return {};
}

tl::unexpected<Error> not_acquired(std::uint64_t id) {
    return fail(ErrorCode::InvalidArgument, "frame {} is not acquired: it was released already, or is another clip's",
                id);
}

/// The newest, the average and the longest, in nanoseconds.
std::array<std::int64_t, 3> times_of(const vae::Latency& latency) {
    const auto steps = static_cast<std::int64_t>(std::max<std::uint64_t>(latency.steps, 1));
    return {latency.newest.count(), latency.sum.count() / steps, latency.longest.count()};
}

template <class Handle>
std::uint64_t number_of(Handle handle) {
    return reinterpret_cast<std::uint64_t>(handle);
}

}  // namespace

Result<ClipOptions> ClipOptions::of(const kg_clip_desc& desc, const Model& model) {
    ClipOptions options;
    KG_TRY(const Storage storage, choice(kStorages, desc.storage, "kg_storage"));
    KG_CHECK(check_format(storage, desc.format));
    if (desc.fps != 0.0 && !(desc.fps >= 0.01 && desc.fps <= 1000.0))  // nor is NaN
        return fail(ErrorCode::InvalidArgument, "{} frames a second: wanted 0.01 to 1000", desc.fps);
    if (desc.slots > kMostSlots)
        return fail(ErrorCode::InvalidArgument, "{} slots: there are up to {}", desc.slots, kMostSlots);
    options.format = desc.format;
    options.pixels = pixels_of(desc.format);
    options.stream.storage = storage;
    options.stream.format = decoded_format(desc.format);
    if (desc.slots > 0) options.stream.slots = desc.slots;
    KG_TRY(options.stream.loop, yes_or_no(desc.loop, "kg_clip_desc.loop"));
    KG_TRY_IN("kg_clip_desc.stop", options.stream.limits, limits_of(desc.stop));
    if (desc.fps > 0.0) options.stream.fps = desc.fps;
    if (desc.tensor != nullptr) options.stream.latents.tensor = desc.tensor;
    if (desc.axes != nullptr) options.stream.latents.axes = desc.axes;
    constexpr std::uint32_t kMostRewound = 64;
    if (desc.rewind_steps > kMostRewound)
        return fail(ErrorCode::InvalidArgument, "rewind_steps {}: there are up to {}", desc.rewind_steps, kMostRewound);
    if (desc.sharing > KG_SHARING_BACKGROUND)
        return fail(ErrorCode::InvalidArgument, "{} is no kg_sharing", desc.sharing);
    if (desc.weight != 0.0 && !(desc.weight >= 0.001 && desc.weight <= 1000.0))
        return fail(ErrorCode::InvalidArgument, "a weight of {}: wanted 0.001 to 1000", desc.weight);
    if (desc.sharing != KG_SHARING_NONE) options.stream.share = model.session->share();
    options.stream.background = desc.sharing == KG_SHARING_BACKGROUND;
    if (desc.weight > 0.0) options.stream.weight = desc.weight;
    options.stream.rewind_steps = desc.rewind_steps;
    KG_TRY(options.stream.only_if_fits, yes_or_no(desc.only_if_fits, "kg_clip_desc.only_if_fits"));
    KG_TRY(const bool records, yes_or_no(desc.passes, "kg_clip_desc.passes"));
    if (records && options.stream.share)
        return fail(ErrorCode::InvalidArgument, "passes are recorded of clips that do not share");
    if (records) options.recorder = std::make_shared<profile::Recorder>(kRecordedPasses);
    options.stream.recorder = options.recorder.get();
    if (desc.batch_item > 0) options.stream.latents.batch_item = desc.batch_item - 1;
    return options;
}

Clip::Clip(std::shared_ptr<const Model> model, const ClipOptions& options, stream::PushedSource pushed)
    : model_(std::move(model)),
      options_(options),
      streams_(model_->session->device()),
      latents_(std::move(pushed.latents)),
      stream_(std::move(pushed.frames)) {
    const vae::StepFrames of_a_pixel = model_->frames_of({1, 1});
    size_ = {stream_->facts().height / of_a_pixel.height, stream_->facts().width / of_a_pixel.width};
    model_->root->log.info("{}", stream_->facts().route);
}

/// Ends the application's streams first, because steps may wait for them. If one of them makes no progress, the device
/// from then on leaks the memory that it may use.
Clip::~Clip() {
    stop();
    if (const auto ended = streams_.end(); !ended)
        model_->root->log.error("at the end of a clip: {}; what is released before that is leaked",
                                ended.error().message);
}

Outcome Clip::push(const kg_latents& latents, Nanoseconds timeout, std::uint32_t& pushed) {
    const OneAtATime entered(pushing_);
    if (!entered) return KG_ERROR_BUSY;
    give_back_unwanted();
    if (!latents_) return fail(ErrorCode::InvalidArgument, "the clip is a file's: no latents are pushed to it");
    KG_TRY(const LatentView view, view_of(latents, *model_->session->model(), size_));
    if (view.on_device) {
        KG_CHECK_IN("kg_latents.data in KG_MEMORY_DEVICE", model_->session->device().check_address(view.data));
        KG_CHECK_IN("the last value of kg_latents in KG_MEMORY_DEVICE",
                    model_->session->device().check_address(view.data + view.reach_bytes - 1));
    }
    const Nanoseconds until = host_now() + timeout;
    for (std::int64_t t = 0; t < view.frames; ++t, ++pushed) {
        KG_TRY(const bool enqueued, push_frame(view, t, std::max(until - host_now(), Nanoseconds{})));
        if (!enqueued) return KG_TIMEOUT;
    }
    return KG_OK;
}

Result<bool> Clip::push_frame(const LatentView& latents, std::int64_t t, Nanoseconds timeout) {
    if (!latents.on_device) {
        gather(latents, t, gathered_);
        if (!std::exchange(is_judged_, true))
            if (const auto doubt = vae::doubt_scale("latents", gathered_, model_->session->wanted()))
                model_->root->log.warn("{}", *doubt);
        return latents_->push(gathered_, timeout, latents.input);
    }
    if (latents.ready.kind == KG_MOMENT_STREAM) return push_copied(latents, t, timeout);
    KG_TRY(const interop::TimelinePoint ready, point_of(latents.ready));
    return latents_->push({.address = latents.data,
                           .bytes = latents.frame_bytes(),
                           .ready = ready,
                           .dtype = latents.dtype,
                           .input = latents.input},
                          timeout);
}

/// Nothing is copied before there is room: a running step may read the next staging memory until then.
Result<bool> Clip::push_copied(const LatentView& latents, std::int64_t t, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    KG_TRY(const bool has_room, latents_->wait_for_room(timeout));
    if (!has_room) return false;
    while (staging_.memory.size() < latents_->capacity() + 3) {  // at the first push; of the widest type
        const auto bytes = static_cast<std::uint64_t>(latents.channels * latents.pixels()) * sizeof(float);
        KG_TRY(auto memory, model_->session->device().allocate("a latent frame", bytes));
        staging_.memory.push_back(std::move(memory));
    }
    const std::unique_ptr<accel::Memory>& to = staging_.memory[staging_.next];
    void* const stream = latents.ready.stream;
    const bool whole = latents.has_whole_frames();
    KG_TRY(const interop::TimelinePoint copied,
           streams_.copy(stream, to->data(), latents.channel(t, 0),
                         whole ? latents.frame_bytes() : latents.channel_bytes(), whole ? 1 : latents.channels,
                         latents.strides[0] * static_cast<std::int64_t>(latents.element_bytes())));
    KG_TRY(const bool pushed, latents_->push({.address = to->data(),
                                              .bytes = latents.frame_bytes(),
                                              .ready = copied,
                                              .dtype = latents.dtype,
                                              .input = latents.input},
                                             std::max(until - host_now(), Nanoseconds{})));
    if (pushed) staging_.next = (staging_.next + 1) % staging_.memory.size();
    return pushed;
}

Result<interop::TimelinePoint> Clip::point_of(const kg_moment& moment) {
    KG_CHECK(check_unused(moment.unused, "kg_moment.unused"));
    switch (moment.kind) {
        case KG_MOMENT_PAST:
            return interop::TimelinePoint{};
        case KG_MOMENT_STREAM:
            return streams_.point(moment.stream);
        case KG_MOMENT_SEMAPHORE:
            if (model_->vulkan == nullptr)
                return fail(ErrorCode::InvalidArgument, "a moment of a semaphore: the model has no Vulkan device");
            if (moment.semaphore == 0) return fail(ErrorCode::InvalidArgument, "kg_moment.semaphore is 0");
            return interop::TimelinePoint{reinterpret_cast<VkSemaphore>(moment.semaphore), nullptr, moment.value};
        default:
            return fail(ErrorCode::InvalidArgument, "{} is no kg_moment_kind", moment.kind);
    }
}

Outcome Clip::acquire(std::uint32_t flags, Nanoseconds timeout, kg_frame* frame) {
    give_back_unwanted();
    KG_CHECK(write(frame, kg_frame{}, "kg_frame"));
    const bool ahead = (flags & KG_ACQUIRE_AHEAD) != 0;
    if ((flags & ~static_cast<std::uint32_t>(KG_ACQUIRE_AHEAD)) != 0)
        return fail(ErrorCode::InvalidArgument, "{:#x} are no kg_acquire_flags", flags);
    if (ahead && options_.stream.storage == Storage::Host)
        return fail(ErrorCode::InvalidArgument, "KG_ACQUIRE_AHEAD: frames in the host's memory come complete");
    KG_TRY(const auto record, ahead ? stream_->try_take_ahead() : stream_->take(timeout));
    if (!record) return stream_->finished() ? KG_END : KG_TIMEOUT;
    const std::uint64_t id = next_id();
    const Lock lock(mutex_);
    const kg_frame described = describe(*record, id);
    held_.emplace(id, Held{*record, described});
    return write(frame, described, "kg_frame").map([] { return KG_OK; });
}

kg_finite Clip::finite_of(const interop::FrameRecord& record) {
    const std::optional<bool> finite = stream_->is_finite(record);
    if (!finite) return KG_FINITE_UNKNOWN;
    if (!*finite && !std::exchange(told_not_finite_, true))
        model_->root->log.warn("frame {} has values that are not finite", record.label.index);
    return *finite ? KG_FINITE_YES : KG_FINITE_NO;
}

Result<kg_finite> Clip::finite(std::uint64_t id) {
    const Lock lock(mutex_);
    const auto found = held_.find(id);
    if (found == held_.end()) return not_acquired(id);
    return finite_of(found->second.record);
}

kg_frame Clip::describe(const interop::FrameRecord& record, std::uint64_t id) {
    kg_frame frame{};
    frame.format = options_.format;
    frame.id = id;
    frame.width = record.width;
    frame.height = record.height;
    frame.index = record.label.index;
    frame.presentation_ns = record.label.presentation_time.count();
    frame.generation = record.generation;
    frame.storage =
        static_cast<std::uint32_t>(std::ranges::find(kStorages, *options_.stream.storage) - kStorages.begin());
    frame.finite = finite_of(record);
    frame.row_bytes[0] = record.row_bytes;
    if (options_.pixels) {
        frame.row_bytes[0] = stream::row_bytes(*options_.pixels, record.width);
        frame.planes[0] = convert(record);
    } else if (record.image != nullptr) {
        frame.row_bytes[0] = 0;
        const vulkan::ImageHandles image = model_->vulkan->display->handles_of(*record.image);
        frame.image = number_of(image.image);
        frame.image_view = number_of(image.view);
        frame.image_format = image.format;
        frame.image_layout = record.layout;
    } else if (record.buffer != nullptr) {
        frame.planes[0] = record.buffer->address();
        frame.buffer = number_of(record.buffer->handle());
    } else {
        frame.planes[0] = record.host.data();
    }
    if (options_.format == KG_FORMAT_NV12 || options_.format == KG_FORMAT_P010) {
        frame.planes[1] = static_cast<const std::byte*>(frame.planes[0]) + frame.row_bytes[0] * record.height;
        frame.row_bytes[1] = frame.row_bytes[0];
    }
    frame.semaphore = number_of(record.ready.semaphore);
    if (record.ready.semaphore != nullptr) frame.value = record.ready.value;
    return frame;
}

/// Memory is allocated for a slot's first frame.
const void* Clip::convert(const interop::FrameRecord& record) {
    std::vector<std::byte>& out = converted_[record.slot];
    out.resize(stream::frame_bytes(*options_.pixels, record.width, record.height));
    const std::span rgb(reinterpret_cast<const float*>(record.host.data()), record.host.size() / sizeof(float));
    where_loops_run([&] { stream::convert(rgb, record.width, record.height, *options_.pixels, out); });
    return out.data();
}

Result<interop::FrameRecord> Clip::held_frame(std::uint64_t id) const {
    const Lock lock(mutex_);
    const auto found = held_.find(id);
    if (found == held_.end() || !found->second.acquired) return not_acquired(id);
    return found->second.record;
}

Result<void> Clip::wait(std::uint64_t id, void* stream) {
    KG_TRY(const interop::FrameRecord record, held_frame(id));
    {
        const Lock lock(mutex_);
        if (const auto found = held_.find(id); found != held_.end()) found->second.stream = stream;
    }
    const interop::TimelinePoint& ready = record.ready;
    if (ready.is_past()) return {};
    if (ready.timeline != nullptr) return streams_.wait(stream, ready);
    // A relay's frames (between two devices, through the host) have only a Vulkan semaphore, which the host waits for.
    const graph::Point point{model_->vulkan->display->borrow_timeline(ready.semaphore), ready.value};
    for (;;) {
        KG_TRY(const bool reached, graph::wait_for(point, kPoll));
        if (reached) return {};
        if (cancelled_) return fail(ErrorCode::Cancelled, "waiting for frame {}: the clip was cancelled", id);
    }
}

Outcome Clip::close(Nanoseconds timeout) {
    const OneAtATime entered(pushing_);
    if (!entered) return KG_ERROR_BUSY;
    cancelled_ = true;
    return stream_->close(timeout) ? KG_OK : KG_TIMEOUT;
}

void Clip::stop() {
    cancelled_ = true;
    for (graph::Patience patience; !stream_->close(graph::kLook);)
        if (patience.is_over(stream_->health().lanes)) return;  // the destructor gives it up
}

void Clip::reset() {
    cancelled_ = false;
    stream_->restart();
}

void Clip::cancel() {
    cancelled_ = true;
    stream_->cancel();
}

/// Returns the slot even if the stream that has read the frame met an error. Does nothing while that stream is
/// captured.
void Clip::give_back(std::uint64_t id, const Held& frame) {
    interop::TimelinePoint done;
    Result<void> read;
    if (frame.stream) {
        const auto capturing = streams_.is_capturing(*frame.stream);
        if (capturing && *capturing) return;
        auto point = streams_.point(*frame.stream);
        if (point)
            done = *point;
        else
            read = fail(std::move(point.error()));
    }
    {
        const Lock lock(mutex_);
        if (held_.erase(id) == 0) return;  // another thread was faster
    }
    for (const auto& given : {read, stream_->release(frame.record, done)})
        if (!given) model_->root->log.error("{}", given.error().message);
}

void Clip::give_back_unwanted() {
    std::vector<std::pair<std::uint64_t, Held>> unwanted;
    {
        const Lock lock(mutex_);
        for (const auto& [id, frame] : held_)
            if (!frame.is_wanted()) unwanted.emplace_back(id, frame);
    }
    for (const auto& [id, frame] : unwanted) give_back(id, frame);
}

/// Releases the frame even if the stream met an error, which is returned afterwards.
Result<void> Clip::release(std::uint64_t id, const kg_moment& done) {
    give_back_unwanted();
    KG_TRY(const interop::FrameRecord record, held_frame(id));
    const bool on_stream = done.kind == KG_MOMENT_STREAM;
    const auto capturing = on_stream ? streams_.is_capturing(done.stream) : Result<bool>(false);
    const bool waits = capturing && *capturing;
    auto point = waits ? Result<interop::TimelinePoint>() : point_of(done);
    if (!point && point.error().code == ErrorCode::InvalidArgument && !on_stream) return fail(std::move(point.error()));
    {
        const Lock lock(mutex_);
        const auto found = held_.find(id);
        if (found == held_.end() || !std::exchange(found->second.acquired, false))
            return fail(ErrorCode::InvalidArgument, "frame {} is released by two threads at a time", id);
        if (on_stream) found->second.stream = done.stream;
        static_cast<void>(finite_of(record));
        if (waits || found->second.tensors > 0) return point ? Result<void>{} : fail(std::move(point.error()));
        held_.erase(found);
    }
    KG_CHECK(stream_->release(record, point.value_or(interop::TimelinePoint{})));
    KG_CHECK(point);
    return {};
}

Result<kg_frame> Clip::share(std::uint64_t id) {
    const Lock lock(mutex_);
    const auto found = held_.find(id);
    if (found == held_.end() || !found->second.acquired) return not_acquired(id);
    ++found->second.tensors;
    return found->second.frame;
}

void Clip::drop(std::uint64_t id) {
    std::optional<Held> last;
    {
        const Lock lock(mutex_);
        Held& frame = held_.at(id);
        --frame.tensors;
        if (!frame.is_wanted()) last = frame;
    }
    if (last) give_back(id, *last);
}

Clip::Readers Clip::readers() {
    give_back_unwanted();
    const Lock lock(mutex_);
    Readers readers;
    for (const auto& [id, frame] : held_) {
        if (frame.acquired) ++readers.acquired;
        if (!frame.is_wanted()) ++readers.returning;
    }
    return readers;
}

Outcome Clip::use_state(const std::function<Result<bool>(stream::LatentQueue&)>& use) {
    const OneAtATime entered(pushing_);
    if (!entered) return KG_ERROR_BUSY;
    give_back_unwanted();
    if (!latents_)
        return fail(ErrorCode::InvalidArgument, "the clip is a file's: its state is that of the file's place");
    KG_TRY(const bool done, use(*latents_));
    return done ? KG_OK : KG_TIMEOUT;
}

/// Of the kg_clip_info's members those for memory.
static void write_bytes(kg_clip_info& info, const vae::StackMemory& memory, const ClipOptions& options,
                        const accel::Device& device) {
    info.state_bytes = memory.state();
    info.clip_bytes = memory.clip();
    if (options.pixels)
        info.clip_bytes += options.stream.slots * stream::frame_bytes(*options.pixels, info.width, info.height);
    info.model_bytes = memory.parameters;
    info.device_bytes = device.bytes_allocated();
    info.device_free = device.bytes_free();
}

kg_clip_info Clip::info() const {
    const stream::SourceFacts& facts = stream_->facts();
    const stream::SourceStats stats = stream_->stats();
    kg_clip_info info{};
    info.width = static_cast<std::uint32_t>(facts.width);
    info.height = static_cast<std::uint32_t>(facts.height);
    info.slots = static_cast<std::uint32_t>(facts.slots);
    info.frames_of_a_step = static_cast<std::uint32_t>(facts.frames_of_a_step);
    info.frames = facts.frames;
    info.fps = facts.fps;
    info.route = facts.route.c_str();
    info.frames_waiting = stats.depth;
    {
        const Lock lock(mutex_);
        info.frames_acquired = held_.size();
    }
    info.steps = stats.times.steps;
    info.last_step_ns = stats.times.last_step.count();
    info.average_step_ns = stats.times.average_step.count();
    write_bytes(info, facts.memory, options_, model_->session->device());
    info.unmoved_ns = stream_->health().unmoved.count();
    info.due_misses = stats.queue.misses;
    info.waited_ns = stats.queue.waited.count();
    info.longest_wait_ns = stats.queue.longest.count();
    info.held_back = static_cast<std::uint32_t>(stats.queue.held_back);
    info.steps_held_back = stats.queue.steps_held_back;
    info.first_frame_ns = stats.latencies.first_frame.count();
    const auto [latency, average, longest] = times_of(stats.latencies.pushed);
    info.latency_ns = latency, info.average_latency_ns = average, info.longest_latency_ns = longest;
    const auto [input, average_input, longest_input] = times_of(stats.latencies.input);
    info.input_latency_ns = input, info.average_input_latency_ns = average_input;
    info.longest_input_latency_ns = longest_input;
    return info;
}

Result<std::vector<profile::PassStatistics>> Clip::passes() const {
    if (!options_.recorder) return fail(ErrorCode::InvalidArgument, "the clip was made without kg_clip_desc.passes");
    stream_->collect();
    const auto spans = options_.recorder->spans();
    if (spans.empty()) return std::vector<profile::PassStatistics>{};
    const auto begin = std::ranges::min_element(spans, {}, &profile::Span::begin)->begin;
    const auto end = std::ranges::max_element(spans, {}, &profile::Span::end)->end;
    return profile::summarize_passes(spans, {begin, end});
}

}  // namespace kinetograph::c

using namespace kinetograph;
using namespace kinetograph::c;

namespace {

/// What kg_clip_create and kg_clip_open share: `what` is a size or a path.
template <class What>
Outcome create(const Made<kg_model>& model, const What& what, const kg_clip_desc* desc, kg_clip** clip) {
    KG_CHECK(check_given(clip, "clip"));
    KG_TRY(const auto known, read(desc, "kg_clip_desc"));
    KG_TRY(const ClipOptions options, ClipOptions::of(known, *model.shared));
    KG_TRY(auto made, model.shared->session->decode(what, options.stream));
    stream::PushedSource pushed;
    if constexpr (std::is_same_v<What, vae::LatentSize>)
        pushed = std::move(made);
    else
        pushed.frames = std::move(made);
    *clip = hand_out<kg_clip>({model.root, std::make_shared<Clip>(model.shared, options, std::move(pushed))});
    return KG_OK;
}

Outcome declare(const Model& model, vae::LatentSize size, const kg_clip_desc* desc, kg_clip_info* info) {
    KG_TRY(const auto known, read(desc, "kg_clip_desc"));
    KG_TRY(const ClipOptions options, ClipOptions::of(known, model));
    KG_TRY(const auto memory, model.session->declared_memory(size, options.stream));
    const vae::StepFrames frames = model.frames_of(size);
    kg_clip_info declared{};
    declared.width = static_cast<std::uint32_t>(frames.width);
    declared.height = static_cast<std::uint32_t>(frames.height);
    declared.slots = options.stream.slots;
    declared.frames_of_a_step = static_cast<std::uint32_t>(frames.most);
    write_bytes(declared, memory, options, model.session->device());
    KG_CHECK(write(info, declared, "kg_clip_info"));
    return KG_OK;
}

Outcome admission(const Model& model, vae::LatentSize size, const kg_clip_desc* desc, kg_admission* admission) {
    KG_TRY(const auto known, read(desc, "kg_clip_desc"));
    KG_TRY(const ClipOptions options, ClipOptions::of(known, model));
    KG_TRY(const vae::Admission answer, model.session->admission(size, options.stream));
    kg_admission made{};
    made.fits = answer.fits() ? 1 : 0;
    made.needed_bytes = answer.bytes.needed;
    made.free_bytes = answer.bytes.free;
    made.needed_seconds = answer.needed_seconds.value_or(0);
    made.taken_seconds = answer.taken_seconds;
    made.visible_clips = static_cast<std::uint32_t>(answer.visible_clips);
    const bool is_measured = answer.measured == size;
    if (answer.needed_seconds) made.known = is_measured ? KG_KNOWN_MEASURED : KG_KNOWN_ESTIMATED;
    KG_CHECK(write(admission, made, "kg_admission"));
    return KG_OK;
}

Outcome fork_clip(const Made<kg_clip>& made, const kg_clip_desc* desc, Nanoseconds timeout, kg_clip** fork) {
    KG_CHECK(check_given(fork, "fork"));
    KG_TRY(const auto known, read(desc, "kg_clip_desc"));
    const std::shared_ptr<const Model>& model = made.clip->shared_model();
    KG_TRY(const ClipOptions options, ClipOptions::of(known, *model));
    std::optional<stream::PushedSource> branch;
    KG_TRY(const kg_status status, made.clip->use_state([&](stream::LatentQueue& latents) -> Result<bool> {
        KG_TRY(branch, model->session->fork(latents, made.clip->latent_size(), options.stream, timeout));
        return branch.has_value();
    }));
    if (status == KG_OK)
        *fork = hand_out<kg_clip>({made.root, std::make_shared<Clip>(model, options, std::move(*branch))});
    return status;
}

kg_result report_busy() { return report(KG_ERROR_BUSY, "another thread pushes latents to this clip"); }

}  // namespace

kg_result kg_clip_create(kg_model* model, uint32_t latent_height, uint32_t latent_width, const kg_clip_desc* desc,
                         kg_clip** clip) {
    return with_loops("kg_clip_create", model, [&](const auto& made) {
        return create(made, vae::LatentSize{latent_height, latent_width}, desc, clip);
    });
}

kg_result kg_clip_open(kg_model* model, const char* path, const kg_clip_desc* desc, kg_clip** clip) {
    return with_loops("kg_clip_open", model, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(path, "path"));
        return create(made, std::filesystem::path(path), desc, clip);
    });
}

kg_result kg_clip_close(kg_clip* clip, uint64_t timeout_ns) {
    const kg_result result =
        with("kg_clip_close", clip, [&](const auto& made) { return made.clip->close(nanoseconds(timeout_ns)); });
    return result == KG_ERROR_BUSY ? report_busy() : result;
}

kg_result kg_clip_destroy(kg_clip* clip) {
    return destroy("kg_clip_destroy", clip, [](const auto& made) -> Outcome {
        const Clip::Readers readers = made.clip->readers();
        if (readers.acquired > 0)
            report(KG_ERROR_BUSY,
                   fmt::format("the clip is destroyed after its frames: {} are acquired", readers.acquired));
        else if (readers.returning > 0)
            report(KG_ERROR_BUSY, fmt::format("the clip is destroyed after its frames: {} were released on a stream "
                                              "that is in a capture, and come back when it has ended",
                                              readers.returning));
        if (readers.acquired + readers.returning > 0) return KG_ERROR_BUSY;
        if (made.clip.use_count() > 1) made.clip->stop();  // exported tensors keep it
        return KG_OK;
    });
}

kg_result kg_clip_push(kg_clip* clip, const kg_latents* latents, uint64_t timeout_ns, uint32_t* pushed) {
    std::uint32_t count = 0;
    const kg_result result = with("kg_clip_push", clip, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(latents, "latents"));
        KG_TRY(const auto known, read(latents, "kg_latents"));
        return made.clip->push(known, nanoseconds(timeout_ns), count);
    });
    if (pushed != nullptr) *pushed = count;
    return result == KG_ERROR_BUSY ? report_busy() : result;
}

kg_result kg_clip_acquire(kg_clip* clip, uint32_t flags, uint64_t timeout_ns, kg_frame* frame) {
    return with("kg_clip_acquire", clip,
                [&](const auto& made) { return made.clip->acquire(flags, nanoseconds(timeout_ns), frame); });
}

kg_result kg_clip_wait(kg_clip* clip, uint64_t frame_id, void* stream) {
    return with("kg_clip_wait", clip, [&](const auto& made) -> Outcome {
        KG_CHECK(made.clip->wait(frame_id, stream));
        return KG_OK;
    });
}

kg_result kg_clip_finite(kg_clip* clip, uint64_t frame_id, uint32_t* finite) {
    return with("kg_clip_finite", clip, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(finite, "finite"));
        KG_TRY(*finite, made.clip->finite(frame_id));
        return KG_OK;
    });
}

kg_result kg_clip_release(kg_clip* clip, uint64_t frame_id, const kg_moment* done) {
    return with("kg_clip_release", clip, [&](const auto& made) -> Outcome {
        KG_CHECK(made.clip->release(frame_id, done == nullptr ? kg_moment{} : *done));
        return KG_OK;
    });
}

kg_result kg_clip_export(kg_clip* clip, uint64_t frame_id, uint32_t layout, void** tensor) {
    return with("kg_clip_export", clip, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(tensor, "tensor"));
        KG_TRY(*tensor, export_frame(made.clip, made.root, frame_id, layout));
        return KG_OK;
    });
}

kg_result kg_clip_reset(kg_clip* clip) {
    return with("kg_clip_reset", clip, [&](const auto& made) -> Outcome {
        made.clip->reset();
        return KG_OK;
    });
}

kg_result kg_clip_cancel(kg_clip* clip) {
    return with("kg_clip_cancel", clip, [&](const auto& made) -> Outcome {
        made.clip->cancel();
        return KG_OK;
    });
}

kg_result kg_clip_describe(kg_clip* clip, kg_clip_info* info) {
    return with("kg_clip_describe", clip, [&](const auto& made) -> Outcome {
        KG_CHECK(write(info, made.clip->info(), "kg_clip_info"));
        return KG_OK;
    });
}

kg_result kg_clip_passes(kg_clip* clip, void (*each)(void* user, const kg_pass_info* pass), void* user) {
    return with("kg_clip_passes", clip, [&](const auto& made) -> Outcome {
        if (each == nullptr) return fail(ErrorCode::InvalidArgument, "each is NULL");
        KG_TRY(const auto passes, made.clip->passes());
        for (const profile::PassStatistics& pass : passes) {
            const kg_pass_info info{sizeof(kg_pass_info),
                                    static_cast<std::uint32_t>(pass.count),
                                    pass.name.c_str(),
                                    pass.track.c_str(),
                                    pass.average.count(),
                                    pass.max.count(),
                                    pass.share};
            each(user, &info);
        }
        return KG_OK;
    });
}

namespace {

/// What the calls on a clip's state share.
template <class Use>
kg_result use_state(const char* call, kg_clip* clip, const Use& use) {
    const kg_result result = with(call, clip, [&](const auto& made) { return made.clip->use_state(use); });
    return result == KG_ERROR_BUSY ? report_busy() : result;
}

}  // namespace

kg_result kg_model_declare_clip(kg_model* model, uint32_t latent_height, uint32_t latent_width,
                                const kg_clip_desc* desc, kg_clip_info* info) {
    return with("kg_model_declare_clip", model, [&](const auto& made) {
        return declare(*made.shared, {latent_height, latent_width}, desc, info);
    });
}

kg_result kg_model_admission(kg_model* model, uint32_t latent_height, uint32_t latent_width, const kg_clip_desc* desc,
                             kg_admission* admission) {
    return with("kg_model_admission", model, [&](const auto& made) {
        return ::admission(*made.shared, {latent_height, latent_width}, desc, admission);
    });
}

kg_result kg_model_metrics(kg_model* model, void (*take)(void* user, const void* text, uint64_t bytes), void* user) {
    return with("kg_model_metrics", model, [&](const auto& made) -> Outcome {
        if (take == nullptr) return fail(ErrorCode::InvalidArgument, "take is NULL");
        const std::string text = made.shared->session->metrics();
        take(user, text.data(), text.size());
        return KG_OK;
    });
}

kg_result kg_clip_fork(kg_clip* clip, const kg_clip_desc* desc, uint64_t timeout_ns, kg_clip** fork) {
    const kg_result result = with_loops(
        "kg_clip_fork", clip, [&](const auto& made) { return fork_clip(made, desc, nanoseconds(timeout_ns), fork); });
    return result == KG_ERROR_BUSY ? report_busy() : result;
}

kg_result kg_clip_save(kg_clip* clip, uint64_t timeout_ns, kg_state** state) {
    const kg_result result = with("kg_clip_save", clip, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(state, "state"));
        std::optional<vae::ClipState> saved;
        KG_TRY(const kg_status status, made.clip->use_state([&](stream::LatentQueue& latents) -> Result<bool> {
            KG_TRY(saved, latents.save(nanoseconds(timeout_ns)));
            return saved.has_value();
        }));
        if (status == KG_OK) *state = hand_out<kg_state>({made.root, std::move(*saved)});
        return status;
    });
    return result == KG_ERROR_BUSY ? report_busy() : result;
}

kg_result kg_clip_load(kg_clip* clip, kg_state* state, uint64_t timeout_ns) {
    return use_state("kg_clip_load", clip, [&](stream::LatentQueue& latents) -> Result<bool> {
        KG_TRY_IN("kg_clip_load", const auto given, find(state));
        return latents.load(given->state, nanoseconds(timeout_ns));
    });
}

kg_result kg_clip_rewind(kg_clip* clip, uint32_t steps, uint64_t timeout_ns) {
    return use_state("kg_clip_rewind", clip,
                     [&](stream::LatentQueue& latents) { return latents.rewind(steps, nanoseconds(timeout_ns)); });
}

kg_result kg_clip_park(kg_clip* clip, uint64_t timeout_ns) {
    return use_state("kg_clip_park", clip,
                     [&](stream::LatentQueue& latents) { return latents.park(nanoseconds(timeout_ns)); });
}

kg_result kg_clip_resume(kg_clip* clip, uint64_t timeout_ns) {
    return use_state("kg_clip_resume", clip,
                     [&](stream::LatentQueue& latents) { return latents.resume(nanoseconds(timeout_ns)); });
}

kg_result kg_state_describe(kg_state* state, kg_state_info* info) {
    return with("kg_state_describe", state, [&](const auto& made) -> Outcome {
        kg_state_info known{};
        known.latent_height = static_cast<std::uint32_t>(made.state.owner.size.height);
        known.latent_width = static_cast<std::uint32_t>(made.state.owner.size.width);
        known.latent_frames = made.state.latent_frames;
        known.frames = made.state.frames;
        known.bytes = made.state.bytes();
        known.content_hash = made.state.owner.weights;
        KG_CHECK(write(info, known, "kg_state_info"));
        return KG_OK;
    });
}

kg_result kg_state_write(kg_state* state, const char* path) {
    return with("kg_state_write", state, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(path, "path"));
        KG_CHECK(made.state.write(path));
        return KG_OK;
    });
}

kg_result kg_state_read(kg_instance* instance, const char* path, kg_state** state) {
    return with("kg_state_read", instance, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(path, "path"));
        KG_CHECK(check_given(state, "state"));
        KG_TRY(auto read, vae::ClipState::read(path, {made.root->host, {}}));
        *state = hand_out<kg_state>({made.root, std::move(read)});
        return KG_OK;
    });
}

kg_result kg_state_pack(kg_state* state, void (*take)(void* user, const void* piece, uint64_t bytes), void* user) {
    return with("kg_state_pack", state, [&](const auto& made) -> Outcome {
        if (take == nullptr) return fail(ErrorCode::InvalidArgument, "take is NULL");
        KG_CHECK(vae::give_bytes(made.state, [&](std::span<const std::byte> piece) -> Result<void> {
            take(user, piece.data(), piece.size());
            return {};
        }));
        return KG_OK;
    });
}

kg_result kg_state_parse(kg_instance* instance, const void* contents, uint64_t bytes, const char* name,
                         kg_state** state) {
    return with("kg_state_parse", instance, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(contents, "contents"));
        KG_CHECK(check_given(state, "state"));
        KG_TRY(auto read, vae::parse_clip_state({static_cast<const std::byte*>(contents), bytes},
                                                name == nullptr ? "the state" : name));
        *state = hand_out<kg_state>({made.root, std::move(read)});
        return KG_OK;
    });
}

kg_result kg_state_destroy(kg_state* state) { return destroy("kg_state_destroy", state); }
